"""Get bytes over HTTP within a total time and a total size, from where the guard lets us."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import httpx

from ricordo.common.bodies import MAX_BYTES, BodyTooLargeError
from ricordo.common.errors import ServiceError
from ricordo.common.secrets import without_login
from ricordo.common.settings import Place
from ricordo.readers.guard import AddressRefusedError, guarded

_MANY_REQUESTS, _ERRORS = 429, 400


@dataclass(frozen=True, slots=True)
class Download:
    """What a server sent."""

    data: bytes
    content_type: str
    """Such as `text/html`, lower case and without parameters; empty if the server named none."""
    encoding: str | None
    """The encoding that the server named."""
    url: str
    """Where it came from in the end, after redirects; without a name and a password."""


async def download(
    url: str, what: str, *, seconds: float, allowed: Iterable[Place], own: str | None = None, limit: int = MAX_BYTES
) -> Download:
    """Get a URL, redirects followed.

    Args:
        url: An `http` or `https` address. A name and a password in it log in at its host, and are told nowhere.
        what: What messages call it, such as `arXiv` or the address.
        seconds: Longest wait for all of it, in seconds: a server that sends a byte now and then does not prolong it.
        allowed: Hosts that are let through though they are private, `settings.allowed_hosts`.
        own: An address that the deployment itself has set; its host is let through.
        limit: Largest size in bytes, unpacked.

    Raises:
        ServiceError: The server cannot be reached, is too slow, refuses (`status` is set), or sends too much; or the
            address, or one that it redirects to, is none of the public internet.
    """
    try:
        given = httpx.URL(url)
        login = httpx.BasicAuth(given.username, given.password) if given.userinfo else None
        async with (
            asyncio.timeout(seconds),
            guarded(allowed=allowed, own=own, limit=limit, seconds=seconds) as client,
            client.stream("GET", given.copy_with(userinfo=b""), auth=login) as response,
        ):
            if response.status_code >= _ERRORS:
                raise _refusal(what, response)
            data = await response.aread()
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Download(data, kind, response.charset_encoding, without_login(str(response.url)))
    except BodyTooLargeError:
        raise ServiceError(
            f"{what} sends more than {limit // 2**20} MB, and no more is taken. Get it in parts."
        ) from None
    except AddressRefusedError as error:
        raise ServiceError(
            f"{what} cannot be got: {error}. Whoever runs Ricordo can allow a host by RICORDO_ALLOWED_HOSTS."
        ) from None
    except (TimeoutError, httpx.TimeoutException):
        raise ServiceError(
            f"{what} did not answer in full within {seconds:.3g} s. Try again later, or allow it more time "
            "by RICORDO_HTTP_TIMEOUT_SECONDS."
        ) from None
    except httpx.UnsupportedProtocol:
        raise ServiceError(f"{what} cannot be got: only http and https addresses can.") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = without_login(" ".join(str(error).split())) or type(error).__name__
        raise ServiceError(
            f"{what} cannot be reached ({reason}). Check the address and the network, then try again."
        ) from None


def _refusal(what: str, response: httpx.Response) -> ServiceError:
    status, reason = response.status_code, response.reason_phrase
    if status == _MANY_REQUESTS or status >= 500:  # noqa: PLR2004 - the class of server errors, known to all
        advice = "The trouble is on that side: try again in a few minutes."
    else:
        advice = "Check the address."
    return ServiceError(f"{what} answers {status} {reason}. {advice}", status)

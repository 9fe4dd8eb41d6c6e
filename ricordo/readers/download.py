"""Get bytes over HTTP within a total time and a total size."""

import asyncio
from dataclasses import dataclass

import httpx

from ricordo.common.errors import ServiceError

MAX_BYTES = 100 * 1024 * 1024
"""Largest document that is taken, whether from a server or from the disk."""

_HEADERS = {"user-agent": "ricordo", "accept": "*/*"}
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
    """Where it came from in the end, after redirects."""


async def download(url: str, what: str, *, seconds: float, limit: int = MAX_BYTES) -> Download:
    """Get a URL, redirects followed.

    Args:
        url: An `http` or `https` address.
        what: What messages call it, such as `arXiv` or the address.
        seconds: Longest wait for all of it, in seconds: a server that sends a byte now and then does not prolong it.
        limit: Largest size in bytes, unpacked.

    Raises:
        ServiceError: The server cannot be reached, is too slow, refuses (`status` is set), or sends too much.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            httpx.AsyncClient(follow_redirects=True, timeout=seconds, headers=_HEADERS) as client,
            client.stream("GET", url) as response,
        ):
            if response.status_code >= _ERRORS:
                raise _refusal(what, response)
            data = bytearray()
            async for part in response.aiter_bytes():
                data += part
                if len(data) > limit:
                    raise ServiceError(
                        f"{what} sends more than {limit // 2**20} MB, and no more is taken. Get it in parts."
                    )
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Download(bytes(data), kind, response.charset_encoding, str(response.url))
    except (TimeoutError, httpx.TimeoutException):
        raise ServiceError(
            f"{what} did not answer in full within {seconds:.3g} s. Try again later, or allow it more time "
            "by RICORDO_HTTP_TIMEOUT_SECONDS."
        ) from None
    except httpx.UnsupportedProtocol:
        raise ServiceError(f"{what} cannot be got: only http and https addresses can.") from None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
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

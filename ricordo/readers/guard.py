"""The guard of all addresses that are fetched for somebody: what a deployment does not publish is not reached by it.

Every host of every hop is resolved here, every answer of its name is checked, and the connection goes to an address
that was checked: a name that answers otherwise the second time gains nothing. Proxies of the environment are not used,
since they would resolve the name once more. Two kinds of hosts pass: those that `RICORDO_ALLOWED_HOSTS` names, and the
APIs that the deployment itself has set, which are reached as any other program of the machine reaches them.
"""

import asyncio
import socket
from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from ssl import SSLContext
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

import httpx

from ricordo.common.bodies import ACCEPTED, MAX_BYTES, bounded
from ricordo.common.settings import Place

_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65_535
_HEADERS = {"user-agent": "ricordo", "accept": "*/*"} | ACCEPTED
_CLOSED = [
    IPv4Network(network)
    for network in (
        "192.0.0.0/24",  # the IETF's protocols; `is_global` lets parts of it through
        "192.88.99.0/24",  # relays of 6to4
        "168.63.129.16/32",  # Azure's own server, seen from its machines alone
    )
]
_GLOBAL = IPv6Network("2000::/3")
"""All of IPv6 that is routed at all: not site-local, unique local, NAT64, mapped or compatible addresses."""
_CLOSED_IN_GLOBAL = [
    IPv6Network(network)
    for network in (
        "2001::/23",  # the IETF's protocols: Teredo, benchmarking, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
]


class AddressRefusedError(httpx.RequestError):
    """An address leads where nothing is fetched from."""


def is_public(address: str) -> bool:
    """Tell whether an IP address is one of the public internet.

    >>> is_public("93.184.216.34"), is_public("::ffff:127.0.0.1"), is_public("2002:7f00:1::")
    (True, False, False)
    """
    found: IPv4Address | IPv6Address = ip_address(address)
    if isinstance(found, IPv4Address):
        closed = any(found in network for network in _CLOSED)
    else:
        found = IPv6Address(int(found))  # without its zone
        closed = found not in _GLOBAL or any(found in network for network in _CLOSED_IN_GLOBAL)
    return found.is_global and not (found.is_multicast or found.is_reserved or closed)


def place_of(url: str) -> Place:
    """Return an address's host and port."""
    parsed = httpx.URL(url)
    return parsed.host.lower(), parsed.port or _PORTS.get(parsed.scheme)


def guarded(
    *, allowed: Iterable[Place] = (), own: str | None = None, limit: int = MAX_BYTES, seconds: float | None = None
) -> httpx.AsyncClient:
    """Return a client whose every hop is checked, and whose bodies are read under a limit.

    Args:
        allowed: Hosts that the deployment lets through, `settings.allowed_hosts`.
        own: An address that the deployment itself has set; its host and port pass.
        limit: Largest body in bytes, unpacked.
        seconds: Longest silence.
    """
    return httpx.AsyncClient(
        transport=Guard(allowed=allowed, own=own),
        headers=_HEADERS,
        event_hooks=bounded(limit),
        timeout=seconds,
        follow_redirects=True,
    )


class Guard(httpx.AsyncBaseTransport):
    """Checks each request's host, and sends it to an address that was checked."""

    def __init__(
        self,
        *,
        allowed: Iterable[Place] = (),
        own: str | None = None,
        inner: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._allowed = frozenset(allowed)
        self._own = place_of(own) if own else None
        # A connection is not used for a second host: its certificate was checked for the first.
        self._inner = inner or httpx.AsyncHTTPTransport(verify=_tls(), limits=httpx.Limits(max_keepalive_connections=0))
        self._as_set: httpx.AsyncHTTPTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            AddressRefusedError: Its address leads where nothing is fetched from.
        """
        url = request.url
        host, port = place_of(str(url))
        if url.scheme not in _PORTS or port is None:
            raise httpx.UnsupportedProtocol(f"{url.scheme}:// is not fetched", request=request)
        if port > _HIGHEST_PORT:
            raise httpx.ConnectError(f"there is no port {port}", request=request)
        if (host, port) == self._own:
            self._as_set = self._as_set or httpx.AsyncHTTPTransport(verify=_tls(), proxy=_proxy(url))
            return await self._as_set.handle_async_request(request)
        if {(host, port), (host, None)} & self._allowed:
            return await self._inner.handle_async_request(request)
        if port not in _PORTS.values():
            raise AddressRefusedError(f"the port {port} of {host} is not asked, only 80 and 443", request=request)
        failed: httpx.TransportError | None = None
        for address in await self._addresses(request, host, port):
            pinned = httpx.Request(
                request.method,
                url.copy_with(host=address),
                headers=request.headers,  # `Host` among them
                stream=request.stream,
                extensions=request.extensions | {"sni_hostname": url.raw_host.decode("ascii")},
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failed = error
        raise failed or httpx.ConnectError(f"{host} has no address", request=request)

    async def _addresses(self, request: httpx.Request, host: str, port: int) -> list[str]:
        """Resolve a host: all addresses of its name, each of which has been checked."""
        name = request.url.raw_host.decode("ascii")
        try:
            found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpx.ConnectError(f"{host}: {error}", request=request) from error
        addresses = list(dict.fromkeys(str(place[4][0]) for place in found))
        if not all(map(is_public, addresses)):
            raise AddressRefusedError(f"{host} is no host of the public internet", request=request)
        return addresses

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()
        if self._as_set is not None:
            await self._as_set.aclose()


@cache
def _tls() -> SSLContext:
    """Return the certificates, which take time to load, once a process."""
    return httpx.create_ssl_context()


def _proxy(url: httpx.URL) -> str | None:
    """Return the environment's proxy for an address that the deployment has set."""
    if proxy_bypass_environment(url.host):
        return None
    proxies = getproxies_environment()
    return proxies.get(url.scheme) or proxies.get("all")

"""Bodies of HTTP answers: one layer of compression at most, unpacked piece by piece under a limit.

httpx itself unpacks as many layers as a server names, and each part that arrives as a whole: 2.6 kB of `gzip, gzip`
become gigabytes before anybody who reads the body can look at its size.
"""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

MAX_BYTES = 100 * 1024 * 1024
"""Largest body that is taken, unpacked."""
ACCEPTED = {"accept-encoding": "gzip, deflate"}
"""The header that asks for no more than what is unpacked here."""

_PIECE = 256 * 1024
"""Bytes that are unpacked at once."""
_GZIP, _RAW = 16 + zlib.MAX_WBITS, -zlib.MAX_WBITS
_PACKED = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}
_END_OF_EVENT = (b"\n\n", b"\n\r\n", b"\r\r")


class BodyTooLargeError(httpx.DecodingError):
    """A body is larger than what is taken."""


def bounded(limit: int = MAX_BYTES) -> dict[str, list[Any]]:
    """Return the `event_hooks` of a client by which it reads bodies under a limit.

    Args:
        limit: Largest body in bytes, unpacked; in a stream of events, the largest event.
    """

    async def bound(response: httpx.Response) -> None:
        layers = response.headers.get_list("content-encoding", split_commas=True)
        named = [name for name in (layer.strip().lower() for layer in layers) if name not in {"", "identity"}]
        if len(named) > 1 or not _PACKED.keys() >= set(named):
            await response.aclose()
            raise httpx.DecodingError(
                f"its body is packed as {', '.join(named)[:80]!r}, and only one layer of gzip or deflate is unpacked",
                request=response.request,
            )
        if named:
            del response.headers["content-encoding"]  # what follows is plain
            response.headers.pop("content-length", None)
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        response.stream = _Body(response, named[0] if named else "", limit, events=events)

    return {"response": [bound]}


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, packed: str, limit: int, *, events: bool) -> None:
        self._stream, self._request = response.stream, response.request
        self._unpack = _Unpacking(packed) if packed else None
        self._limit, self._events = limit, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if not isinstance(self._stream, httpx.AsyncByteStream):
            raise TypeError("the body of an asynchronous client's answer is asynchronous")
        size = 0
        async for part in self._stream:
            for piece in self._unpacked(part):
                size = len(piece) if self._events and any(end in piece for end in _END_OF_EVENT) else size + len(piece)
                if size > self._limit:
                    raise BodyTooLargeError(f"its body has more than {self._limit:,} bytes", request=self._request)
                yield piece
        if self._unpack and not self._unpack.whole:
            raise httpx.DecodingError("its packed body is cut short", request=self._request)

    def _unpacked(self, part: bytes) -> Iterator[bytes]:
        try:
            yield from self._unpack(part) if self._unpack else (part,)
        except zlib.error as error:
            raise httpx.DecodingError(f"its packed body is damaged: {error}", request=self._request) from error

    async def aclose(self) -> None:
        if isinstance(self._stream, httpx.AsyncByteStream):
            await self._stream.aclose()


class _Unpacking:
    """One layer, unpacked in pieces."""

    def __init__(self, packed: str) -> None:
        self._inflate = zlib.decompressobj(_PACKED[packed])
        self._may_be_raw = packed == "deflate"
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether the layer has come to its end, or has never begun."""
        return self._inflate.eof or not self._begun

    def __call__(self, part: bytes) -> Iterator[bytes]:
        self._begun = self._begun or bool(part)
        while part and not self._inflate.eof:
            try:
                piece = self._inflate.decompress(part, _PIECE)
            except zlib.error:
                if not self._may_be_raw:
                    raise
                self._inflate = zlib.decompressobj(_RAW)  # some servers leave the layer's own header away
                piece = self._inflate.decompress(part, _PIECE)
            self._may_be_raw = False
            part = self._inflate.unconsumed_tail
            if piece:
                yield piece

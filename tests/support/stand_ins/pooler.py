"""A pooler in transaction mode: a few servers for all clients, each given to whoever begins a transaction."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

_SERVERS = 3
_SYNC, _QUERY, _EXTENDED, _TERMINATE = b"S", b"Q", b"PBDECH", b"X"
_TLS_OR_GSS = {80877103, 80877104}
_A_NUMBER_OF_ITS_OWN = struct.pack("!cIII", b"K", 12, 424242, 0)

Free = asyncio.LifoQueue["Server"]


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Read one message of PostgreSQL's protocol: its type and the whole of it."""
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


async def _startup(reader: asyncio.StreamReader) -> int:
    """Read a client's first message; return what it wants."""
    (size,) = struct.unpack("!I", await reader.readexactly(4))
    wanted: int = struct.unpack("!I", (await reader.readexactly(size - 4))[:4])[0]
    return wanted


class Server:
    """A connection to PostgreSQL, and who has it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.client: asyncio.StreamWriter | None = None
        self._awaited = 0
        self._unfinished = False

    async def greeting(self, database: str) -> bytes:
        """Log in; return what a client is to be told of it."""
        startup = struct.pack("!I", 196608) + f"user\0postgres\0database\0{database}\0\0".encode()
        self.writer.write(struct.pack("!I", len(startup) + 4) + startup)
        told, kind = b"", b""
        while kind != b"Z":
            kind, message = await _message(self.reader)
            told += _A_NUMBER_OF_ITS_OWN if kind == b"K" else message
        return told

    def ask(self, kind: bytes, message: bytes) -> None:
        """Pass a client's message on."""
        self._awaited += kind in {_SYNC, _QUERY}
        self._unfinished = kind in _EXTENDED
        self.writer.write(message)

    async def answers(self, free: Free) -> None:
        """Pass on what PostgreSQL says; between two transactions the server is free."""
        while True:
            kind, message = await _message(self.reader)
            if self.client is None:  # a notice
                continue
            self.client.write(message)
            self._awaited -= kind == b"Z"
            if kind == b"Z" and message[-1:] == b"I" and not self._awaited and not self._unfinished:
                self.client = None
                free.put_nowait(self)


@asynccontextmanager
async def pooler(dsn: str) -> AsyncIterator[str]:
    """Give the address by which a database is reached through a pooler."""
    parts = urlsplit(dsn)
    database, where = parts.path[1:], parse_qs(parts.query)
    free, greeting, clients = Free(), b"", set[asyncio.Task[None] | None]()
    servers = []
    for _ in range(_SERVERS):
        servers.append(Server(*await asyncio.open_unix_connection(f"{where['host'][0]}/.s.PGSQL.{where['port'][0]}")))
        greeting = await servers[-1].greeting(database)
        free.put_nowait(servers[-1])
    answers = [asyncio.create_task(server.answers(free)) for server in servers]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        clients.add(asyncio.current_task())
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await _startup(reader) in _TLS_OR_GSS:
                writer.write(b"N")
            writer.write(greeting)
            server: Server | None = None
            while (read := await _message(reader))[0] != _TERMINATE:
                if server is None or server.client is not writer:
                    server = await free.get()
                    server.client = writer
                server.ask(*read)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    door = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"postgresql://postgres@127.0.0.1:{door.sockets[0].getsockname()[1]}/{database}?gssencmode=disable"
    finally:
        door.close()
        await asyncio.gather(*(client for client in clients if client))
        for answering, server in zip(answers, servers, strict=True):
            answering.cancel()
            server.writer.close()
            await server.writer.wait_closed()

"""What LangSmith gets: nothing, unless the deployment has said so. The server has a key, which its licence may need."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.support.langgraph_server import ROOT, LangGraphServer, ask, link_checkout


@contextmanager
def langsmith() -> Iterator[tuple[dict[str, str], list[str]]]:
    """Give the settings that lead to a stand-in for LangSmith, and the list of paths to which something was sent."""
    sent: list[str] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            sent.append(self.path)
            self.do_GET()

        do_PATCH = do_POST  # noqa: N815 - http.server's own names

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        yield {"LANGSMITH_API_KEY": "lsv2_pt_test", "LANGSMITH_ENDPOINT": address}, sent
        server.shutdown()


def traces(sent: list[str]) -> list[str]:
    return [path for path in sent if path.startswith("/runs")]


@contextmanager
def as_in_the_image(folder: Path, dsn: str, settings: Mapping[str, str]) -> Iterator[LangGraphServer]:
    """Serve without the `env` of langgraph.json, which an image does not carry."""
    link_checkout(folder)
    config = json.loads((ROOT / "langgraph.json").read_text())
    del config["env"]
    (folder / "image.json").write_text(json.dumps(config))
    nowhere = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1", "RICORDO_DATABASE_URL": dsn}
    with LangGraphServer(folder, {**settings, **nowhere, "RICORDO_HOME": str(folder)}, "image.json") as server:
        yield server


async def one_run(server: LangGraphServer) -> None:
    async with server.client() as client:
        thread = str((await client.threads.create())["thread_id"])
        assert (await ask(client, thread, "What time is it?"))["stop_reason"] == "answer"


async def test_a_key_alone_sends_no_trace(dsn: str, tmp_path: Path) -> None:
    with langsmith() as (settings, sent):
        with as_in_the_image(tmp_path / "work", dsn, settings) as server:
            await one_run(server)
        assert traces(sent) == []

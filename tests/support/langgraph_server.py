"""The product under `langgraph dev`, as a process of its own."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

ROOT = Path(__file__).parents[2]
_FOREIGN = ("RICORDO_", "OPENAI_", "ANTHROPIC_", "TAVILY_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_", "PG")
_START_SECONDS = 240


def bare_environment(**more: str) -> dict[str, str]:
    """The environment of a process that is started on a fresh machine: no setting of ours or of a provider."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | more


def link_checkout(folder: Path) -> None:
    """Make a folder look like the checkout to the server, which writes its own state beside langgraph.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for entry in [*ROOT.glob("langgraph*.json"), *(path.parent for path in ROOT.glob("*/__init__.py"))]:
        if not (folder / entry.name).exists():
            (folder / entry.name).symlink_to(entry)


class LangGraphServer:
    """One run of the server; what it keeps between runs is in its folder."""

    def __init__(self, folder: Path, settings: Mapping[str, str], config: str = "langgraph.json") -> None:
        link_checkout(folder)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.folder = folder
        self.log = folder / f"server-{port}.log"
        self._settings = settings
        self.command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload"]
        self.command += ["--config", config, "--port", str(port), "--n-jobs-per-worker", "10"]

    def __enter__(self) -> Self:
        # Analytics are switched off in the shell alone: the command line reads no file before it sends them.
        environment = bare_environment(LANGGRAPH_CLI_NO_ANALYTICS="1", **self._settings)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if httpx.get(f"{self.url}/ok", timeout=2).is_success:
                    return self
            except httpx.TransportError:
                time.sleep(0.2)
        self.stop()
        raise AssertionError(f"langgraph dev did not start:\n{self.said()[-3000:]}")

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the server, and wait until it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def said(self) -> str:
        """What it has logged so far."""
        return self.log.read_text(errors="replace")

    def client(self, token: str | None = None) -> LangGraphClient:
        """A client of the running server."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return get_client(url=self.url, api_key=None, headers=headers)


def asking(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}]}


async def ask(client: LangGraphClient, thread: str, question: str, **more: Any) -> dict[str, Any]:
    state: Any = await client.runs.wait(thread, "agent", input=asking(question), **more)
    return dict(state)


def dialogue(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(message["type"], message["content"]) for message in state["messages"]]


async def until(condition: Any, seconds: float = 240) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another process
            await asyncio.sleep(0.05)

"""Tavily on localhost."""

import json
from typing import Any

from tests.support.stand_ins.local_server import LocalServer, Reply, Request

KEY = "tvly-of-the-tests"


class TavilyServer(LocalServer):
    """Answers `POST /search` with `results`, for those who show the right key."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[dict[str, Any]] = [
            {
                "title": "The lighthouse of Skerry Point",
                "url": "https://example.org/skerry",
                "content": "The lighthouse of Skerry Point was lit in 1871. " * 12,
                "score": 0.913,
            },
            {
                "title": "Harbour news",
                "url": "https://example.org/harbour",
                "content": "The ferry runs twice a day.",
                "score": 0.4,
            },
        ]

    def settings(self) -> dict[str, str]:
        """The environment variables that lead here."""
        return {"RICORDO_TAVILY_BASE_URL": self.url, "TAVILY_API_KEY": KEY}

    def answer(self, request: Request) -> Reply:
        if request.method != "POST" or request.path != "/search":
            return Reply(b"{}", "application/json", 404)
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return Reply(b'{"detail": {"error": "Unauthorized"}}', "application/json", 401)
        asked = json.loads(request.body)
        body = {"query": asked["query"], "results": self.results[: asked["max_results"]], "images": []}
        return Reply(json.dumps(body).encode(), "application/json")

"""A server on localhost that embeds by OpenAI's protocol."""

import json

from tests.support.stand_ins.local_server import LocalServer, Reply, Request


class EmbeddingServer(LocalServer):
    """Speaks OpenAI's protocol; a text's vector counts its letters a, b and c, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.width = 4

    def answer(self, request: Request) -> Reply:
        if request.headers["authorization"] != "Bearer right":
            return Reply(b'{"error": {"message": "Incorrect API key provided"}}', "application/json", 401)
        data = [
            {"object": "embedding", "index": i, "embedding": self.vector(text)}
            for i, text in enumerate(self.inputs(request))
        ]
        body = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        return Reply(json.dumps(body).encode(), "application/json")

    def vector(self, text: str) -> list[float]:
        return [*(float(text.count(letter)) for letter in "abcdefg"[: self.width - 1]), 1.0]

    @staticmethod
    def inputs(request: Request) -> list[str]:
        asked = json.loads(request.body)["input"]
        return asked if isinstance(asked, list) else [asked]

"""Web pages and files on localhost."""

from tests.support.stand_ins.local_server import LocalServer, Reply, Request


class PageServer(LocalServer):
    """Serves what `pages` holds by path."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Reply] = {}

    def answer(self, request: Request) -> Reply:
        return self.pages.get(request.path, Reply(b"Not here.", status=404))

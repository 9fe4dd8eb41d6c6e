"""What can go wrong, in one tree.

```
RicordoError
├── ConfigurationError          a setting is missing, malformed, or in conflict with another
├── DatabaseError               PostgreSQL cannot be started, reached or migrated
├── EmbeddingError              the embedding model cannot be loaded or refused a text
│   └── EmbeddingMismatchError  the table holds vectors of another model or width
├── ModelError                  the chat model failed after its retries
│   ├── ContextOverflowError    the provider says that the prompt is too long
│   └── ToolsNotTakenError      the model, or its server, takes no tools
├── InputError                  what the user gave cannot be taken (empty, unreadable, unknown)
│   ├── DocumentError           a document has no text, is damaged, encrypted or unreachable
│   └── NotFoundError           no thread, log entry, summary, memory or document has that id
├── ServiceError                a server (arXiv, Tavily, a web page) cannot be reached or does not answer as it should
├── ThreadBusyError             another turn of the same thread is under way
├── ThreadOwnerError            the thread belongs to another user
└── ToolError                   a tool cannot be registered, found or run
```

Every message says what happened, why, and what to do next; the command line prints it as it is, without a traceback.
"""

import re

_STOPS = re.compile(r"(?:(?<=[^\s./\\])\.(?=\.(?:\s|$))|(?<=[?!…。！？])\.(?=\s|$))")


def one_stop(message: str) -> str:
    """Return a message whose sentences end once, where one was put together of others that end by themselves.

    >>> one_stop("It failed: no such model.. Try another..")
    'It failed: no such model. Try another.'
    """
    return _STOPS.sub("", message)


class RicordoError(Exception):
    """The root of all errors that Ricordo raises on purpose."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_stop(message))

    def _asdict(self) -> dict[str, str]:
        """Return what a client of the LangGraph server is shown; of an error without this it learns the type alone."""
        return {"error": type(self).__name__, "message": str(self)}


class ConfigurationError(RicordoError):
    """A setting is missing, malformed, or in conflict with another."""


class DatabaseError(RicordoError):
    """PostgreSQL cannot be started, reached or migrated."""

    def _asdict(self) -> dict[str, str]:
        said = "The database cannot be used. What was saved before is kept; the server's log says what happened."
        return {"error": "DatabaseError", "message": said}  # its own message names the server and the database


class EmbeddingError(RicordoError):
    """The embedding model cannot be loaded or refused a text."""


class EmbeddingMismatchError(EmbeddingError):
    """The table holds vectors of another model or width."""


class ModelError(RicordoError):
    """The chat model failed after its retries."""


class ContextOverflowError(ModelError):
    """The provider says that the prompt is too long for the model."""

    def __init__(self, message: str, window: int | None = None) -> None:
        super().__init__(message)
        self.window = window
        """The tokens of the model's window, where the provider names them."""


class ToolsNotTakenError(ModelError):
    """The model, or its server, takes no tools."""


class InputError(RicordoError):
    """What the user gave cannot be taken."""


class DocumentError(InputError):
    """A document has no text, is damaged, encrypted or unreachable."""


class NotFoundError(InputError):
    """No thread, log entry, summary, memory or document has that id."""


class ServiceError(RicordoError):
    """A server (arXiv, Tavily, a web page) cannot be reached or does not answer as it should."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status that it answered with, if it answered."""


class ThreadBusyError(RicordoError):
    """Another turn of the same thread is under way."""


class ThreadOwnerError(RicordoError):
    """The thread belongs to another user."""


class ToolError(RicordoError):
    """A tool cannot be registered, found or run."""

"""What one run may choose for itself: the graph's context, editable in Studio."""

from dataclasses import dataclass, field
from typing import Any


def _about(text: str, default: Any = None) -> Any:
    return field(default=default, metadata={"description": text})


@dataclass(kw_only=True)
class Context:
    """Per-run options; None means the deployment's setting (`ricordo/common/settings.py`)."""

    user_id: str = _about("Whose memory is read and written. An authenticated identity always wins.", "default")
    model: str | None = _about("Chat model, provider:name, or 'offline'.")
    max_iterations: int | None = _about("Model calls in one turn.")
    deadline_seconds: float | None = _about("Wall clock of one turn, in seconds.")
    context_window: int | None = _about("Tokens of the model's window.")
    knowledge_base_k: int = _about("Passages of the knowledge base in the window.", 5)
    workflow_k: int = _about("Earlier workflows in the window.", 3)
    entity_k: int = _about("Entities in the window.", 5)
    user_memory_k: int = _about("Memories of the user in the window, beside those that always stand there.", 5)
    summary_k: int = _about("Summary descriptions in the window.", 10)
    tools_per_step: int | None = _about("Tools retrieved for each model call, beside the pinned ones.")
    timezone: str = _about("The user's time zone, an IANA name.", "UTC")


def user_of(runtime: Any) -> str:
    """Return whose memory a run works on: the authenticated identity if the server has one, else the context's.

    Args:
        runtime: A node's `Runtime[Context]` or a tool's `ToolRuntime`.
    """
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    if user is not None and getattr(user, "is_authenticated", True):
        return str(user.identity)  # whatever it is: an empty one is refused, and is not another user
    return context_of(runtime).user_id


def context_of(runtime: Any) -> Context:
    """Return a run's context; the default one when the caller passed none."""
    return runtime.context if isinstance(runtime.context, Context) else Context(**(runtime.context or {}))


def thread_of(runtime: Any) -> str:
    """Return a run's thread; a run without a checkpointer has one of its own."""
    info = runtime.execution_info
    return str((info and info.thread_id) or f"run {(info and info.run_id) or 'without an id'}")

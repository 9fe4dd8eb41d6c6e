"""Chat models by name: `offline`, or any LangChain `provider:name`, also wrapped by LangChain's own wrappers."""

import inspect
import os
from collections.abc import Callable
from typing import Any

from dotenv import load_dotenv
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from pydantic import ValidationError

from ricordo.common.errors import ConfigurationError
from ricordo.common.settings import Settings
from ricordo.models.providers import Provider, client_options, provider_of

OFFLINE = "offline"
NO_STREAM = "nostream"
"""The tag that keeps an internal call's tokens from the user's stream."""
UNKNOWN_WINDOW = 32_000  # tokens; what small servers offer at least, for models without a profile


def make_model(name: str, settings: Settings) -> BaseChatModel:
    """Make a provider's chat model.

    Args:
        name: `provider:name`, as LangChain's `init_chat_model` takes it; the provider may be left out where the name
            itself tells it.
        settings: Key, base URL, time-out, retries and window.

    Raises:
        ConfigurationError: The name is unknown, its provider's package is not installed, or there is no key.
    """
    load_dotenv(".env")  # LangChain's providers look for their keys in the environment alone
    provider, known = provider_of(name)
    options = client_options(provider, settings, settings.context_window or UNKNOWN_WINDOW)
    if provider == "openai":
        if not (settings.openai_api_key or settings.openai_base_url or os.environ.get("OPENAI_API_BASE")):
            raise ConfigurationError(
                f"The chat model '{name}' needs a key, and there is none. Set OPENAI_API_KEY, in the environment or in "
                ".env; or OPENAI_BASE_URL for a server of your own; or RICORDO_MODEL=offline, which needs neither."
            )
        # A server of one's own often wants no key, but the client insists on one.
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
        options |= {"api_key": key, "base_url": settings.openai_base_url}
    if known.silent and not known.has_key():
        raise ConfigurationError(_why_not(name, known, ValueError(f"{known.title} needs a key, and there is none")))
    model = name if ":" in name or not provider else f"{provider}:{name}"
    try:
        return _make(model, provider, options | (settings.model_options if name == settings.chat_model else {}))
    except Exception as error:
        raise ConfigurationError(_why_not(name, known, error)) from error


def _make(name: str, provider: str, options: dict[str, Any]) -> BaseChatModel:
    if provider == "openai":
        from ricordo.models.openai_like import OpenAILike  # noqa: PLC0415 - half a second that `offline` need not pay

        return OpenAILike(model=name.partition(":")[2], **options)
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - the same

    made: BaseChatModel = init_chat_model(name, **options)
    return made


def _why_not(name: str, provider: Provider, error: Exception) -> str:
    # Of a fault of the options its words alone: the rest shows what was passed.
    words = "; ".join(one["msg"] for one in error.errors()) if isinstance(error, ValidationError) else str(error)
    said = " ".join(words.split()).rstrip(".") or type(error).__name__
    unset = not isinstance(error, ImportError) and not provider.has_key()
    key = f"Set {provider.key}, in the environment or in .env. Or set" if unset else "Set"
    return (
        f"The chat model '{name}' cannot be used: {said}. {key} RICORDO_MODEL to provider:name "
        "(openai:gpt-5-mini, anthropic:…, ollama:…) and install the provider's package, or to offline."
    )


def unwrapped(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Return the chat model inside of LangChain's wrappers."""
    while isinstance(model, RunnableBindingBase):
        model = model.bound
    return model


def says_how_it_ends(model: Runnable[Any, Any]) -> bool:
    """Tell whether a model's streams end with a word on how, as those of the providers' own packages do."""
    packages = {kind.__module__.partition(".")[0] for kind in type(unwrapped(model)).__mro__}
    return any(name.startswith("langchain_") for name in packages - {"langchain_core", "langchain_community"})


def through_wrappers(model: Runnable[Any, Any], change: Callable[[Any], Any]) -> Any:
    """Change the chat model inside of `.with_retry()`, `.bind()` and `.with_config()`, which stay around it."""
    if isinstance(model, RunnableBindingBase):
        return model.model_copy(update={"bound": through_wrappers(model.bound, change)})
    return change(model)


def without_stream(model: Runnable[Any, Any]) -> Any:
    """Return the same model asked for its reply at once, where LangChain's own models can be told so."""
    still = {"disable_streaming": True}
    return through_wrappers(
        model, lambda inner: inner.model_copy(update=still) if isinstance(inner, BaseChatModel) else inner
    )


def structured(model: Runnable[Any, Any], schema: dict[str, Any]) -> Runnable[Any, Any]:
    """Return the model with replies by a schema, whose tokens no user is shown.

    Given a class instead, the client itself would parse the reply, and prose would end in an error.
    """
    bound = through_wrappers(model, lambda inner: inner.with_structured_output(schema, include_raw=True))
    made: Runnable[Any, Any] = bound.with_config(tags=[NO_STREAM])
    return made


def profile_window(model: Runnable[Any, Any]) -> int:
    """Return the tokens of a model's window: those its server was told to hold, or its profile's; else 32,000."""
    inner = unwrapped(model)
    profile = getattr(inner, "profile", None) or {}
    return int(getattr(inner, "num_ctx", None) or profile.get("max_input_tokens") or UNKNOWN_WINDOW)


async def close_model(model: BaseChatModel) -> None:
    """Close a model's connections, which belong to the event loop that made them."""
    for name in ("root_async_client", "_async_client", "async_client"):
        client = getattr(model, name, None)
        close = getattr(client, "aclose", None) or getattr(client, "close", None)
        if inspect.iscoroutinefunction(close):
            await close()
            return

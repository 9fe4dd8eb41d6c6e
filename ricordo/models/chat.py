"""Chat models by name: `offline`, or any LangChain `provider:name`; their errors in our words."""

import os
import re
from typing import Any, NoReturn

import httpx
from dotenv import load_dotenv
from langchain_core import exceptions as provider
from langchain_core.language_models import BaseChatModel

from ricordo.common.errors import ConfigurationError, ContextOverflowError, ModelError
from ricordo.common.settings import Settings

OFFLINE = "offline"
NO_STREAM = "nostream"
"""The tag that keeps an internal call's tokens from the user's stream."""
UNKNOWN_WINDOW = 32_000  # tokens; what small servers offer at least, for models without a profile


def make_model(name: str, settings: Settings) -> BaseChatModel:
    """Make a provider's chat model.

    Args:
        name: `provider:name`, as LangChain's `init_chat_model` takes it.
        settings: Key, base URL, time-out and retries.

    Raises:
        ConfigurationError: The name is unknown, its provider's package is not installed, or there is no key.
    """
    load_dotenv(".env")  # LangChain's providers look for their keys in the environment alone
    seconds = settings.request_timeout_seconds
    options: dict[str, Any] = {"max_retries": settings.max_retries, "timeout": seconds}
    own = settings.model_options if name == settings.chat_model else {}
    if name.startswith("openai:"):
        if not (settings.openai_api_key or settings.openai_base_url or os.environ.get("OPENAI_API_BASE")):
            raise ConfigurationError(
                f"The chat model '{name}' needs a key, and there is none. Set OPENAI_API_KEY, in the environment or in "
                ".env; or OPENAI_BASE_URL for a server of your own; or RICORDO_MODEL=offline, which needs neither."
            )
        # A server of one's own often wants no key, but the client insists on one.
        key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none"
        options |= {"api_key": key, "base_url": settings.openai_base_url}
        options |= {"stream_usage": True, "stream_chunk_timeout": seconds}
        # langchain-openai shares one client among all models of equal options, in whatever event loop they live; a
        # time-out that cannot be hashed keeps this one's client its own.
        options["timeout"] = httpx.Timeout(seconds)
    try:
        model = _make(name, options | own)
    except (ImportError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"The chat model '{name}' cannot be used: {error}. Set RICORDO_MODEL to provider:name "
            "(openai:gpt-5-mini, anthropic:…, ollama:…) and install the provider's package, or to offline."
        ) from error
    return model


def _make(name: str, options: dict[str, Any]) -> BaseChatModel:
    if name.startswith("openai:"):
        from ricordo.models.openai_like import OpenAILike  # noqa: PLC0415 - half a second that `offline` need not pay

        return OpenAILike(model=name.partition(":")[2], **options)
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - the same

    made: BaseChatModel = init_chat_model(name, **options)
    return made


def profile_window(model: BaseChatModel) -> int:
    """Return the tokens of a model's window by its profile; 32,000 for a model without one."""
    return int((model.profile or {}).get("max_input_tokens") or UNKNOWN_WINDOW)


_ADVICE = {
    provider.ModelAuthenticationError: "The key was refused: check OPENAI_API_KEY (or the provider's own key).",
    provider.ModelPermissionDeniedError: "The key may not use this model: choose another by RICORDO_MODEL.",
    provider.ModelNotFoundError: "There is no such model: check RICORDO_MODEL and OPENAI_BASE_URL.",
    provider.ModelRateLimitError: "The rate limit (429) held through all retries: wait, or check the quota.",
    provider.ModelTimeoutError: "It did not answer in time: try again, or raise RICORDO_REQUEST_TIMEOUT_SECONDS.",
    provider.ModelConnectionError: "It cannot be reached: check the network and OPENAI_BASE_URL.",
    provider.ModelAPIError: "The provider's server failed: try again later.",
}


_WINDOW = re.compile(
    r"> ?(\d[\d,]{2,})|(?:maximum|allowed|available|context (?:length|size|window))\D{0,40}?(\d[\d,]{2,})",
    re.IGNORECASE,
)


def _named_window(said: str) -> int | None:
    """Find the window in what a provider says of a prompt that is too long."""
    found = _WINDOW.search(said)
    return int((found[1] or found[2]).replace(",", "")) if found else None


def raise_ours(name: str, error: Exception) -> NoReturn:
    """Raise a provider's error as ours, with what to do next.

    Raises:
        ContextOverflowError: The prompt was too long.
        ModelError: Anything else.
    """
    if isinstance(error, provider.ContextOverflowError):
        raise ContextOverflowError(f"The prompt is too long for {name}: {error}", _named_window(str(error))) from error
    advice = next((text for kind, text in _ADVICE.items() if isinstance(error, kind)), "")
    if not advice and isinstance(error, TimeoutError):
        advice = _ADVICE[provider.ModelTimeoutError]
    said = " ".join(str(error).split())[:500] or type(error).__name__
    raise ModelError(f"The chat model {name} failed: {said}. {advice}".strip()) from error


async def close_model(model: BaseChatModel) -> None:
    """Close a model's connections, which belong to the event loop that made them."""
    client = getattr(model, "root_async_client", None)
    if client is not None:
        await client.close()

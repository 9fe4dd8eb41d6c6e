"""What a provider's client raised, as our own error: the provider's words, and advice that fits that provider."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import NoReturn

import httpx
from langchain_core import exceptions as provider

from ricordo.common.errors import ContextOverflowError, ModelError, ToolsNotTakenError
from ricordo.models.overflow import details_of, is_overflow, window_named, words_of
from ricordo.models.providers import provider_of

_UNREACHED = 599  # no status of HTTP's
_STATUS = {
    provider.ModelAuthenticationError: 401,
    provider.ModelPermissionDeniedError: 403,
    provider.ModelNotFoundError: 404,
    provider.ModelRateLimitError: 429,
    provider.ModelTimeoutError: 408,
    TimeoutError: 408,
    httpx.TimeoutException: 408,
    provider.ModelConnectionError: _UNREACHED,
    httpx.TransportError: _UNREACHED,
    OSError: _UNREACHED,
    provider.ModelAPIError: 500,
    provider.ModelInvalidRequestError: 400,
}
"""The HTTP status that stands for a kind of error, the special ones first."""
_NAMES = {
    "insufficient_quota": 402,
    "billing_error": 402,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "timeout_error": 408,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
}
"""What providers call a kind of error in its body; it says more than the status, and in a stream there is none."""
_LEAST_STATUS, _SERVER = 400, 500
_PASSING = frozenset({408, 409, 425, 429})
_ADVICE = {
    400: "The provider does not take this: choose another model by RICORDO_MODEL, or check RICORDO_MODEL_OPTIONS.",
    401: "The key was refused: check {key}.",
    402: "The account has no credit for it: top it up, or choose another model by RICORDO_MODEL.",
    403: "The key may not use this model: choose another by RICORDO_MODEL.",
    404: "There is no such model: check RICORDO_MODEL and {address}.",
    408: "It did not answer in time: try again, or raise RICORDO_REQUEST_TIMEOUT_SECONDS.",
    409: "Something else is in its way (409): ask again in a moment.",
    413: "The request is larger than the server takes: shorten what you ask, or set RICORDO_CONTEXT_WINDOW lower.",
    422: "The provider does not take the form of this request: choose another model by RICORDO_MODEL, or server.",
    429: "The rate limit (429) held through all retries: wait, or check the quota.",
    500: "The provider's server failed: try again later.",
    _UNREACHED: "It cannot be reached: check {address}.",
}
_OLLAMA = {
    404: "Fetch it by `ollama pull {model}`, or choose by RICORDO_MODEL one that `ollama list` shows.",
    _UNREACHED: "Ollama cannot be reached: start it by `ollama serve`, or check OLLAMA_HOST.",
}
_UNKNOWN = "Ask again; if it stays so, check {address}, or choose another model by RICORDO_MODEL."
_PAGE = "What answers there is a web page and no chat model: check {address}."
_NO_TOOLS = re.compile(
    r"(?:not|n't) support (?:tools?|function)|support(?:s|ing)? tool|tools? (?:use |calling )?(?:is|are) not supported"
    r"|enable-auto-tool-choice|unsupported (?:parameter|value)?:? ?'?tools?\b",
    re.IGNORECASE,
)
_HTML = re.compile(r"<(?:!doctype html|html|head|body)\b", re.IGNORECASE)
_LONGEST = 500  # characters of the provider's own words


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it; the first of several at once."""
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        seen.add(id(now))
        yield now
        now = now.exceptions[0] if isinstance(now, BaseExceptionGroup) else now.__cause__ or now.__context__


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an error, or the one that its kind or its body's code stands for."""
    named = [part.get(key) for part in details_of(error) for key in ("code", "type")]
    by_name = next((_NAMES[name] for name in named if isinstance(name, str) and name in _NAMES), None)
    codes = [*named, getattr(error, "code", None)]
    in_body = next((code for code in codes if isinstance(code, int) and code >= _LEAST_STATUS), None)
    of_kind = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), None)
    return by_name or _http_status(error) or in_body or of_kind or (400 if "invalid_request_error" in named else None)


def _http_status(error: BaseException) -> int | None:
    given = (getattr(error, "status_code", None), getattr(getattr(error, "response", None), "status_code", None))
    return next((one for one in given if isinstance(one, int) and one >= _LEAST_STATUS), None)


def passes(error: Exception) -> bool:
    """Tell whether the same request may succeed when it is sent again; of an error without a kind it may."""
    status = status_of(error)
    if is_overflow(error, status):
        return False
    return status is None or status in _PASSING or status >= _SERVER


def was_answered(error: Exception) -> bool:
    """Tell whether the error is an HTTP status, or that nobody answers: those a provider's client retries by itself."""
    return _http_status(error) is not None or status_of(error) in {_UNREACHED, 408}


def streams(error: Exception) -> bool:
    """Tell whether an error came in a stream, or of one that cannot be read: its server does send streams."""
    return isinstance(error, json.JSONDecodeError) or any(details_of(error))


def raise_ours(name: str, error: Exception, *, tools: bool = False) -> NoReturn:
    """Raise a provider's error as ours, with what to do next.

    Args:
        name: The model's.
        error: What the client raised.
        tools: Whether tools were offered to the model.

    Raises:
        ContextOverflowError: The prompt was too long.
        ToolsNotTakenError: The model takes no tools.
        ModelError: Anything else.
    """
    if isinstance(error, ModelError):
        raise error
    known = next((one for one in chain_of(error) if status_of(one) is not None), error)
    status, words = status_of(known), words_of(known) or type(known).__name__
    if isinstance(known, TypeError) and "unexpected keyword argument" in words:
        status = 400  # its client knows no such option
    if isinstance(known, json.JSONDecodeError):
        words = f"its answer is no JSON ({words})"
    said = _shown(words)
    if tools and _NO_TOOLS.search(words):
        raise ToolsNotTakenError(f"The chat model {name} takes no tools: {said.rstrip('.')}") from error
    advice = _advice(name, status, page=_HTML.search(words) is not None)
    if is_overflow(known, status):
        message = f"The prompt is too long for {name}: {said}. {_ADVICE[413]}"
        raise ContextOverflowError(message, window_named(known, status)) from error
    raise ModelError(" ".join(f"The chat model {name} failed: {said.rstrip('.')}. {advice}".split())) from error


def _advice(name: str, status: int | None, *, page: bool) -> str:
    owner, known = provider_of(name)
    if page:
        text = _PAGE
    elif status is None:
        text = _UNKNOWN
    else:
        kind = status if status in _ADVICE else _SERVER if status >= _SERVER else 400
        text = (_OLLAMA if owner == "ollama" else {}).get(kind) or _ADVICE[kind]
    return text.format(key=known.key, address=known.address, model=name.partition(":")[2] or name)


def _shown(words: str) -> str:
    """Return a provider's words in one line; of a web page its text."""
    if _HTML.search(words):
        words = unescape(re.sub(r"(?is)<(script|style)\b.*?</\1>|<[^<>]*>", " ", words))
    return " ".join(words.split())[:_LONGEST]

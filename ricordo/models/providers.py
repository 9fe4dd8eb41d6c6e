"""What is known of the providers of chat models: where keys and addresses stand, and what their clients are told."""

import itertools
import os
import re
from dataclasses import dataclass, field
from typing import Any

import httpx

from ricordo.common.settings import Settings

_GUESSED = (
    (re.compile(r"(?:gpt-|o\d|chatgpt)", re.IGNORECASE), "openai"),
    (re.compile("claude", re.IGNORECASE), "anthropic"),
    (re.compile("gemini", re.IGNORECASE), "google_genai"),
    (re.compile("mi[sx]tral", re.IGNORECASE), "mistralai"),
    (re.compile("deepseek", re.IGNORECASE), "deepseek"),
    (re.compile("grok", re.IGNORECASE), "xai"),
)
"""Whose model a name without a provider is."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Provider:
    """One provider; what is unknown of it is empty."""

    title: str
    keys: tuple[str, ...] = ()
    """Environment variables of which one must hold a key."""
    addresses: tuple[str, ...] = ()
    """Environment variables that may name another server."""
    server: str = ""
    """Its usual address, under which `models` lists the models."""
    models: str = "/models"
    header: str = "Authorization"
    """The header that carries the key."""
    headers: dict[str, str] = field(default_factory=dict)
    """What else its list of models wants to be told."""
    silent: bool = False
    """Its client is made without a key, and only its server refuses."""

    @property
    def key(self) -> str:
        """Name the variable of the key, for advice."""
        return " or ".join(self.keys) or "the provider's own key"

    @property
    def address(self) -> str:
        """Name what to look at when the server is not there, for advice."""
        return " and ".join(["the network", *self.addresses[:1]])

    def has_key(self) -> bool:
        """Tell whether a key is set, where one is needed."""
        return not self.keys or any(os.environ.get(name) for name in self.keys)

    def base(self) -> str:
        """Return the address in force; empty if it is unknown."""
        named = next((value for name in self.addresses if (value := os.environ.get(name))), self.server)
        return (named if "://" in named or not named else f"http://{named}").rstrip("/")

    def authorization(self) -> dict[str, str]:
        """Return the headers of a request for the list of models."""
        key = next((value for name in self.keys if (value := os.environ.get(name))), None)
        told = {self.header: f"Bearer {key}" if self.header == "Authorization" else key} if key else {}
        return {**self.headers, **told}


OPENAI = Provider("OpenAI", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1")
_KNOWN = {
    "openai": OPENAI,
    "azure_openai": Provider(
        "Azure OpenAI", ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN"), ("AZURE_OPENAI_ENDPOINT",)
    ),
    "anthropic": Provider(
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
        "https://api.anthropic.com",
        "/v1/models",
        "x-api-key",
        {"anthropic-version": "2023-06-01"},
        silent=True,
    ),
    "ollama": Provider("Ollama", (), ("OLLAMA_HOST",), "http://127.0.0.1:11434", "/api/tags"),
    "google_genai": Provider(
        "Google",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        (),
        "https://generativelanguage.googleapis.com/v1beta",
        header="x-goog-api-key",
    ),
    "mistralai": Provider(
        "Mistral", ("MISTRAL_API_KEY",), ("MISTRAL_BASE_URL",), "https://api.mistral.ai/v1", silent=True
    ),
    "groq": Provider("Groq", ("GROQ_API_KEY",), ("GROQ_API_BASE",), "https://api.groq.com", "/openai/v1/models"),
    "deepseek": Provider("DeepSeek", ("DEEPSEEK_API_KEY",), ("DEEPSEEK_API_BASE",), "https://api.deepseek.com/v1"),
    "xai": Provider("xAI", ("XAI_API_KEY",), (), "https://api.x.ai/v1"),
    "openrouter": Provider(
        "OpenRouter", ("OPENROUTER_API_KEY",), ("OPENROUTER_API_BASE",), "https://openrouter.ai/api/v1"
    ),
    "together": Provider("Together", ("TOGETHER_API_KEY",), ("TOGETHER_API_BASE",), "https://api.together.xyz/v1"),
    "fireworks": Provider("Fireworks", ("FIREWORKS_API_KEY",)),
    "cohere": Provider("Cohere", ("COHERE_API_KEY",)),
}


def provider_of(model: str) -> tuple[str, Provider]:
    """Return the provider of a model's name by its id and what is known of it."""
    prefix, colon, _ = model.partition(":")
    if colon:
        name = prefix.replace("-", "_").lower()
    else:
        name = next((owner for pattern, owner in _GUESSED if pattern.match(model)), "")
    return name, _KNOWN.get(name, Provider(name or "the provider"))


def client_options(provider: str, settings: Settings, window: int) -> dict[str, Any]:
    """Return how a provider's client is told the time limit, the retries and the window.

    Args:
        provider: Its id.
        settings: Time-out and retries.
        window: Tokens, for servers that are told how much to hold.
    """
    seconds, tries = settings.request_timeout_seconds, settings.max_retries
    if provider == "ollama":
        # Its server holds 4,096 tokens unless it is told otherwise, and drops the rest without a word.
        return {"client_kwargs": {"timeout": seconds}, "num_ctx": window}
    if provider == "openrouter":
        return {"timeout": round(seconds * 1000), "max_retries": tries}
    if provider == "mistralai":
        return {"timeout": max(1, round(seconds)), "max_retries": tries}
    if provider in {"openai", "azure_openai"}:
        # langchain-openai shares one client among all models of equal options, in whatever event loop they live; a
        # time-out that cannot be hashed keeps this one's client its own.
        timeout = httpx.Timeout(seconds)
        return {"timeout": timeout, "max_retries": tries, "stream_usage": True, "stream_chunk_timeout": seconds}
    if provider == "anthropic":
        # The same of langchain-anthropic, which wants a number: one that no other model has.
        seconds += next(_numbers) * 1e-6
    return {"timeout": seconds, "max_retries": tries}

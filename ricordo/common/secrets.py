"""Secrets in what is written down beside the conversation: passwords, keys and tokens are shown as `[secret]`."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

SECRET = "[secret]"  # noqa: S105 - what stands in the place of one

_KEYS = r"(?:api|access|private|secret|auth|licen[cs]e|client|encryption|signing)[ _-]?keys?"
_PASSWORDS = (
    r"pass(?:word|wd|phrase|code)|pwd|parola d'ordine|contraseña|mot de passe|passwort|kennwort|密码|密碼|" + _KEYS
)
_OTHERS = r"secret|token|credentials?|authori[sz]ation|cookie|bearer"
_NAMED = re.compile(rf"(?<![a-z])(?:{_PASSWORDS}|{_OTHERS}|otp|pin|cvv|cvc|iban)(?![a-z])|(?:password|secret|apikey)\Z")
"""What an argument is called that holds one."""
_NO_SECRET = re.compile(r"token_(?:count|limit|budget)")
_SAID = re.compile(
    rf"(?P<name>(?<![^\W_])(?:{_PASSWORDS}|pin)\b[\"']?\s{{0,3}}(?:is|are|was|=|:|è|es|est|ist|是|：)\s{{0,3}}[\"'“«`]?|"  # noqa: RUF001
    rf"(?<![^\W_])(?:{_OTHERS})\b[\"']?\s{{0,3}}[=:]\s{{0,3}}[\"'“«`]?)(?P<value>[^\s\"'”»`,;]{{3,}}+)",
    re.IGNORECASE,
)
"""One that a text gives with its name."""
_FORMS = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|(?<![\w.-])eyJ[\w-]++\.[\w.-]++"
    r"|(?<![\w.-])(?:(?:sk|pk|rk|tvly|xox[abprs]|gh[opsur]|glpat|hf|lsv2|ya29)[-_.]|AKIA|ASIA|AIza)"
    r"(?=[\w.-]{0,200}\d)[\w.-]{12,}+"
    r"|(?<=\bbearer )[\w.~+/=-]{8,}+"
    r"|(?<=://)[^\s:/@]{1,200}:[^\s/@]{1,200}(?=@)",
    re.IGNORECASE,
)
"""One that is known by its own form."""
_SHORTEST = 3
"""Characters of a secret that is looked for wherever else it stands."""

_LOGIN = re.compile(r"(?i)(?<![a-z])(https?:[/\\\\]{2})[^/?#\s]*@")


def without_login(text: str) -> str:
    """Return an address, or a text with addresses, without what stands before their hosts: a name, a password.

    >>> without_login("https://ada:hunter2@example.org/a@b")
    'https://example.org/a@b'
    """
    return _LOGIN.sub(r"\1", text)


def without_secrets(text: str, known: Collection[str] = ()) -> str:
    """Return a text without the secrets that are known by their form, by what they are called, or from elsewhere.

    >>> without_secrets("My password is hunter22, and the host is mole.")
    'My password is [secret], and the host is mole.'
    >>> without_secrets("Open it with kelp.", {"kelp"})
    'Open it with [secret].'
    """
    for secret in sorted(known, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", SECRET, text)
    return _SAID.sub(rf"\g<name>{SECRET}", _FORMS.sub(SECRET, text))


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets of a JSON value that what they are called tells: they may stand in other texts without it."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from secrets_in(each, str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from secrets_in(each, name)
    elif not isinstance(value, bool) and _is_secret(name) and len(secret := str(value or "").strip()) >= _SHORTEST:
        yield secret


def value_without_secrets(value: Any, name: str = "", known: Collection[str] = ()) -> Any:
    """Return a JSON value without its secrets; lists and objects keep their shape.

    Args:
        value: The value.
        name: What it is called.
        known: Secrets from elsewhere.
    """
    if isinstance(value, Mapping):
        return {key: value_without_secrets(each, str(key), known) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [value_without_secrets(each, name, known) for each in value]
    if value not in (None, "", True, False) and _is_secret(name):
        return SECRET
    return without_secrets(value, known) if isinstance(value, str) else value


def _is_secret(name: str) -> bool:
    """Tell by what something is called, in whatever spelling, whether it is one."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name[:200]).replace("-", "_").casefold()
    return bool(_NAMED.search(plain)) and not _NO_SECRET.search(plain)

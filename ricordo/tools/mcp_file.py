"""The file that names MCP servers, in the format that other programs use too.

```json
{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "some-server", "/data"], "env": {"API_KEY": "${API_KEY}"}},
  "wiki": {"url": "https://wiki.example.org/mcp", "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}}
}}
```
"""

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ricordo.common.errors import ConfigurationError

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_NAME = re.compile(r"key|token|secret|pass|pwd|auth|cred|cookie|private", re.IGNORECASE)
_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_LEAST_SECRET = 4
"""Characters below which a value is no secret: to hide every `1` would make a text unreadable."""
_STREAMABLE = "streamable_http"
_TYPES = {"http": _STREAMABLE, "streamable-http": _STREAMABLE, "streamablehttp": _STREAMABLE}


def _known_type(value: Any) -> Any:
    return _TYPES.get(value.lower(), value.lower()) if isinstance(value, str) else value


class Server(BaseModel):
    """One server of the file; keys that are another program's own are passed over."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, hide_input_in_errors=True)

    command: str | None = Field(None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    kind: Annotated[Literal["stdio", "streamable_http", "sse"] | None, BeforeValidator(_known_type)] = Field(
        None, validation_alias=AliasChoices("type", "transport")
    )
    disabled: bool = False

    @model_validator(mode="after")
    def _is_one_of_two(self) -> Self:
        if (self.command is None) is (self.url is None):
            raise ValueError("needs either 'command' (a program to start) or 'url' (a server to call)")
        if (self.kind == "stdio") is not (self.command is not None) and self.kind is not None:
            raise ValueError("'type' is stdio with 'command', and http or sse with 'url'")
        if self.url is not None and not self.url.startswith(("http://", "https://", "${")):
            raise ValueError("'url' must begin with http:// or https://")
        if self.url is not None and "${" not in self.url:
            try:
                urlsplit(self.url).port  # noqa: B018 - it is read here, where it may fail
            except ValueError:
                raise ValueError("'url' is no address: look at its host and port") from None
        return self

    @property
    def transport(self) -> Literal["stdio", "streamable_http", "sse"]:
        """How to speak to it; where the file is silent, an address that ends in `/sse` tells."""
        if self.command is not None:
            return "stdio"
        path = re.split(r"[?#]", self.url or "")[0]
        return self.kind or ("sse" if path.rstrip("/").endswith("/sse") else "streamable_http")

    @property
    def place(self) -> str:
        """The program or the host, without arguments, which may hold secrets."""
        if self.command is not None:
            return f"'{Path(self.command).name}'"
        try:
            return (urlsplit(self.url or "").netloc.rpartition("@")[2] or "its address").lower()
        except ValueError:  # brackets around a variable
            return "its address"

    def expanded(self) -> "Server":
        """Return it with `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}` replaced from the environment.

        Raises:
            ConfigurationError: A variable is not set, and the file gives no value for that case; or the outcome is no
                server. The message names the key, and never a value.
        """
        try:
            return Server.model_validate(_expand(self.model_dump(exclude={"kind"}) | {"type": self.kind}))
        except ValidationError as error:
            raise ConfigurationError(f"with its variables replaced it is none: {_problems(error, 'it')}") from None

    def secrets(self) -> list[str]:
        """Return what must not be shown, the longest first: headers, passwords in addresses, and keys in `env`."""
        found = {value for name, value in self.env.items() if _SECRET_NAME.search(name)}
        for value in self.headers.values():
            found |= {value, value.rpartition(" ")[2]}  # `Bearer x` and x
        query = (self.url or "").partition("#")[0].partition("?")[2]
        found |= {query, *(pair.partition("=")[2] for pair in query.split("&"))}
        for value in (self.url or "", *self.env.values()):
            found |= set(_PASSWORD.findall(value))
        return sorted((value for value in found if len(value) >= _LEAST_SECRET), key=len, reverse=True)


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    servers: dict[str, Server] = Field(validation_alias="mcpServers")


def read_mcp_file(path: Path) -> dict[str, Server]:
    """Read the servers by name, in the file's order.

    Raises:
        ConfigurationError: The file cannot be read or is malformed; the message names the key, and never a value.
    """
    try:
        servers = _File.model_validate(json.loads(path.expanduser().read_text("utf-8-sig"))).servers
    except OSError as error:
        raise ConfigurationError(
            f"RICORDO_MCP_FILE names {path}, which cannot be read: {error.strerror}. Mend the path, or unset it."
        ) from None
    except RecursionError:
        raise ConfigurationError(f"The MCP file {path} is nested too deeply. docs/mcp.md shows the format.") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"The MCP file {path} is not UTF-8 text. Save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise ConfigurationError(
            f"The MCP file {path} is not JSON: {error.msg}, line {error.lineno}, column {error.colno}."
        ) from None
    except ValidationError as error:
        raise ConfigurationError(
            f"The MCP file {path} cannot be used: {_problems(error, 'the file')}. docs/mcp.md shows the format."
        ) from None
    if "" in servers:
        raise ConfigurationError(f"The MCP file {path} cannot be used: mcpServers has a server without a name.")
    return servers


def _problems(error: ValidationError, whole: str) -> str:
    """Say what is wrong, by key."""
    told = ((".".join(map(str, e["loc"])) or whole, e["msg"].removeprefix("Value error, ")) for e in error.errors())
    return "; ".join(f"{key}: {why}" for key, why in told)


def _expand(value: Any) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(_value_of, value)
    if isinstance(value, list):
        return [_expand(each) for each in value]
    if isinstance(value, dict):
        return {key: _expand(each) for key, each in value.items()}
    return value


def _value_of(match: re.Match[str]) -> str:
    name, otherwise = match.groups()
    value = os.environ.get(name) or otherwise
    if value is None:
        raise ConfigurationError(f"the environment variable {name} is not set")
    return value

"""The file of MCP servers, and the names that their tools get."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.common.errors import ConfigurationError
from ricordo.tools.mcp import _fit, _free
from ricordo.tools.mcp_file import read_mcp_file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON: .* line 1, column 2"),
        ("[]", "the file: "),
        ("{}", "mcpServers: Field required"),
        ('{"mcpServers": {"a": {"args": []}}}', "mcpServers.a: .*'command'.*'url'"),
        ('{"mcpServers": {"a": {"command": "x", "args": "secret-value"}}}', "mcpServers.a.args: "),
        ('{"mcpServers": {"a": {"command": "x", "env": {"KEY": ["secret-value"]}}}}', "mcpServers.a.env.KEY: "),
        ('{"mcpServers": {"a": {"url": "ftp://secret-value"}}}', "mcpServers.a: .*http://"),
        ('{"mcpServers": {"a": {"url": "http://x", "type": "secret-value"}}}', r"mcpServers.a.type: .*'stdio'"),
        ('{"mcpServers": {"a": {"url": "http://x", "type": "stdio"}}}', "mcpServers.a: .*'type'"),
        ('{"mcpServers": {"": {"command": "x"}}}', "without a name"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_the_key_and_no_value(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_mcp_file(path)
    assert "secret-value" not in str(caught.value)


def test_a_missing_file_is_an_error_that_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"RICORDO_MCP_FILE names .*none\.json"):
        read_mcp_file(tmp_path / "none.json")


def test_the_format_of_other_programs_is_understood(tmp_path: Path) -> None:
    os.environ["HOST"] = "example.org"
    path = tmp_path / "mcp.json"
    path.write_text(
        json.dumps(
            {
                "inputs": [],
                "mcpServers": {
                    "a": {"command": "npx", "args": ["-y", "${X:-x}"], "env": {"PORT": 1}, "autoApprove": ["b"]},
                    "b": {"url": "https://${HOST}/sse"},
                    "c": {"url": "https://${env:HOST}/mcp", "transport": "streamable-http"},
                    "d": {"type": "sse", "url": "https://h/mcp", "headers": {"A": "B"}},
                },
            }
        ),
        encoding="utf-8-sig",
    )
    servers = {name: server.expanded() for name, server in read_mcp_file(path).items()}
    assert [server.transport for server in servers.values()] == ["stdio", "sse", "streamable_http", "sse"]
    assert (servers["a"].args, servers["a"].env) == (["-y", "x"], {"PORT": "1"})
    assert [servers["b"].url, servers["c"].url] == ["https://example.org/sse", "https://example.org/mcp"]


def test_only_what_is_a_secret_is_hidden(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    env = {"API_KEY": "k-123", "ROOT": "/data/shared", "DB": "postgresql://me:pw-123@h/db", "DEBUG_TOKEN": "1"}
    url = "https://me:pw-456@h/mcp?a=q-456&b=2"
    servers = {"a": {"command": "x", "env": env}, "b": {"url": url, "headers": {"Authorization": "Bearer t-456"}}}
    path.write_text(json.dumps({"mcpServers": servers}))
    found = {name: server.secrets() for name, server in read_mcp_file(path).items()}
    assert set(found["a"]) == {"k-123", "pw-123"}
    assert found["b"] == ["Bearer t-456", "a=q-456&b=2", *sorted(found["b"][2:], key=len, reverse=True)]
    assert set(found["b"][2:]) == {"t-456", "q-456", "pw-456"}


@given(st.text(max_size=200), st.sets(st.text(max_size=80)), st.text(max_size=80))
def test_any_name_becomes_one_that_providers_take_and_nobody_has(name: str, others: set[str], server: str) -> None:
    taken = {_fit(other) for other in others} | {_fit(name)}
    found = _free(_fit(name), taken, _fit(server))
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", found)
    assert found not in taken

"""What of a text is written for people: without code, data and addresses."""

import re

_FENCED = re.compile(r"(?:```|~~~)[\s\S]*?(?:```|~~~|\Z)|`[^`\n]{1,200}`")
_ADDRESS = re.compile(r"(?<![\w.+-])(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"'“”«»()]++", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/\\])(?:[a-z]:)?[~.]{0,2}(?:[/\\][\w.@+-]++){2,}+[/\\]?", re.IGNORECASE)
_BRACKET = re.compile(r"(?P<open>\{|\[(?=\s*[\"'{\[\n]))|(?P<close>[}\]])|(?P<end>\n[^\S\n]*\n)")
"""Where an object or a list opens and closes; at an empty line all are closed."""
_CODE = re.compile(
    r"\s*(?:[\"'][^\"'\n]{0,200}[\"']\s*(?::.*|,\s*)|[\]}]+[,;]?"
    r"|(?:import|from)\s+[\w.]+(?:\s+import\s.*|\s*;)?|[@#]\w+.*[(<\"].*|#include.*|#!.*"
    r"|(?:def|class|fn|func|function|interface|struct|enum)\s+\w+\s*[(:{<].*"
    r"|(?:public|private|protected|static|const|let|var|final|async|export|return|await|raise|throw)\b.*[;{()=].*"
    r"|(?:if|for|while|elif|else|try|except|with|switch|catch)\b.*[:{]\s*"
    r"|</?[a-z][\w-]*(?:\s[^<>]*)?/?>.*|[\w.\[\]\"']+\s*[-+*/|&]?=\s*\S.*|[\w.]+\([^()\n]*\)\s*[;{]?\s*"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH)\s.*\b(?:FROM|INTO|SET|TABLE|AS|INDEX)\b.*"
    r"|\$\s.*|>>>.*|\.\.\.\s.*|File \".*|.*\)\s*[;{]\s*)"
)
"""A line of code, or of data as it is written in it."""
_LONGEST = 2_000
"""Characters of a line that is looked at for code."""


def prose(text: str) -> str:
    """Return a text without code, objects and lists of data, addresses and paths; `…` stands for those within a line.

    >>> prose("Ask Ada Byron. `Foo Bar` is at https://x.example/Ada_Byron now.")
    'Ask Ada Byron. … is at … now.'
    """
    plain = _without_data(_ADDRESS.sub("…", _FENCED.sub("…", text)))
    lines = (line for line in plain.split("\n") if len(line) > _LONGEST or not _CODE.fullmatch(line))
    return "\n".join(_PATH.sub("…", line) for line in lines)


def _without_data(text: str) -> str:
    kept, depth, start = [], 0, 0
    for found in _BRACKET.finditer(text):
        if found["open"]:
            kept += [text[start : found.start()], "…"] if not depth else []
            depth += 1
        elif depth:
            depth = depth - 1 if found["close"] else 0
            start = found.end() if found["close"] else found.start()
    return "".join([*kept, "" if depth else text[start:]])

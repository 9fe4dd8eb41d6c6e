"""A tool's arguments from the request and the window, by the tool's JSON schema alone."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage

from ricordo.common.text import EMAIL
from ricordo.common.words import terms
from ricordo.offline.intent import stem, words_of_name
from ricordo.offline.phrases import FUNCTION
from ricordo.offline.request import Request
from ricordo.offline.seen import Prompt, Seen, read_blocks

_REFERENCES = {
    "arxiv": re.compile(
        r"(?:(?<![\w./])|(?<=/abs/)|(?<=/pdf/))"
        r"(?:\d{4}\.\d{4,5}|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/\d{7})(?:v\d{1,3})?(?![\w/])"
    ),
    "url": re.compile(r"https?://[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]"),
    "email": re.compile(EMAIL),
    "date": re.compile(r"\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?)?\b"),
    "id": re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
}
"""Texts that point at a thing, by the words that parameters for them have in their names; `id` is a UUID."""
_BY_USER = (_REFERENCES["email"], _REFERENCES["date"])
"""What only the user's own words may name: a document must not choose who gets a mail."""
_ALSO = {"uri": "url", "link": "url", "mail": "email", "recipient": "email", "since": "date", "until": "date"}
_MOST_OPEN = 3
"""Repetitions without an end in a tool's own pattern, at most: more may take for ever on some text."""
_NEAR = 2
"""Words between a number and what it counts, at most."""
_SURE = 0.75
"""Share of the request's terms that must stand with an id that says nothing by itself: it may name what is deleted."""
_COUNTS = re.compile(r"how many|at most|number of|maximum|limit\b", re.IGNORECASE)
_NOT = frozenset({"no", "not", "without", "non", "senza", "sans", "ohne", "sin"})
_VALUE_ENDS = re.compile(r"[,;!?]|\.(?=\s|$)|\s(?:and|with|e|con|und|et|y)\s")
_GOAL = re.compile(r"\s(?:into|to|in|auf|en) (\w+)\W*$", re.IGNORECASE)
_LEAD = re.compile(r"^(?:(?:like|be|fa|fuori) )*(?:in|at|a|ad) (?=[A-ZÀ-Þ])|^(?:like|fa) ")
_WHOLE = frozenset({"query", "question", "text", "q", "request", "prompt"})
"""Parameters that take a question as it is."""
_SPAN = re.compile(r"\s+(?:for|in|over|per|nei|fra)\b\D*\d+\D*$", re.IGNORECASE)
"""What tells how long or how many, behind what is asked for."""
_SOURCES = ("Summary", "Knowledge Base", "Entity", "User")
"""Not workflows: their values are those of another request."""


@dataclass(frozen=True)
class Filled:
    """What could be found out."""

    values: dict[str, Any]
    missing: list[str]
    """Required parameters for which neither request nor window holds a value."""


@dataclass(frozen=True)
class _Candidate:
    value: str
    context: str
    """The line or the passage it stands in."""


def fill(tool: Mapping[str, Any], examples: Sequence[str], prompt: Prompt) -> Filled:
    """Fill the arguments of a function schema.

    Args:
        tool: Name, description and parameters.
        examples: What users say who want this tool; the words that several of them share belong to the asking.
        prompt: The request, the window and this turn's results.
    """
    schema = tool.get("parameters") or {}
    parameters: dict[str, Mapping[str, Any]] = {
        n: _plain(s, schema) for n, s in (schema.get("properties") or {}).items()
    }
    required = [name for name in schema.get("required") or [] if name in parameters]
    request = Request(prompt.question, [*words_of_name(str(tool["name"])), *_shared(examples)])
    values: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value = _value(name, parameter, request, prompt, needed=name in required)
        if value is not None and not (isinstance(value, str) and not value.strip()):
            values[name] = value
    _spread(parameters, required, values, request)
    return Filled(values, [name for name in required if name not in values])


def is_reference(name: str, parameter: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Return the pattern of what a parameter points with; None for free text."""
    if isinstance(given := parameter.get("pattern"), str):
        with suppress(re.error):
            if not _is_endless(given):
                return re.compile(given.strip("^$"))
    words = [str(parameter.get("format") or ""), *words_of_name(name)]
    kinds = [_ALSO.get(word, word).removesuffix("s") for word in words]
    if "id" in kinds:
        told = f"{name.replace('_', ' ')} {parameter.get('description') or ''}"
        shown = (p for p in _REFERENCES.values() if p.search(told))
        named = (p for kind, p in _REFERENCES.items() if kind in kinds)
        return next(shown, next(named, _REFERENCES["id"]))
    return next((_REFERENCES[kind] for kind in kinds if kind in _REFERENCES), None)


def _is_endless(pattern: str) -> bool:
    """Tell whether a pattern may take for ever on some text; schemas come from anywhere."""
    bare = re.sub(r"\\.|\[[^\]]*\]", "x", pattern)
    still_open = len(re.findall(r"[*+]|\{\d*,\}", bare))
    return (
        still_open > _MOST_OPEN
        or bool(re.search(r"\)(?:[*+]|\{\d*,\})|\d{3,}\}|[*+]\??x[*+]", bare))
        or (still_open > 0 and ")" in bare and bool(re.search(r"\)\{", bare)))
    )


def _plain(parameter: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a parameter's schema without its optionality and its indirection."""
    while isinstance(parameter, Mapping) and isinstance(ref := parameter.get("$ref"), str):
        parameter = {**(schema.get("$defs") or {}).get(ref.rpartition("/")[2], {}), **_without(parameter, "$ref")}
    if not isinstance(parameter, Mapping):
        return {}
    options = [o for o in parameter.get("anyOf") or [] if isinstance(o, Mapping) and o.get("type") != "null"]
    return _plain({**_without(parameter, "anyOf"), **options[0]}, schema) if options else parameter


def _without(parameter: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in parameter.items() if name != key}


def _shared(examples: Sequence[str]) -> list[str]:
    """Return the words that at least three examples have, names aside."""
    said = [{stem(w): w for w in re.findall(r"[^\W\d_]+", text) if w.islower()} for text in examples]
    return [word for words in said for key, word in words.items() if sum(key in other for other in said) >= 3]  # noqa: PLR2004


def _value(name: str, parameter: Mapping[str, Any], request: Request, prompt: Prompt, *, needed: bool) -> Any:
    kind = parameter.get("type")
    if options := parameter.get("enum"):
        said = {stem(word.text) for word in request.words}
        return next((o for o in options if {stem(w) for w in words_of_name(str(o))} <= said), None)
    if kind in {"integer", "number"}:
        return _number(name, parameter, request)
    if kind == "boolean":
        return _flag(name, parameter, request)
    if kind not in {"string", None} or (kind is None and "properties" in parameter):
        return None
    if pattern := is_reference(name, parameter):
        return _pointer(name, pattern, request, prompt, needed=needed)
    return _assigned(name, request.text)


def _assigned(name: str, text: str) -> str | None:
    """Return a value that is given by name: `name=value` or `name: "value"`."""
    found = re.search(rf"\b{re.escape(name)}\s*[=:]\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s,;)]+))", text, re.IGNORECASE)
    return next(filter(None, found.groups()), None) if found else None


def _number(name: str, parameter: Mapping[str, Any], request: Request) -> float | None:
    numbers = request.numbers
    named = {stem(w) for w in words_of_name(name)}
    places = [i for i, w in enumerate(request.words) if stem(w.text) in named]
    far = {i: min((abs(i - place) for place in places), default=_NEAR + 1) for i in numbers}
    near = sorted((i for i in numbers if far[i] <= _NEAR), key=lambda i: far[i])
    if not near and _COUNTS.search(str(parameter.get("description") or "")):
        near = [i for i in numbers if request.counts_things(i)]
    if not near:
        return None
    return _within(parameter, numbers[near[0]])


def _within(parameter: Mapping[str, Any], value: float) -> float:
    least, most = parameter.get("minimum"), parameter.get("maximum")
    value = max(value, least) if isinstance(least, int | float) else value
    value = min(value, most) if isinstance(most, int | float) else value
    return int(value) if parameter.get("type") == "integer" else value


def _flag(name: str, parameter: Mapping[str, Any], request: Request) -> bool | None:
    words = [w.low for w in request.words]
    at = next((i for i, w in enumerate(words) if stem(w) in {stem(part) for part in words_of_name(name)}), None)
    if at is not None:
        return not _NOT.intersection(words[max(0, at - 2) : at])
    shared = terms(request.text).keys() & terms(str(parameter.get("description") or "")).keys()
    return True if len(shared) >= 2 else None  # noqa: PLR2004 - one word alone is chance


def _pointer(name: str, pattern: re.Pattern[str], request: Request, prompt: Prompt, *, needed: bool) -> str | None:
    """Find what the request points at: named in it, or spoken of, the latest first."""
    for text in (_assigned(name, request.text), request.text):
        if text and (found := pattern.search(text)):
            return found[0]
    if not needed:
        return None
    own = [w for w in words_of_name(name) if w != "id"]
    segment = next((s for s in _SOURCES if s.split()[0].lower() in own), None)
    talk = prompt.of("Conversation")
    pools = [_in_results(pattern, list(reversed(prompt.results)))]
    if segment:
        pools.append(_in_passages(pattern, prompt.of(segment)))
    elif pattern in _BY_USER:
        pools = [_in_text(pattern, said.text) for said in reversed(talk) if said.role == "user"]
    else:
        pools += [_in_text(pattern, said.text) for said in reversed(talk)]
        # The ids of other segments' passages are no one's business but expand_summary's and the like.
        sources = ("User",) if pattern is _REFERENCES["id"] else _SOURCES
        pools += [_in_passages(pattern, prompt.of(source)) for source in sources]
    sure = _SURE if pattern is _REFERENCES["id"] and not segment else 0.0
    return _choose([pool for pool in pools if pool], request, prompt, sure)


def _in_results(pattern: re.Pattern[str], results: Sequence[ToolMessage]) -> list[_Candidate]:
    found: list[_Candidate] = []
    for result in results:
        text = str(result.text)
        blocks = read_blocks(text, result.name or "")
        found += _in_passages(pattern, blocks) if blocks else _in_text(pattern, text)
    return found


def _in_passages(pattern: re.Pattern[str], passages: Sequence[Seen]) -> list[_Candidate]:
    heads = [_Candidate(found[0], f"{p.head} {p.text}") for p in passages if (found := pattern.search(p.head))]
    return heads or [candidate for p in passages for candidate in _in_text(pattern, p.text)]


def _in_text(pattern: re.Pattern[str], text: str) -> list[_Candidate]:
    found = {m[0]: _Candidate(m[0], line) for line in reversed(text.splitlines()) for m in pattern.finditer(line)}
    return list(reversed(found.values()))


def _choose(pools: list[list[_Candidate]], request: Request, prompt: Prompt, sure: float) -> str | None:
    if not pools:
        return None
    wanted = terms(request.object)
    best = max((c for pool in pools for c in pool), key=lambda c: _overlap(wanted, c.context))
    if wanted and _overlap(wanted, best.context) >= (sure or 1 / len(wanted)):
        return best.value
    if wanted and (request.is_named or (request.has_topic and request.ordinal is None) or sure):
        return None  # something else is meant than what was spoken of
    if (place := request.ordinal) is not None:
        listed = next((pool for pool in pools if len(pool) > max(1, place)), [])
        if listed:
            return listed[place].value
    for said in [m.text for m in reversed(prompt.of("Conversation")) if m.role == "user"]:
        asked = terms(Request(said).object)
        best = max(pools[0], key=lambda c: _overlap(asked, c.context))
        if _overlap(asked, best.context) > 0:
            return best.value
    return pools[0][0].value


def _overlap(wanted: Mapping[str, int], context: str) -> float:
    return sum(term in terms(context) for term in wanted) / len(wanted) if wanted else 0.0


def _spread(
    parameters: Mapping[str, Mapping[str, Any]], required: Sequence[str], values: dict[str, Any], request: Request
) -> None:
    """Give what the request asks for to the required parameters of free text and of lists that are still empty."""
    free = [n for n in required if n not in values and parameters[n].get("type", "string") in {"string", "array"}]
    free = [n for n in free if not parameters[n].get("enum") and not is_reference(n, parameters[n])]
    if len(free) > 1:
        values.update((name, value) for name in free if (value := _said_after(name, free, request)))
        left = [n for n in free if n not in values]
        quoted = [text for text in request.quoted if text not in values.values()]
        values.update(zip(left, quoted, strict=False))
        left = left[len(quoted) :]
        if len(left) == 1 and quoted and (goal := _GOAL.search(request.text)):
            values[left[0]] = goal[1]
    elif free and (text := request.object or (request.text if request.is_question and free[0] in _WHOLE else "")):
        text = _LEAD.sub("", text)
        counted = any(type(value) in {int, float} for value in values.values())
        values[free[0]] = _SPAN.sub("", text) if counted else text
    missing = [n for n in required if n not in values and parameters[n].get("type") in {"integer", "number"}]
    missing = [n for n in missing if not parameters[n].get("enum")]
    if len(missing) == len(request.numbers) == 1 and not any(type(v) in {int, float} for v in values.values()):
        values[missing[0]] = _within(parameters[missing[0]], *request.numbers.values())
    for name in required:
        if parameters[name].get("type") == "array" and isinstance(listed := values.get(name), str):
            values[name] = [part for raw in _VALUE_ENDS.split(listed) if (part := raw.strip())]


def _said_after(name: str, others: Sequence[str], request: Request) -> str:
    """Return what follows a parameter's name in the request: *subject* Lunch *and body* See you there."""
    own, rest = stem(words_of_name(name)[-1]), {stem(words_of_name(n)[-1]) for n in others if n != name}
    at = next((i for i, w in enumerate(request.words) if stem(w.text) == own), None)
    if at is None:
        return ""
    behind = request.text[request.words[at].end :].lstrip(" :=")
    if behind[:1] in '"“«「' and (quoted := next((q for q in request.quoted if behind[1:].startswith(q)), "")):
        return quoted
    tail = request.words[at + 1 :]
    while tail and tail[0].low in FUNCTION:
        tail = tail[1:]
    if not tail:
        return ""
    stop = next((w.start for w in tail if stem(w.text) in rest), len(request.text))
    return _VALUE_ENDS.split(request.text[tail[0].start : stop])[0].strip(" \"'.:")

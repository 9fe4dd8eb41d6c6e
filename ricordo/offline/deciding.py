"""One decision of the offline model: call a tool, or answer by quotation."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall
from langchain_core.messages.tool import tool_call

from ricordo.models.embeddings import Embedder
from ricordo.offline import quoting
from ricordo.offline.arguments import Filled, fill, is_reference
from ricordo.offline.intent import Chooser, Embed, Examples, words_of_name
from ricordo.offline.phrases import FUNCTION, ITALIAN, NOTICES, SPEAKING
from ricordo.offline.request import Request
from ricordo.offline.seen import Prompt, Seen
from ricordo.stores.user_memory.claims import parse
from ricordo.stores.user_memory.firewall import assertions
from ricordo.stores.user_memory.firewall_words import FORGETS

_MOST_STEPS = 4
"""Tool calls of one turn."""
_SUMMARIES = "Summary"
_STORES = "remember"
"""The shipped tool that stores what the user states."""
_OWN = re.compile(
    r"(?:my|(?:il|la|i|le) mi[aeo]i?|mi[ao]) [\w' -]{1,40}? (?:is|are|has|have|è|sono|ha|si chiama)\b|我的",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\S+ (?:\S+ )?(?:apolog|question|code|bad|problem|point|guess|turn|paper|error|idea|domanda|scus|codice)",
    re.IGNORECASE,
)
"""What is one's own for a moment."""
_RECALLS = "recall"
"""The shipped tool that finds it again."""

Tool = Mapping[str, Any]
"""A function schema: name, description, parameters."""


class Turn:
    """One decision: call a tool, or answer."""

    def __init__(
        self,
        embedder: Embedder,
        examples: Examples,
        prompt: Prompt,
        tools: Sequence[Tool],
        known: Embed | None = None,
    ) -> None:
        self._embedder = embedder
        self._examples = examples
        self._known = known
        self._prompt = prompt
        self._tools = {str(tool["name"]): tool for tool in tools}
        self._request = Request(prompt.question, SPEAKING)
        self._called = [call for step in prompt.steps for call in step.tool_calls]
        self._kind = "answer"
        self._lacking: tuple[str, list[str]] | None = None

    async def call(self, choice: Any) -> ToolCall | None:
        """Return the tool call to make, if one is needed and everything that it requires is known."""
        name = await self._choose(choice) or await self._look()
        if name is None or len(self._called) >= _MOST_STEPS:
            return None
        if self._kind == "history":
            return self._expand(name)
        if any(call["name"] == name for call in self._called):
            return None
        filled = self._fill(name)
        if filled.missing:
            self._lacking = (name, filled.missing)
            return self._help_with(name)
        return self._calling(name, filled.values)

    async def _choose(self, choice: Any) -> str | None:
        forced = choice.get("function", {}).get("name") if isinstance(choice, dict) else choice
        if forced in self._tools:
            return str(forced)
        if named := self._named():
            return named
        reader = next((name for name, tool in self._tools.items() if _summary_parameters(tool)), None)
        chooser = Chooser(self._embedder, self._examples, self._known)
        scores = await chooser.scores(
            self._prompt.question, list(self._tools.values()), {"history": reader} if reader else {}
        )
        must = choice in ("any", "required", True)
        if not (must or self._request.words):
            self._kind = "talk"
            return None
        # A question is like the statement that answers it, and tells nothing that could be stored.
        stated = [] if FORGETS.search(self._prompt.question) else list(assertions(self._prompt.question))
        fit = (name for name in scores if (name in self._tools or not must) and (stated or name != _STORES))
        best = next(fit, "answer")
        if _STORES in self._tools and best not in self._tools.keys() - {_RECALLS} and any(map(_lasts, stated)):
            best = _STORES
        self._kind = "history" if best == reader else best
        return best if best in self._tools else None

    async def _look(self) -> str | None:
        """Return the tool that looks into user memory, for a question that the window does not answer."""
        if self._kind != "answer" or _RECALLS not in self._tools or self._called:
            return None
        return (
            None if not self._request.is_personal and (await self._evidence(self._prompt.passages, 1))[1] else _RECALLS
        )

    def _named(self) -> str | None:
        """Return the tool that the user names: by its identifier, or by its words where it has several."""
        said = f" {' '.join(words_of_name(self._prompt.question))} "
        for name in sorted(self._tools, key=len, reverse=True):
            words = words_of_name(name)
            if f"`{name}`" in self._prompt.question or (len(words) > 1 and f" {' '.join(words)} " in said):
                return name
        return None

    def _fill(self, name: str) -> Filled:
        return fill(self._tools[name], self._examples(name), self._prompt)

    def _calling(self, name: str, args: dict[str, Any]) -> ToolCall:
        return tool_call(name=name, args=args, id=f"call_{uuid4().hex}")

    def _help_with(self, name: str) -> ToolCall | None:
        """Return a call of a tool that the lacking tool's own description names as the one that finds what it lacks."""
        told = json.dumps(self._tools[name], ensure_ascii=False)
        for other in self._tools:
            if other != name and other in told and not any(call["name"] == other for call in self._called):
                filled = self._fill(other)
                if not filled.missing:
                    return self._calling(other, filled.values)
        return None

    def _expand(self, name: str) -> ToolCall | None:
        """Return the call that brings older turns back, unless what is asked for is in the window."""
        if any(call["name"] == name for call in self._called):
            return self._next_page(name)
        summaries, place = self._prompt.of(_SUMMARIES), self._request.ordinal
        filled = self._fill(name)
        if any(str(value) in self._prompt.question for value in filled.values.values()):
            return self._calling(name, filled.values)
        if not summaries or (place is not None and place < 0 and self._prompt.of("Conversation")):
            return None
        if place is not None:
            chosen = summaries[0 if place >= 0 else -1].known["id"]
        elif filled.missing and quoting.matching(self._request, self._prompt.of("Conversation")):
            return None
        else:
            chosen = next(iter(filled.values.values()), summaries[-1].known["id"])
        return self._calling(name, {_summary_parameters(self._tools[name])[0]: chosen})

    def _next_page(self, name: str) -> ToolCall | None:
        """Return the call that the last result's first line names, if the answer is not on the pages seen so far."""
        head = str(self._prompt.results[-1].text).partition("\n")[0]
        more = re.search(rf"{re.escape(name)}\((.+?)\)", head)
        if not more or quoting.spoken(self._request, self._seen_in_results()):
            return None
        given = re.findall(r"(\w+)=(?:'([^']*)'|(\d+))", more[1])
        return self._calling(name, {key: text or int(number) for key, text, number in given})

    def _seen_in_results(self) -> list[Seen]:
        return [seen for result in self._prompt.results for seen in quoting.passages_of(result)]

    async def answer(self) -> str:
        """Answer by quotation."""
        notices = NOTICES[self._language()]
        body = await self._body(notices)
        return body if body == notices["talk"] else f"{body}\n\n{notices['offline']}"

    async def _body(self, notices: Mapping[str, str]) -> str:
        if self._kind == "history":
            talk = self._seen_in_results() if self._called else self._prompt.of("Conversation")
            quoted = [quoting.quote_message(seen) for seen in quoting.spoken(self._request, talk)]
            return "\n\n".join([notices["conversation"], *quoted]) if quoted else notices["nothing"]
        looked = self._kind == "answer" and {call["name"] for call in self._called} == {_RECALLS}
        looked = looked and not any(result.status == "error" for result in self._prompt.results)
        if self._prompt.results and not looked:
            return await self._from_results(notices)
        if self._lacking:
            name, missing = self._lacking
            known = self._tools[name]["parameters"]["properties"]
            told = [f"{m} ({known[m].get('description') or known[m].get('type') or 'any value'})" for m in missing]
            return notices["missing"].format(tool=name, what="; ".join(told))
        return notices["talk"] if self._kind == "talk" else await self._from_memory(notices)

    async def _from_results(self, notices: Mapping[str, str]) -> str:
        parts: list[str] = []
        for result in self._prompt.latest or self._prompt.results:
            head = notices["failed" if result.status == "error" else "result"].format(tool=result.name or "tool")
            if (lines := quoting.result_lines(str(result.text))) is None:
                found = quoting.passages_of(result)
                quotes, _ = await self._evidence(found, most=5)
                # The tool has found these for the request, be they like its words or not.
                quotes = quotes or quoting.as_found(found, most=3)
                lines = "\n".join(quote.render() for quote in quotes) or notices["nothing"]
            parts.append(f"{head}\n{lines}")
        return "\n\n".join(parts)

    async def _from_memory(self, notices: Mapping[str, str]) -> str:
        stored, talk = self._prompt.of("Knowledge Base"), self._prompt.of("Conversation")
        if self._kind == "overview" and (quotes := quoting.overview(self._prompt.question, stored, talk)):
            return "\n".join([notices["memory"], *(quote.render() for quote in quotes)])
        quotes, sure = await self._evidence([*self._seen_in_results(), *self._prompt.passages], most=3)
        if not quotes:
            return notices["nothing"]
        head = notices["memory"] if sure else notices["nearest"]
        return "\n".join([head, *(quote.render() for quote in quotes)])

    async def _evidence(self, passages: Sequence[Seen], most: int) -> tuple[list[quoting.Quote], bool]:
        question = self._prompt.question
        vector = await self._embedder.query(question)
        return await quoting.evidence(question, vector, passages, self._embedder, most)

    def _language(self) -> str:
        words = [word.low for i, word in enumerate(self._request.words) if not i or word.text[0].islower()]
        return "it" if sum(w in ITALIAN for w in words) > sum(w in FUNCTION - ITALIAN for w in words) else "en"


def _summary_parameters(tool: Tool) -> list[str]:
    parameters = (tool.get("parameters") or {}).get("properties") or {}
    return [n for n, p in parameters.items() if _SUMMARIES.lower() in words_of_name(n) and is_reference(n, p)]


def _lasts(statement: str) -> bool:
    """Tell whether a statement is of a kind that lasts: what somebody likes, or what is their own."""
    claim = parse(statement)
    return bool(_OWN.match(statement) and not _PASSING.match(statement)) or any(
        clause.slot or clause.liking for clause in claim.clauses
    )

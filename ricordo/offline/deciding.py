"""One decision of the offline model: call a tool, or answer by quotation."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from langchain_core.messages import ToolCall
from langchain_core.messages.tool import tool_call

from ricordo.common.words import terms, topical
from ricordo.models.embeddings import Embedder
from ricordo.offline import quoting
from ricordo.offline.arguments import Filled, fill, is_reference
from ricordo.offline.asking import ABOUT_ME, forced, pasted, whole
from ricordo.offline.extractive import summarise
from ricordo.offline.intent import Chooser, Embed, Examples, stem, words_of_name
from ricordo.offline.phrases import (
    FUNCTION,
    INTENT,
    ITALIAN,
    NOTICES,
    REQUESTS,
    SPEAKING,
    SUBJECTS,
    SUBJECTS_UNSPACED,
)
from ricordo.offline.request import Request
from ricordo.offline.seen import Prompt, Seen
from ricordo.stores.user_memory.firewall import share_of
from ricordo.stores.user_memory.firewall_words import FORGETS, KEEPS
from ricordo.stores.user_memory.stating import statements

_MOST_STEPS = 4  # tool calls of one turn
_SUMMARIES = "Summary"
_STORES = "remember"
_FORGETS = "forget"
# Tools that send words to others.
_NETWORK = re.compile(r"\b(?:web|internet|arxiv|online|https?|urls?)\b", re.IGNORECASE)
_OWN_THINGS = frozenset({_STORES, _FORGETS})
"""Tools that are called for what the user states or wants forgotten, and for nothing that merely sounds like it."""
_CATALOGUE = "read_toolbox"
_SHARED = 0.15  # of a memory's words: by so many the user names it
_RECALLS = "recall"

Tool = Mapping[str, Any]  # a function schema: name, description, parameters


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
        prompt = replace(prompt, question=whole(prompt))
        self._prompt = prompt
        self._tools = {str(tool["name"]): tool for tool in tools}
        self._request = Request(prompt.question, SPEAKING)
        self._called = [call for step in prompt.steps for call in step.tool_calls]
        self._kind = "answer"
        self._lacking: tuple[str, list[str]] | None = None

    async def calls(self, choice: Any) -> list[ToolCall]:
        """Return the tool calls to make, if any are needed and everything that they require is known."""
        must = choice in ("any", "required", True) or isinstance(choice, dict) or choice in self._tools
        name = await self._choose(choice) or await self._look()
        repeated = self._kind != "history" and any(call["name"] == name for call in self._called)
        if name is None or repeated or len(self._called) >= _MOST_STEPS:
            return []
        if self._kind == "history":
            return [call] if (call := self._expand(name)) else []
        if name in _OWN_THINGS and not must:
            if name == _STORES:
                return [self._calling(name, {"content": said}) for said in self._stated]
            return [self._calling(name, {"memory_id": i, "reason": self._prompt.question}) for i in self._unwanted()]
        filled = self._fill(name)
        if filled.missing and not must:
            self._lacking = (name, filled.missing)
            return [call] if (call := self._help_with(name)) else []
        # A call that is forced is made with the best that the request holds.
        return [self._calling(name, filled.values | forced(self._tools[name], filled.missing, self._request))]

    async def _choose(self, choice: Any) -> str | None:
        forced = choice.get("function", {}).get("name") if isinstance(choice, dict) else choice
        if forced in self._tools:
            return str(forced)
        if named := self._named():
            return named
        must = choice in ("any", "required", True)
        if not must and (told := self._own_matter()) is not None:
            return told or None
        reader = next((name for name, tool in self._tools.items() if _summary_parameters(tool)), None)
        chooser = Chooser(self._embedder, self._examples, self._known)
        asked = self._prompt.question
        scores = await chooser.scores(asked, list(self._tools.values()), {"history": reader} if reader else {})
        fit = [n for n in scores if (n in self._tools if must else n not in _OWN_THINGS and self._has_ground(n))]
        best = next((n for n in fit if self._is_subject(n)), None) or next(iter(fit), "answer")
        if best == _RECALLS and not must:
            best = "answer"  # where the window holds no evidence it is called all the same
        if best in ("help", _CATALOGUE) and not must:
            best = "help" if topical(terms(asked)) <= terms(" ".join(REQUESTS["help"])).keys() else "answer"
        self._kind = "history" if best == reader else best
        return best if best in self._tools else None

    def _own_matter(self) -> str | None:
        """Return the tool for what needs no choosing; an empty one where none is needed, None where one may be."""
        if not self._request.words:
            self._kind = "talk"
            return ""
        if self._stated and _STORES in self._tools:
            return _STORES
        if ABOUT_ME.search(self._prompt.question):
            return ""  # recall lists it all
        if self._wants_forgotten:
            self._lacking = None if self._unwanted() else (_FORGETS, ["memory_id"])
            self._kind = _FORGETS
            return "" if self._lacking else _FORGETS
        if pasted(self._prompt.question):
            self._kind = "summary"
            return ""
        return None

    def _has_ground(self, name: str) -> bool:
        """Tell whether a tool has its subject in the request, or in what it points at."""
        tool = self._tools.get(name)
        if tool is None or _summary_parameters(tool):
            return True
        examples, asked = self._examples(name), self._prompt.question
        told = f"{' '.join(words_of_name(name))} {tool.get('description')}"
        if _NETWORK.search(told):
            said = {word.low for word in self._request.words}
            if said & SUBJECTS or any(word in asked for word in SUBJECTS_UNSPACED):
                return True
        elif not examples or topical(terms(asked)) & terms(" ".join([told, *examples])).keys():
            return True
        points = [n for n, p in (tool["parameters"].get("properties") or {}).items() if is_reference(n, p)]
        return any(n in self._fill(name).values for n in points)

    def _is_subject(self, name: str) -> bool:
        """Tell whether the request names what a tool is about, by the words of the tool's own name."""
        if name not in self._tools or self._examples(name):
            return False
        own = [stem(w) for w in words_of_name(name) if w not in FUNCTION | INTENT]
        return bool(own) and set(own) <= {stem(w.text) for w in self._request.words}

    @cached_property
    def _stated(self) -> list[str]:
        return [] if self._wants_forgotten else statements(self._prompt.question)

    @property
    def _wants_forgotten(self) -> bool:
        return _FORGETS in self._tools and bool(FORGETS.search(KEEPS.sub(" ", self._prompt.question)))

    def _unwanted(self) -> list[str]:
        """Return the ids of the memory that the user wants forgotten: the one that shares most with the request."""
        asked = self._prompt.question
        passages = self._prompt.of("User")
        fits = [share_of(seen.text, asked) for seen in passages]
        best = max(fits, default=0.0)
        named = [s.known["id"] for s, fit in zip(passages, fits, strict=True) if fit == best and fit >= _SHARED]
        return named if len(named) == 1 else []

    async def _look(self) -> str | None:
        """Return the tool that looks into user memory, for a question that the window does not answer."""
        if self._kind != "answer" or _RECALLS not in self._tools or self._called or self._wants_forgotten:
            return None
        return None if self._request.says_topic and await self._evidence(self._prompt.passages) else _RECALLS

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
        return body if body in (notices["talk"], notices["help"]) else f"{body}\n\n{notices['offline']}"

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
        if self._kind == "summary":
            found = summarise([("user", pasted(self._prompt.question))], 120)  # tokens
            said = [found.purpose, *found.facts, *found.decisions, *found.open_items]
            return "\n".join([notices["memory"], *(f'- "{sentence}"' for sentence in said if sentence)])
        return notices[self._kind] if self._kind in ("talk", "help") else await self._from_memory(notices)

    async def _from_results(self, notices: Mapping[str, str]) -> str:
        parts: list[str] = []
        for result in self._prompt.latest or self._prompt.results:
            head = notices["failed" if result.status == "error" else "result"].format(tool=result.name or "tool")
            if (lines := quoting.result_lines(str(result.text))) is None:
                found = quoting.passages_of(result)
                quotes = await self._evidence(found)
                # The tool has found these for the request, be they like its words or not.
                quotes = quotes or quoting.as_found(found, most=3)
                lines = "\n".join(quote.render() for quote in quotes) or notices["nothing"]
            parts.append(f"{head}\n{lines}")
        return "\n\n".join(parts)

    async def _from_memory(self, notices: Mapping[str, str]) -> str:
        stored, talk = self._prompt.of("Knowledge Base"), self._prompt.of("Conversation")
        if self._kind == "overview" and (quotes := quoting.overview(self._prompt.question, stored, talk)):
            return "\n".join([notices["memory"], *(quote.render() for quote in quotes)])
        looked = self._seen_in_results()
        if not self._request.says_topic:  # "What do you know about me?" asks for all there is
            told = {seen.text: seen for seen in [*self._prompt.of("User"), *looked]}.values()
            if facts := [seen for seen in told if "id" in seen.known]:
                return "\n".join([notices["memory"], *(quoting.Quote(seen.text, seen).render() for seen in facts)])
        quotes = await self._evidence([*looked, *self._prompt.passages])
        return "\n".join([notices["memory"], *(quote.render() for quote in quotes)]) if quotes else notices["nothing"]

    async def _evidence(self, passages: Sequence[Seen]) -> list[quoting.Quote]:
        question = self._prompt.question
        own = [seen for seen in passages if seen.segment in {"User", _RECALLS} or seen.role == "user"]
        if self._request.is_personal and (found := await quoting.evidence(question, own, self._embedder)):
            return found
        return [] if self._request.is_own else await quoting.evidence(question, passages, self._embedder)

    def _language(self) -> str:
        words = [word.low for i, word in enumerate(self._request.words) if not i or word.text[0].islower()]
        return "it" if sum(w in ITALIAN for w in words) > sum(w in FUNCTION - ITALIAN for w in words) else "en"


def _summary_parameters(tool: Tool) -> list[str]:
    parameters = (tool.get("parameters") or {}).get("properties") or {}
    return [n for n, p in parameters.items() if _SUMMARIES.lower() in words_of_name(n) and is_reference(n, p)]

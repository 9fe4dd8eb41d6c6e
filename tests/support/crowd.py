"""Users who do whatever memory lets them do, at once, and check that they never meet each other's rows."""

import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from ricordo.common.errors import NotFoundError, ThreadOwnerError
from ricordo.common.text import make_id
from ricordo.stores.conversation import thread_key
from ricordo.stores.entity import Entity
from ricordo.stores.manager import MemoryManager
from ricordo.stores.summary import NewSummary
from ricordo.stores.tool_log import LoggedCall
from ricordo.stores.turn import Turn
from ricordo.stores.user_memory.work import Importance, Said
from tests.support.crowd_sql import PlainSQL

LOUD = frozenset({"ab", "a%", "'; --"})
"""Users who also change and delete without saying which rows."""
EVERYONE_MARK = "zzeveryonezz"

_MARK = re.compile(r"zz[a-z0-9]+zz", re.IGNORECASE)
_WORDS = ["gull", "tern", "auk", "fulmar", "petrel", "skua", "lamp", "berth", "tide", "keel"]
LEVELS: tuple[Importance, ...] = ("low", "medium", "high")
_THREADS = ("1", "2", "diary")


@dataclass
class World:
    """What all of them know of each other: the ids of everybody's rows."""

    ids: list[UUID] = field(default_factory=list)
    threads: dict[UUID, str] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)


class Somebody(PlainSQL):
    """One user, with what this user has written and must still find."""

    def __init__(self, number: int, manager: MemoryManager, world: World, seed: int) -> None:
        self.mark = f"zz{number}zz"
        self.user = manager.user_id
        self.memory = manager
        self.world = world
        self.dice = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
        self.kept: dict[str, set[UUID]] = {}
        self.memories: list[str] = []
        self.documents: list[UUID] = []
        self.runs = 0

    async def act(self) -> None:
        """Do one thing of all that can be done."""
        doings: list[Callable[[], Awaitable[None]]] = [
            self.talk,
            self.listen,
            self.claim,
            self.file,
            self.look_up,
            self.tidy_documents,
            self.work,
            self.find_work,
            self.name,
            self.find_names,
            self.summarise,
            self.expand,
            self.log,
            self.read_log,
            self.finish,
            self.remember,
            self.recall,
            self.revise,
            self.forget,
            self.look_back,
            self.read_all,
            self.pry,
            self.intrude,
        ]
        if self.user in LOUD:
            doings += [self.overwrite_all, self.delete_all]
        doing = self.dice.choice(doings)
        await doing()
        self.world.done[doing.__name__] += 1

    # What it says and checks

    def says(self) -> str:
        return f"{' '.join(self.dice.choices(_WORDS, k=5))} {self.dice.randrange(10**6)} {self.mark}"

    def check(self, *seen: object, everyone: bool = False) -> None:
        allowed = {self.mark, EVERYONE_MARK} if everyone else {self.mark}
        foreign = set(map(str.lower, _MARK.findall(repr(seen)))) - allowed
        assert not foreign, f"{self.user!r} saw {foreign}"

    def keep(self, table: str, key: UUID) -> UUID:
        self.kept.setdefault(table, set()).add(key)
        self.world.ids.append(key)
        return key

    @property
    def thread(self) -> str:
        return self.dice.choice(_THREADS)

    def key(self, thread: str) -> UUID:
        key = thread_key(self.user, thread)
        if self.user not in LOUD:  # whose threads may be gone, and then belong to whoever claims them
            self.world.threads[key] = self.user
        return key

    def any_id(self) -> str:
        return str(self.dice.choice(self.world.ids) if self.world.ids else uuid4())

    # Conversation

    async def talk(self) -> None:
        thread = self.thread
        self.key(thread)
        message = await self.memory.write_conversational_memory(thread, "user", self.says())
        self.keep("messages", message)

    async def listen(self) -> None:
        for thread in _THREADS:
            self.check(await self.memory.read_conversational_memory(thread))
        self.check(await self.memory.threads())

    async def claim(self) -> None:
        """Try to go on in a thread of whoever it is."""
        if not self.world.threads:
            return
        key, owner = self.dice.choice(list(self.world.threads.items()))
        try:
            await self.memory.claim_thread(str(key))
        except ThreadOwnerError:
            assert owner != self.user
        else:
            assert owner == self.user

    # Documents

    async def file(self) -> None:
        source = f"{self.dice.choice(_WORDS)}.txt"
        document = await self.memory.write_knowledge_base(self.says(), {"source": source, "title": self.says()})
        self.documents.append(self.keep("documents", document))

    async def look_up(self) -> None:
        self.check(await self.memory.read_knowledge_base(self.says(), 20), everyone=True)
        self.check(await self.memory.knowledge_base.documents(self.user), everyone=True)
        self.check(await self.memory.knowledge_base.find(self.user, f"{self.dice.choice(_WORDS)}.txt"))

    async def tidy_documents(self) -> None:
        key = UUID(self.any_id())
        with suppress(NotFoundError):
            await self.memory.knowledge_base.delete(self.user, key)
            assert key in self.documents, "a document of another was deleted"
            self.kept.get("documents", set()).discard(key)

    # Workflows, entities, summaries, the log, the turn

    async def work(self) -> None:
        self.runs += 1
        step = {"tool": self.mark, "args": {"what": "x"}, "status": "success"}
        run = f"run {self.runs}"
        self.keep("workflow", await self.memory.write_workflow(self.thread, run, self.says(), [step], self.says()))

    async def find_work(self) -> None:
        self.check(await self.memory.read_workflow(self.says(), 20))

    async def name(self) -> None:
        message = await self.memory.write_conversational_memory(self.thread, "user", self.says())
        self.keep("messages", message)
        name = self.dice.choice(_WORDS).title()
        await self.memory.write_entity([Entity(name, "name", self.says())], message)

    async def find_names(self) -> None:
        self.check(await self.memory.read_entity(self.says(), 20))

    async def summarise(self) -> None:
        thread = self.thread
        said = await self.memory.read_conversational_memory(thread)
        await self.memory.claim_thread(thread)
        covers = [UUID(passage.id) for passage in said[:3]]
        new = NewSummary(make_id(self.user, *covers, uuid4()), self.key(thread), self.says(), self.says(), covers)
        if await self.memory.write_summary(new):
            self.keep("summary", new.id)

    async def expand(self) -> None:
        for thread in _THREADS:
            self.check(await self.memory.summaries(thread), await self.memory.read_summary_context(thread))
        await self._expect_own(self.memory.read_summary_memory)

    async def log(self) -> None:
        thread = self.thread
        await self.memory.claim_thread(thread)
        self.runs += 1
        call = LoggedCall(self.key(thread), f"run {self.runs}", 1, "c", self.mark, {"said": self.says()})
        if self.dice.random() < 0.5:
            self.check(await self.memory.begin_tool_call(call))
        self.keep("tool_log", await self.memory.write_tool_log(call, "success", self.says()))

    async def read_log(self) -> None:
        await self._expect_own(self.memory.read_tool_log)
        self.check(await self.memory.tool_outputs([self.any_id() for _ in range(5)]))
        self.check(await self.memory.tool_calls(self.thread, f"run {self.dice.randrange(5)}"))

    async def finish(self) -> None:
        thread = self.thread
        question = await self.memory.write_conversational_memory(thread, "user", self.says())
        self.keep("messages", question)
        run = str(uuid4())
        entities = [Entity(self.dice.choice(_WORDS).title(), "name", self.says())]
        step = {"tool": "t", "args": {}, "status": "success"}
        turn = Turn(self.key(thread), run, question, self.says(), self.says(), "answer", [step], entities)
        await self.memory.finish_turn(turn)
        self.keep("messages", turn.answer_id)
        self.check(await self.memory.read_turn(thread, run, question))
        self.check(await self.memory.read_turn(thread, run, UUID(self.any_id())))

    # User memory

    async def remember(self) -> None:
        importance: Importance = self.dice.choice(LEVELS)
        said = Said(self.says(), importance=importance, tags=[self.mark], origin="user")
        outcome = await self.memory.user_memory.remember(said, actor="user", reason=self.mark)
        self.check(outcome)
        self.memories.append(str(outcome.memory["id"]))
        self.world.ids.append(outcome.memory["id"])

    async def recall(self) -> None:
        own = self.memory.user_memory
        self.check(await own.recall(self.says(), 20), await own.recall(self.says(), 20, shared=True))
        self.check(await own.critical(), await self.memory.read_user_memory(), await own.nearest(self.says(), 20))

    async def revise(self) -> None:
        with suppress(NotFoundError):
            self.check(await self.memory.user_memory.update(self.any_id(), content=self.says(), actor="user"))

    async def forget(self) -> None:
        with suppress(NotFoundError):
            self.check(await self.memory.user_memory.forget(self.any_id(), self.mark, actor="user"))
            if self.dice.random() < 0.5:
                self.check(await self.memory.user_memory.undo(days=1))

    async def look_back(self) -> None:
        own = self.memory.user_memory
        self.check(await own.list(), await own.history(), await own.stats())
        await self._expect_own(own.show)
        await self._expect_own(own.find)

    async def _expect_own(self, read: Callable[[str], Awaitable[object]]) -> None:
        """Read by an id of whoever it is: what is another's is not there."""
        with suppress(NotFoundError):
            self.check(await read(self.any_id()))

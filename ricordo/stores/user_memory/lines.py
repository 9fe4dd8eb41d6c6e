"""One line of an export of user memory: what it may hold, and what is wrong with it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from ricordo.common.errors import InputError
from ricordo.common.text import clean
from ricordo.stores.user_memory.history import Action, Actor
from ricordo.stores.user_memory.truth import Origin
from ricordo.stores.user_memory.work import LONGEST, Importance, Type, tidy


def _in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


_Moment = Annotated[datetime, AfterValidator(_in_utc)]
_Text = Annotated[str, AfterValidator(clean)]
_Tags = Annotated[list[str], AfterValidator(tidy)]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    user_id: str | None = None
    """Whose it was. Another user gets memories with ids of their own."""


class SourceLine(BaseModel):
    """Where a memory comes from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    origin: Origin
    wording: _Text
    said_at: _Moment
    thread_id: UUID | None = None
    message_id: UUID | None = None


class MemoryLine(_Line):
    """A memory; `content` alone is enough."""

    kind: Literal["memory"] = "memory"
    id: UUID | None = None
    content: _Text = Field(min_length=1, max_length=LONGEST, pattern=r"\S")
    type: Type = "fact"
    importance: Importance = "medium"
    tags: _Tags = []
    origin: Origin = "import"
    thread_id: UUID | None = None
    message_id: UUID | None = None
    created_at: _Moment | None = None
    updated_at: _Moment | None = None
    valid_from: _Moment | None = None
    valid_to: _Moment | None = None
    superseded_by: UUID | None = None
    deleted_at: _Moment | None = None
    delete_reason: _Text | None = None
    said_on: date | None = None
    sources: list[SourceLine] = []

    @model_validator(mode="after")
    def _is_in_order(self) -> "MemoryLine":
        if self.valid_to and self.valid_from and self.valid_to < self.valid_from:
            raise ValueError("valid_to lies before valid_from")
        if self.superseded_by and not (self.valid_to and self.id):
            raise ValueError("what was superseded has an id and a valid_to")
        return self


class EventLine(_Line):
    """An entry of the audit trail."""

    kind: Literal["event"]
    id: UUID
    at: _Moment
    actor: Actor
    action: Action
    memory_id: UUID | None = None
    thread_id: UUID | None = None
    reason: _Text = ""
    detail: dict[str, Any] = {}


def _kind(value: Any) -> str:
    return str(value.get("kind", "memory")) if isinstance(value, dict) else "memory"


_KINDS: dict[str, TypeAdapter[MemoryLine] | TypeAdapter[EventLine]] = {
    "memory": TypeAdapter(MemoryLine),
    "event": TypeAdapter(EventLine),
}
_JSON: TypeAdapter[Any] = TypeAdapter(Any)


def read_lines(lines: Iterable[str]) -> Iterator[tuple[int, MemoryLine | EventLine]]:
    """Read an export, with the number of each line.

    Raises:
        InputError: A line is none of ours; the message names it.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = _JSON.validate_json(line.lstrip("\ufeff"))
            yield number, _KINDS.get(_kind(value), _KINDS["memory"]).validate_python(value, strict=False)
        except (ValidationError, InputError) as error:
            raise InputError(
                f"Line {number} cannot be imported: {_what_is_wrong(error)} Nothing was imported: mend the line, or "
                "take it out."
            ) from None


def _what_is_wrong(error: ValidationError | InputError) -> str:
    if isinstance(error, InputError):
        return str(error)
    first = error.errors(include_url=False)[0]
    return f"{': '.join(filter(None, ['.'.join(map(str, first['loc'])), first['msg']]))}."

"""What a new memory means for those that are there: the same, the opposite, or nothing to do with them.

No model is asked and no closeness of vectors counts: embeddings put *loves jazz* as near to *loves green tea* as to
*hates jazz*. A statement contradicts another only where both are about the same thing, word for word.
"""

from enum import Enum, auto
from typing import Literal

from ricordo.stores.user_memory.claims import Claim, Clause, Token, alike

Origin = Literal["user", "agent", "tool", "import"]
_TRUST = {"user": 2, "import": 2, "agent": 1, "tool": 0}
_MOST_ALIKE = 0.5
"""Share of words that two statements must have in common before a model's word counts."""


class Relation(Enum):
    """How a new statement stands to an old one."""

    SAME = auto()
    CONTRADICTS = auto()
    UNRELATED = auto()


def relation(new: Claim, old: Claim) -> Relation:
    """Compare two statements.

    An old statement of several parts is never contradicted: what is wrong with one of them says nothing of the others.
    """
    if _same(new, old):
        return Relation.SAME
    if len(old.clauses) == 1 and any(_contradicts(clause, old.clauses[0]) for clause in new.clauses):
        return Relation.CONTRADICTS
    return Relation.UNRELATED


def _same(new: Claim, old: Claim) -> bool:
    if new.slot and new.slot == old.slot:
        return _same_value(new.clauses[0], old.clauses[0])
    return len(new.clauses) == len(old.clauses) and all(
        (a.liking, a.negated, a.torn) == (b.liking, b.negated, b.torn) and a.tokens and alike(a.tokens, b.tokens)
        for a, b in zip(new.clauses, old.clauses, strict=True)
    )


def _same_value(new: Clause, old: Clause) -> bool:
    """Tell whether one slot is given the same value; *Rome* is known where *Rome, Italy* is."""
    known = old.value[: len(new.value)] if new.slot and new.slot.endswith(" home") else old.value
    return bool(new.value) and alike(new.value, known)


def _contradicts(new: Clause, old: Clause) -> bool:
    if new.torn or old.torn or not old.tokens:
        return False
    if new.slot and new.slot == old.slot and old.whole:
        return not _same_value(new, old)
    kinds_agree = (new.liking is None) == (old.liking is None)
    return kinds_agree and new.sign != old.sign and alike(new.tokens, old.tokens, Token.near)


def near(new: Claim, old: Claim) -> bool:
    """Tell whether two statements have enough in common for a model to be believed that one replaces the other."""
    if new.slot and new.slot == old.slot:
        return True
    a, b = _all_tokens(new), _all_tokens(old)
    shared = sum(any(token.near(other) for other in b) for token in a)
    return shared > 0 and shared >= _MOST_ALIKE * (len(a) + len(b) - shared)


def _all_tokens(claim: Claim) -> list[Token]:
    return list({token.stem: token for clause in claim.clauses for token in clause.tokens}.values())


def may_replace(new: str, old: str) -> bool:
    """Tell whether a memory of one origin may retire one of another: what the user said, only the user changes."""
    return _TRUST[new] >= _TRUST[old]

"""What a user's id may be: ids are compared whole, so two that look alike must not both be ids."""

import unicodedata

from ricordo.common.errors import InputError

_LONGEST = 256
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def assert_identity(user_id: str) -> None:
    r"""Refuse an id that looks like another one; it is never made into that other one.

    Raises:
        InputError: It is empty or too long, begins or ends with a blank, or has characters that do not show.

    >>> assert_identity("anna of the harbour")
    """
    blank = user_id.strip() != user_id or any(c.isspace() and c != " " for c in user_id)
    if 0 < len(user_id) <= _LONGEST and not blank and _UNSEEN.isdisjoint(map(unicodedata.category, user_id)):
        return
    raise InputError(
        f"A user id has 1 to {_LONGEST} characters, all of them to be seen, and no blank at its beginning or end; "
        f"{user_id[:40]!a}, of {len(user_id)}, is none. Choose another one."
    )

"""Dates and times as people and models write them, in the user's zone, to moments in UTC and back."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from ricordo.common.errors import InputError

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_MONTH = re.compile(r"(\d{4})-(\d{2})")
_YEAR = re.compile(r"\d{4}")
_TICK = timedelta(microseconds=1)


def zone_of(name: str) -> tzinfo:
    """Return the time zone of an IANA name, UTC where there is none of that name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not fit for a path; a folder
        return UTC


def begin_of(text: str, zone: tzinfo | None) -> datetime:
    """Read the beginning of what is meant: a day, month or year begins at midnight, a moment is itself.

    Args:
        text: `2026-11-30`, `2026-11`, `2026`, or a moment in ISO 8601; without an offset it is of the zone.
        zone: The user's; None: that of this machine.

    Returns:
        The moment, in UTC.

    Raises:
        InputError: It is no date.
    """
    return _span(text, zone)[0]


def end_of(text: str, zone: tzinfo | None) -> datetime:
    """Read the end of what is meant, the last moment that belongs to it: a day, month or year is meant as a whole.

    Arguments, result and errors as for `begin_of`.
    """
    return _span(text, zone)[1]


def _span(text: str, zone: tzinfo | None) -> tuple[datetime, datetime]:
    said = text.strip()
    try:
        if _DAY.fullmatch(said):
            first = date.fromisoformat(said)
            return _days(first, first + timedelta(days=1), zone)
        if found := _MONTH.fullmatch(said):
            first = date(int(found[1]), int(found[2]), 1)
            return _days(first, (first + timedelta(days=31)).replace(day=1), zone)
        if _YEAR.fullmatch(said):
            return _days(date(int(said), 1, 1), date(int(said) + 1, 1, 1), zone)
        moment = datetime.fromisoformat(said)
        utc = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            f"'{text[:40]}' is no date. Write a day (2026-11-30), a month (2026-11), a year, or a moment in ISO 8601 "
            "(2026-11-30T18:00, or 2026-11-30T18:00+01:00); 'last week' has to be put into two such dates."
        ) from None
    return utc, utc


def _days(first: date, after: date, zone: tzinfo | None) -> tuple[datetime, datetime]:
    begin, end = (datetime.combine(day, time(), zone).astimezone(UTC) for day in (first, after))
    return begin, end - _TICK

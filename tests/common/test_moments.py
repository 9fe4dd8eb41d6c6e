"""Dates as people write them, in their own zone."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from ricordo.common.errors import InputError
from ricordo.common.moments import begin_of, end_of, zone_of

ROME = ZoneInfo("Europe/Rome")


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("2026-11-30", "2026-11-29T23:00", "2026-11-30T22:59:59.999999"),
        ("2026-03-29", "2026-03-28T23:00", "2026-03-29T21:59:59.999999"),  # the day has 23 hours
        ("2026-02", "2026-01-31T23:00", "2026-02-28T22:59:59.999999"),
        ("2026", "2025-12-31T23:00", "2026-12-31T22:59:59.999999"),
        ("2026-07-01T18:00", "2026-07-01T16:00", "2026-07-01T16:00"),
        ("2026-07-01T18:00-05:00", "2026-07-01T23:00", "2026-07-01T23:00"),
        (" 2026-07-01 18:00Z ", "2026-07-01T18:00", "2026-07-01T18:00"),
    ],
)
def test_a_day_is_meant_as_a_whole_and_a_moment_as_it_is(text: str, begin: str, end: str) -> None:
    assert begin_of(text, ROME) == datetime.fromisoformat(begin).replace(tzinfo=UTC)
    assert end_of(text, ROME) == datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "last week", "2026-13-01", "2026-02-30", "0000", "30/11/2026", "9999-12-31"])
def test_what_is_no_date_is_told_with_examples(text: str) -> None:
    with pytest.raises(InputError, match="2026-11-30"):
        end_of(text, ROME)


def test_an_unknown_zone_is_utc() -> None:
    assert zone_of("Atlantis/Centre") is UTC
    assert zone_of("../etc") is UTC
    assert zone_of("Europe/Rome") == ROME

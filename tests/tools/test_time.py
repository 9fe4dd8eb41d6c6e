import re
from datetime import UTC, datetime

import pytest

from ricordo.tools.time import get_current_time
from tests.tools.conftest import MakeRuntime


async def test_the_time_is_told_in_the_users_zone(runtime: MakeRuntime) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    told = await get_current_time(runtime=runtime(timezone="Asia/Kathmandu"))
    found = re.fullmatch(r"(\S+ \S+) \(Asia/Kathmandu\)", told)
    assert found
    there = datetime.fromisoformat(f"{found[1]}+05:45")
    assert before <= there <= datetime.now(UTC)


async def test_the_details_are_those_of_one_moment(runtime: MakeRuntime) -> None:
    first, *lines = (await get_current_time(detailed=True, runtime=runtime(timezone="Europe/Rome"))).splitlines()
    details = dict(line.split(": ", 1) for line in lines)
    moment = datetime.fromisoformat(details["ISO 8601"])
    assert first.startswith(f"{moment:%Y-%m-%d %H:%M:%S}")
    assert details["week"] == f"{moment:%G-W%V}"
    assert details["day of the year"] == str(int(f"{moment:%j}"))
    assert details["weekday"] == f"{moment:%A}"
    assert details["UTC"] == f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    assert details["Unix time"] == str(int(moment.timestamp()))


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../etc/passwd", "Europe", "\x00"])
async def test_an_unknown_zone_gives_utc_and_says_so(runtime: MakeRuntime, zone: str) -> None:
    told = await get_current_time(runtime=runtime(timezone=zone))
    assert "(UTC) - " in told
    assert "Europe/Rome" in told


async def test_without_a_zone_it_is_utc(runtime: MakeRuntime) -> None:
    assert (await get_current_time(runtime=runtime())).endswith("(UTC)")

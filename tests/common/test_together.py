import asyncio

import pytest

from ricordo.common.together import together


async def value(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def test_results_come_in_order() -> None:
    assert await together(value(1), value(2), value(3)) == [1, 2, 3]


async def test_the_first_error_comes_out_as_it_is_and_stops_the_rest() -> None:
    stopped = asyncio.Event()

    async def long() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.set()

    async def fails() -> None:
        await asyncio.sleep(0.01)
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        await together(long(), fails())
    assert stopped.is_set()

import time

import pytest

from ricordo.graph.limits import Limits, seconds_left
from ricordo.graph.state import State

_LIMITS = Limits("offline", "o200k_base", 32_000, 3_200, 25_600, 16_000, 2, 10, 4_000, 10, 300, 6, 18, 1.0)


def test_a_clock_that_is_set_back_or_ahead_moves_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    state = State(messages=[], started_at=time.monotonic() - 400)
    for set_to in (0.0, time.time() + 1e6):
        monkeypatch.setattr(time, "time", lambda set_to=set_to: set_to)
        assert seconds_left(state, _LIMITS) < 0
        assert seconds_left(State(messages=[]), _LIMITS) == pytest.approx(_LIMITS.deadline_seconds)

"""Another answer counts only after it was found for a stated time, and always within half a minute."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.checkpoints.obstacles import HOLD, UNKNOWN_HOLD, Held, Readiness, follow
from tests.jobs.replication.pictures import NOW

R, C, U, B, N = (
    Readiness.READY,
    Readiness.WARNING,
    Readiness.UNKNOWN,
    Readiness.BLOCKED,
    Readiness.NOT_COVERED,
)


def counted(*found: tuple[int, Readiness]) -> str:
    """Return the first letter of what counts after each round; rounds are (second, what was found)."""
    held, letters = None, []
    for second, readiness in found:
        held = follow(held, readiness, NOW + timedelta(seconds=second))
        letters.append(held.counts.value[0])
    return "".join(letters)


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        pytest.param([(0, B)], "b", id="the first answer counts at once"),
        pytest.param([(0, R), (10, B)], "rr", id="one round changes nothing"),
        pytest.param([(0, R), (10, B), (15, B)], "rrb", id="two rounds five seconds apart do"),
        pytest.param([(0, R), (10, B), (12, B)], "rrr", id="two rounds right after another do not"),
        pytest.param([(0, B), (10, R), (15, R)], "bbr", id="a better answer is held as long"),
        pytest.param([(0, R), (10, B), (20, R), (30, B)], "rrrr", id="what comes and goes"),
        pytest.param([(0, R), (10, N), (15, N)], "rrn", id="a group that counts no more"),
        pytest.param([(0, R), (10, U), (20, U), (35, U)], "rrrr", id="a missing number may come"),
        pytest.param([(0, R), (10, U), (25, U), (40, U)], "rrru", id="one that stays away counts"),
        pytest.param([(0, U), (10, R), (15, R)], "uur", id="a number that is there again"),
        pytest.param(
            [(0, R), (10, U), (20, C), (30, B), (40, U)], "rrrru", id="never ready, each time other"
        ),
        pytest.param([(0, R), (10, U), (15, B), (20, B)], "rrrb", id="worse while it is held"),
    ],
)
def test_what_counts_after_each_round(rounds, expected):
    assert counted(*rounds) == expected


def test_what_was_found_is_told_with_its_time():
    held = follow(follow(Held(R), B, NOW), U, NOW + HOLD / 5)
    assert (held.counts, held.found, held.found_since, held.differs_since) == (
        R, U, NOW + HOLD / 5, NOW,
    )  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(5, 15), st.sampled_from([R, C, U, B])), min_size=1, max_size=60)
)
def test_no_answer_counts_longer_than_half_a_minute_after_it_was_last_found(steps):
    held, now, last = Held(R), NOW, NOW
    for seconds, found in steps:
        now += timedelta(seconds=seconds)
        held = follow(held, found, now)
        last = now if found is held.counts else last
        assert now - last < UNKNOWN_HOLD + timedelta(seconds=15)

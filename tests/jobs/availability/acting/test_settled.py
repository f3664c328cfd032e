"""An effect that one broker has told is not denied by another one that is a moment behind."""

import asyncio

import pytest

from jobs.availability.acting.cluster_connections import settled
from jobs.availability.acting.plans import Verdict


@pytest.mark.parametrize(
    ("told", "within_s", "expected"),
    [
        pytest.param([True], 0, True, id="there at the first look"),
        pytest.param([False, False, True], 60, True, id="two brokers are behind"),
        pytest.param([False, False], 0, False, id="not there when the time is over"),
        pytest.param([False, True], 0, True, id="the last look counts"),
    ],
)
def test_a_verdict_is_asked_again_while_the_effect_is_not_there(told, within_s, expected):
    looks = iter(told)

    async def look():
        return Verdict(next(looks), "", {})

    assert asyncio.run(settled(look, within_s)).is_there is expected
    assert next(looks, None) is None

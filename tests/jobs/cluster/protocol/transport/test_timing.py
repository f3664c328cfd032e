"""Back-off grows to its limit, and tries end with their budget."""

import pytest

from jobs.cluster.protocol.transport.timing import Backoff, RetryBudget, Timing


@pytest.mark.parametrize(
    ("chance", "factor"), [pytest.param(0.0, 0.8, id="least"), pytest.param(1.0, 1.2, id="most")]
)
def test_a_pause_doubles_up_to_the_longest_with_jitter(chance, factor):
    timing = Timing(backoff_first_s=0.1, backoff_longest_s=1.0, chance=lambda: chance)
    backoff = Backoff(timing)
    pauses = [backoff.next_s() for _ in range(6)]
    assert pauses == pytest.approx([n * factor for n in (0.1, 0.2, 0.4, 0.8, 1.0, 1.0)])


def test_a_pause_never_overflows():
    backoff = Backoff(Timing(backoff_longest_s=2.0, chance=lambda: 0.5))
    assert max(backoff.next_s() for _ in range(2000)) == 2.0


def test_a_pause_begins_again_after_a_success():
    backoff = Backoff(Timing(backoff_first_s=0.1, chance=lambda: 0.5))
    backoff.next_s()
    backoff.reset()
    assert backoff.next_s() == pytest.approx(0.1)


async def test_tries_end_without_a_pause_that_the_budget_does_not_have():
    now = [100.0]
    timing = Timing(
        backoff_first_s=0.001, backoff_longest_s=0.001, clock=lambda: now[0], chance=lambda: 0.5
    )
    tries = RetryBudget(timing, budget_s=5.0)
    assert await tries.pause()
    now[0] += 4.9995
    assert not await tries.pause()
    assert 0 < tries.left_s() < 0.001

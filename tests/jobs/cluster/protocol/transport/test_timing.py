"""Back-off grows to its limit, and tries end with their budget."""

import pytest

from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.transport.timing import (
    LASTING_S,
    QUIET_S,
    Backoff,
    Patience,
    RetryBudget,
    Timing,
)
from tests.support import Clock


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


def fault(remedy: Remedy) -> ClusterFault:
    found = ClusterFault("no", cluster="east")
    found.remedy = remedy
    return found


@pytest.mark.parametrize(
    ("remedy", "settings", "ends_after_s"),
    [
        pytest.param(Remedy.FINAL, {}, 0, id="final"),
        pytest.param(Remedy.FINAL, {"has_worked": True}, LASTING_S, id="final, it worked before"),
        pytest.param(Remedy.DOUBTFUL, {}, LASTING_S, id="doubtful"),
        pytest.param(Remedy.DOUBTFUL, {"has_worked": True}, None, id="doubtful, it worked before"),
        pytest.param(Remedy.OPERATOR, {}, None, id="a person may act"),
        pytest.param(Remedy.OPERATOR, {"waits_for_people": False}, LASTING_S, id="it must end"),
        pytest.param(Remedy.RETRY, {"waits_for_people": False}, None, id="retriable"),
        pytest.param(Remedy.START_OVER, {"waits_for_people": False}, None, id="a new beginning"),
    ],
)
def test_patience_ends_by_what_would_end_the_fault(remedy, settings, ends_after_s):
    clock = Clock()
    patience = Patience(**{"waits_for_people": True, "clock": clock} | settings)
    ended = []
    for clock.now in (0, LASTING_S - 1, LASTING_S, 2 * LASTING_S):
        if patience.is_over(fault(remedy)):
            ended.append(clock.now)
    assert ended[:1] == ([] if ends_after_s is None else [ends_after_s])


def test_faults_with_a_long_quiet_time_between_them_do_not_last():
    clock = Clock()
    patience = Patience(waits_for_people=True, has_worked=True, clock=clock)
    for clock.now in (0, QUIET_S, 2 * QUIET_S):
        assert not patience.is_over(fault(Remedy.FINAL))


def test_patience_begins_again_after_a_success_and_with_another_kind_of_fault():
    clock = Clock()
    patience = Patience(waits_for_people=False, clock=clock)
    assert not patience.is_over(fault(Remedy.OPERATOR))
    clock.now = LASTING_S
    assert not patience.is_over(fault(Remedy.RETRY))
    assert not patience.is_over(fault(Remedy.OPERATOR))
    clock.now += LASTING_S
    patience.succeeded()
    assert not patience.is_over(fault(Remedy.OPERATOR))
    assert not patience.is_over(fault(Remedy.FINAL))

"""What a change counts for which broker."""

import pytest

from jobs.availability.status.partition_seen import Churn, churn_of
from tests.jobs.availability.status.moments import seen


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        pytest.param((1, 2, 3), seen(1, 1, 2), {3: Churn(shrinks=1)}, id="a follower left"),
        pytest.param((1, 2), seen(1, 1, 2, 3), {3: Churn(expands=1)}, id="it came back"),
        pytest.param((1, 2, 3), seen(1, 2, 3), {
            1: Churn(shrinks=1, leaders_lost=1), 2: Churn(leaders_won=1),
        }, id="the leader went"),
        pytest.param((1, 2, 3), seen(1, 2, 1, 3), {
            1: Churn(leaders_lost=1), 2: Churn(leaders_won=1),
        }, id="leadership moved"),
        pytest.param((1,), seen(1, 3, is_unclean=True), {
            1: Churn(shrinks=1, leaders_lost=1), 3: Churn(expands=1, leaders_won=1, unclean=1),
        }, id="an unclean election"),
        pytest.param((1, 2, 3), seen(1, 1, 2, replicas=(1, 2)), {}, id="a reassignment took it out"),
    ],
)  # fmt: skip
def test_a_change_counts_for_the_brokers_that_it_moves(before, after, counted):
    found: dict[int, Churn] = {}
    for broker, churn in churn_of(seen(0, *before), after):
        found.setdefault(broker, Churn()).add(churn)
    assert found == counted

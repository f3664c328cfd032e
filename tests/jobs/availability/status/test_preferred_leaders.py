"""A broker that lost its leaders for longer than the controller needs to give them back is unbalanced."""

import pytest

from jobs.availability.status.preferred_leaders import (
    CHECK_INTERVAL_MS,
    LeaderShare,
    leader_shares,
    watch_leaders,
)
from jobs.availability.what_if.model.cluster import BrokerModel, ClusterModel, PartitionModel

ALIVE = {number: BrokerModel(number) for number in (1, 2, 3)}
SECOND = 1000
LOST = frozenset({"orders-0", "orders-1"})


def partition(number, leader, replicas=(3, 1, 2), isr=(1, 2, 3), **more):
    return PartitionModel("orders", number, replicas, isr, leader, **more)


def shares(*partitions, brokers=None):
    return leader_shares(ClusterModel(brokers or ALIVE, partitions))


def after(looks):
    """Return what is known of broker 3 after looks at these seconds."""
    found = {}
    for at_s in looks:
        found = watch_leaders([LeaderShare(3, 2, 29, LOST)], found, at_s * SECOND)
    return found.get(3)


def test_the_share_of_a_broker_is_of_the_partitions_that_it_could_lead():
    found = shares(
        partition(0, 3), partition(1, 1), partition(2, 1, isr=(1, 2)), partition(3, None)
    )
    assert found == [LeaderShare(3, 1, 2, frozenset({"orders-1"}))]


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param({"observers": (3,)}, id="an observer is not to lead"),
        pytest.param({"isr": (1, 2)}, id="a replica out of the ISR cannot lead"),
        pytest.param({"replicas": ()}, id="a partition without replicas"),
    ],
)
def test_what_cannot_lead_lost_nothing(lost):
    assert shares(partition(0, 1, **lost)) == []


@pytest.mark.parametrize("state", [{"is_alive": False}, {"is_standby": True}], ids=str)
def test_a_broker_that_is_down_or_a_standby_lost_nothing(state):
    assert shares(partition(0, 1), brokers=ALIVE | {3: BrokerModel(3, **state)}) == []


@pytest.mark.parametrize(
    ("leads", "preferred", "is_unbalanced"),
    [(2, 29, True), (0, 1, True), (29, 29, False), (28, 29, True)],
)
def test_the_controller_of_kraft_leaves_no_leader_elsewhere(leads, preferred, is_unbalanced):
    assert LeaderShare(3, leads, preferred).is_unbalanced is is_unbalanced


@pytest.mark.parametrize(
    ("looks", "is_lasting"),
    [
        pytest.param([0], False, id="seen once"),
        pytest.param([0, 300], False, id="the controller may be about to do it"),
        pytest.param([0, 100, 200, 301], True, id="longer than the interval"),
        pytest.param([0, 900], False, id="two looks with a gap between them"),
        pytest.param([0, 900, 1190], False, id="a stretch begins again after a gap"),
        pytest.param([5] * 99, False, id="the same rows again and again prove nothing"),
    ],
)
def test_two_looks_agree_over_more_than_the_interval(looks, is_lasting):
    assert after(looks).is_lasting is is_lasting


def test_it_is_over_with_the_first_look_that_finds_leaders_balanced():
    found = watch_leaders([LeaderShare(3, 2, 29)], {}, 0)
    assert watch_leaders([LeaderShare(3, 29, 29)], found, CHECK_INTERVAL_MS) == {}


def test_leaders_that_are_lost_and_given_back_in_turn_are_no_stretch():
    found = {}
    for at_s in range(0, 900, 100):
        share = LeaderShare(3, 28, 29, frozenset({f"orders-{at_s}"}))
        found = watch_leaders([share], found, at_s * SECOND)
    assert not found[3].is_lasting

"""What a loop decides by itself: never on one look alone, one thing at a time, only what was allowed."""

from dataclasses import replace

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.partition_facts import PartitionFacts
from jobs.availability.acting.standby.decisions import BrokerView
from jobs.availability.acting.standby.policy_decider import (
    ASKED_BY,
    ActingRules,
    Look,
    PolicyDecider,
)
from jobs.availability.acting.standby.promotions import HeldPromotion, Phase, StoreState
from jobs.availability.promotion.advice import TopicPolicy
from jobs.cluster.admin.partitions import PartitionReplicas
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition

NOW = 1_700_000_000_000
PLACE = TopicPartition("orders", 0)
RULES = ActingRules(frozenset({"orders"}), frozenset({4}), TopicPolicy(hold_ms=10_000))
VIEWS = {
    1: BrokerView(1, 5, 9, is_fenced=False),
    2: BrokerView(2, 6, 9, is_fenced=True, is_alive=False),
    4: BrokerView(4, 7, 9, is_fenced=True),
}
EMPTY = StoreState()


def look(at_ms, isr, *, epoch=3, high_watermark=100, lag=0, leader=1):
    known = PartitionReplicas("orders", 0, leader, epoch, (1, 2, 4), isr)
    facts = PartitionFacts(known, high_watermark, {1: 100, 4: 100 - lag})
    return Look(at_ms, {PLACE: facts}, {"orders": 2}, {1: "a", 2: "a", 4: "b"})


@pytest.fixture
def decider():
    return PolicyDecider(ClusterConnections(Connection("east", "b:9092")), RULES, lambda: NOW)


def decide(decider, *looks, state=EMPTY, views=VIEWS):
    """Return what the last of these looks leads to."""
    return [decider.judge(one, state, views) for one in looks][-1]


def test_a_promotion_is_decided_at_the_second_look(decider):
    assert decide(decider, look(NOW, (1,))) == []
    (wish,) = decide(decider, look(NOW + 2_000, (1,)))
    assert (wish.begin.broker_id, wish.begin.topics, wish.begin.asked_by) == (
        4,
        ("orders",),
        ASKED_BY,
    )
    assert "orders-0" in wish.begin.why


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(look(NOW + 2_000, (1, 2)), id="the ISR is well again"),
        pytest.param(look(NOW + 2_000, (1,), epoch=4), id="another leader epoch"),
        pytest.param(look(NOW + 2_000, (1,), high_watermark=90), id="the log was cut"),
        pytest.param(look(NOW + 2_000, (), leader=None), id="no leader is left"),
        pytest.param(look(NOW + 2_000, (1,), lag=90_000), id="the standby fell behind"),
    ],
)
def test_what_changed_in_between_is_not_acted_on(decider, second):
    assert decide(decider, look(NOW, (1,)), second) == []


def test_a_broker_that_was_not_allowed_is_not_promoted():
    other = PolicyDecider(
        ClusterConnections(Connection("east", "b:9092")),
        replace(RULES, brokers=frozenset({9})),
        lambda: NOW,
    )
    assert decide(other, look(NOW, (1,)), look(NOW + 2_000, (1,))) == []


def test_a_dead_standby_is_not_promoted(decider):
    dead = VIEWS | {4: replace(VIEWS[4], is_alive=False)}
    assert decide(decider, look(NOW, (1,)), look(NOW + 2_000, (1,)), views=dead) == []


def test_what_is_promoted_is_not_promoted_again(decider):
    state = StoreState((HeldPromotion("p", 4, asked_by="mia"),))
    assert decide(decider, look(NOW, (1,)), look(NOW + 2_000, (1,)), state=state) == []


def held(asked_by=ASKED_BY, phase=Phase.HELD):
    return StoreState((HeldPromotion("p", 4, phase=phase, asked_by=asked_by),))


BACK = [look(NOW + n, (1, 2, 4)) for n in (0, 2_000, 12_000, 14_000)]


def test_a_promotion_is_taken_back_when_the_sync_replicas_were_back_for_the_hold_time(decider):
    assert decide(decider, *BACK[:2], state=held()) == []
    assert decide(decider, BACK[2], state=held()) == []
    (wish,) = decide(decider, BACK[3], state=held())
    assert (wish.demote, wish.begin) == ("p", None)


def test_what_a_person_promoted_is_left_to_that_person(decider):
    assert decide(decider, *BACK, state=held("mia")) == []


def test_nothing_is_decided_while_a_demotion_goes_on(decider):
    assert decide(decider, *BACK, state=held(phase=Phase.DEMOTING)) == []


def test_after_a_demotion_there_is_a_pause(decider):
    decide(decider, *BACK, state=held())
    soon = [look(NOW + n, (1,)) for n in (20_000, 22_000)]
    assert decide(decider, *soon) == []
    later = [look(NOW + n, (1,)) for n in (90_000, 92_000)]
    assert decide(decider, *later) != []

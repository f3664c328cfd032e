"""Checks of partitions: groups by state and missing brokers, waiting times, exclusions."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks import replicas
from jobs.checks.check import effect_of
from jobs.checks.partitions import (
    AT_MIN_ISR,
    OFFLINE,
    STATES,
    UNDER_REPLICATED,
    ClusterPartitions,
    UnhealthyPartition,
    unhealthy,
)
from jobs.checks.settings import Setting, Settings

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALIVE = {1: True, 2: True, 3: True}


def one(topic="orders", number=0, state="offline", missing=(3,), age_s=3600.0):
    return UnhealthyPartition(topic, number, state, missing, NOW - timedelta(seconds=age_s))


def judge(*rows, settings=(), brokers=ALIVE):
    state = ClusterPartitions(1, "east", brokers=dict(brokers), unhealthy=list(rows))
    return list(unhealthy(state, Settings.of(settings), NOW))


def test_partitions_of_one_state_and_missing_broker_are_one_finding():
    (found,) = judge(one(number=1, age_s=60), one(number=0, age_s=90))
    assert found.sentence == (
        "2 partitions of east have no leader; replicas on broker 3 are missing: orders-0, orders-1."
    )
    assert (found.code, found.subject, found.brokers) == ("partitions_offline", "broker 3", (3,))
    assert found.topic == "orders"
    assert found.evidence == {
        "partitions": 2, "topics": 1, "examples": ["orders-0", "orders-1"]
    }  # fmt: skip
    assert found.since == NOW - timedelta(seconds=90)
    assert effect_of(OFFLINE, found.evidence) == "2 partitions offline"


def test_other_missing_brokers_are_another_finding():
    found = judge(one(missing=(2, 3)), one(number=1, missing=()), one(number=2))
    assert [row.subject for row in found] == ["brokers 2, 3", "", "broker 3"]
    assert found[1].sentence == "1 partition of east has no leader: orders-1."


def test_of_many_partitions_the_first_are_named():
    (found,) = judge(*(one(number=number) for number in range(1200)))
    assert found.sentence.endswith(
        "orders-0, orders-1, orders-2, orders-3, orders-4 and 1,195 more."
    )


@pytest.mark.parametrize(
    ("state", "age_s", "is_found"),
    [
        pytest.param("offline", 0, True, id="offline at once"),
        pytest.param("under_min_isr", 0, True, id="under min ISR at once"),
        pytest.param("at_min_isr", 599, False, id="at min ISR, too young"),
        pytest.param("at_min_isr", 600, True, id="at min ISR for 10 minutes"),
        pytest.param("at_min_isr", -3600, False, id="at min ISR, the clock was set back"),
        pytest.param("under_replicated", 299, False, id="under-replicated, too young"),
        pytest.param("under_replicated", 300, True, id="under-replicated for 5 minutes"),
    ],
)
def test_a_state_is_found_after_its_time(state, age_s, is_found):
    assert [row.code for row in judge(one(state=state, age_s=age_s))] == (
        [STATES[state].id] if is_found else []
    )


@pytest.mark.parametrize(
    "brokers", [pytest.param({3: False}, id="fenced"), pytest.param({1: True}, id="unregistered")]
)
def test_partitions_of_a_broker_that_is_down_are_found_at_once(brokers):
    (found,) = judge(one(state="at_min_isr", age_s=1), brokers=brokers)
    assert found.code == AT_MIN_ISR.id


def test_thresholds_are_narrowed_by_topics():
    settings = (
        Setting(UNDER_REPLICATED.id, {"for_s": 60}, topic="orders*"),
        Setting(UNDER_REPLICATED.id, topic="scratch", is_excluded=True),
    )
    rows = [
        one(topic=topic, state="under_replicated", age_s=age_s)
        for topic, age_s in (("orders-eu", 61), ("clicks", 61), ("scratch", 9000))
    ]
    (found,) = judge(*rows, settings=settings)
    assert found.topic == "orders-eu"


def test_effects_of_all_states_count_partitions():
    words = [effect_of(check, {"partitions": 3}) for check in STATES.values()]
    assert words == [
        "3 partitions offline", "3 under min ISR", "3 at min ISR", "3 under-replicated"
    ]  # fmt: skip
    assert replicas.RF_ONE.is_advice


@pytest.mark.parametrize(
    ("set_s_ago", "age_s", "is_found"),
    [
        pytest.param(60, 3700, False, id="set ahead a minute ago"),
        pytest.param(60, -3500, False, id="set back a minute ago"),
        pytest.param(400, 4000, True, id="set long enough ago"),
        pytest.param(4000, 400, True, id="began since then"),
    ],
)
def test_a_clock_that_was_set_makes_no_state_old_and_none_over(set_s_ago, age_s, is_found):
    row = one(state="under_replicated", age_s=age_s)
    set_at = NOW - timedelta(seconds=set_s_ago)
    state = ClusterPartitions(1, "east", set_at, brokers=dict(ALIVE), unhealthy=[row])
    assert bool(list(unhealthy(state, Settings(), NOW))) is is_found
    assert state.unsure == (set() if is_found else {UNDER_REPLICATED.id})

"""The pure parts of the actors: what would be sent, and every reason why not."""

from dataclasses import replace

import pytest

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.acting.held_back_replica import lifted, throttles
from jobs.availability.acting.reassign_to_spare import target_of
from jobs.availability.acting.standby.promotions import HeldPromotion, LoopHeartbeat, StoreState
from jobs.availability.acting.standby.standbys import (
    Standby,
    fetched_ago_ms,
    reached_offset,
)
from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica
from jobs.cluster.connection import Connection
from jobs.cluster.read_only import VARIABLE
from tests.jobs.availability.acting.memory_store import MemoryStore

NOW = 1_700_000_000_000
READY = Standby(
    4,
    "site-b",
    26,
    is_fenced=True,
    host="b",
    port=9092,
    heartbeat_interval_ms=600_000,
    session_timeout_ms=9_000,
    fetched_ago_ms=40,
    answers=True,
    partitions=12,
    most_lag_records=3,
)
ALIVE = StoreState(signs=(LoopHeartbeat("one", NOW - 100),))


DOORS = ClusterConnections(Connection("east", "b:9092"))


def refusals(broker=READY, state=ALIVE):
    actor = FencedStandby(DOORS, 4, MemoryStore(), now_ms=lambda: NOW)
    return actor.plan_from(broker, state).refusals


def test_a_standby_that_follows_may_be_promoted():
    assert refusals() == ()


@pytest.mark.parametrize(
    ("broker", "state", "words"),
    [
        pytest.param(None, ALIVE, "no broker 4", id="unknown"),
        pytest.param(READY, StoreState(), "No standby loop runs", id="no loop"),
        pytest.param(
            READY,
            StoreState(signs=(LoopHeartbeat("one", NOW - 60_000),)),
            "No standby loop",
            id="dead loop",
        ),
        pytest.param(READY, replace(ALIVE, is_stopped=True), "stop switch", id="stopped"),
        pytest.param(
            READY, replace(ALIVE, promotions=(HeldPromotion("p", 4),)), "is promoted", id="held"
        ),
        pytest.param(replace(READY, fetched_ago_ms=9_000), ALIVE, "does not run", id="down"),
        pytest.param(replace(READY, answers=False), ALIVE, "does not answer", id="no answer"),
        pytest.param(
            replace(READY, heartbeat_interval_ms=2_000), ALIVE, "not set up", id="no standby"
        ),
        pytest.param(replace(READY, most_lag_records=5_000), ALIVE, "5000 records", id="behind"),
    ],
)
def test_a_promotion_is_refused_with_its_reason(broker, state, words):
    assert any(words in reason for reason in refusals(broker, state))


def test_what_kafka_has_no_tool_for_is_a_comment_of_a_shell():
    plan = FencedStandby(DOORS, 4, MemoryStore(), now_ms=lambda: NOW).plan_from(READY, ALIVE)
    assert [one.command[:2] for one in plan.requests] == ["# "]
    assert plan.revert.startswith("# ")


def test_nothing_is_promoted_while_crosslog_is_read_only(monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    assert "crosslog is read-only." in refusals()


@pytest.mark.parametrize(
    ("interval_ms", "session_ms", "is_fenced", "fetched_ago_ms", "expected"),
    [
        pytest.param(600_000, 9_000, False, 40, True, id="by its settings, also while promoted"),
        pytest.param(2_000, 9_000, True, 40, False, id="a fenced broker that speaks for itself"),
        pytest.param(None, None, True, 40, True, id="settings not readable: fenced and alive"),
        pytest.param(None, None, True, 90_000, False, id="settings not readable: fenced and dead"),
    ],
)
def test_a_standby_is_known_by_settings_or_by_what_it_does(
    interval_ms, session_ms, is_fenced, fetched_ago_ms, expected
):
    one = replace(
        READY,
        heartbeat_interval_ms=interval_ms,
        session_timeout_ms=session_ms,
        is_fenced=is_fenced,
        fetched_ago_ms=fetched_ago_ms,
    )
    assert one.is_set_up is expected


def quorum(*replicas, leader=1):
    voter = QuorumReplica(leader, "d", 1_000, None, 50_000)
    return QuorumDescription(leader, 3, 1_000, (voter,), replicas, (), 999)


@pytest.mark.parametrize(
    ("found", "ago_ms", "reached"),
    [
        pytest.param(None, None, None, id="unknown"),
        pytest.param(quorum(QuorumReplica(4, "d", 990, 49_700, 49_000)), 300, 989, id="observer"),
        pytest.param(quorum(QuorumReplica(4, "d", None, None, None)), None, None, id="just known"),
        pytest.param(quorum(), None, None, id="not in the quorum"),
        pytest.param(quorum(leader=4), 0, 999, id="it leads itself"),
    ],
)
def test_life_is_told_by_the_leaders_clock(found, ago_ms, reached):
    assert fetched_ago_ms(found, 4) == ago_ms
    assert reached_offset(found, 4) == reached


@pytest.mark.parametrize(
    ("value", "partitions", "broker", "expected"),
    [
        pytest.param("0:1,0:4,1:4", {0}, 4, "0:1,1:4", id="one replica"),
        pytest.param("0:4", {0}, 4, None, id="nothing is left"),
        pytest.param("0:1,1:1,1:2", {1}, None, "0:1", id="all of a partition"),
        pytest.param("*", {0}, 4, None, id="all replicas end as a whole"),
        pytest.param("", {0}, 4, None, id="empty"),
        pytest.param(None, {0}, 4, None, id="not set"),
        pytest.param(" 0:1 , 0:4 ", {0}, 4, "0:1", id="spaces"),
        pytest.param("rubbish,0:1", {1}, 4, "0:1", id="rubbish"),
    ],
)
def test_a_throttle_is_lifted_for_the_replicas_that_are_meant(value, partitions, broker, expected):
    assert lifted(value, frozenset(partitions), broker) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("*", True), ("3:4", True), ("3:1, 3:4", True), ("3:44", False), ("", False), (None, False)],
)
def test_a_throttle_names_a_replica(value, expected):
    assert throttles(value, 3, 4) is expected


@pytest.mark.parametrize(
    ("replaced", "expected"), [(2, (1, 9)), (1, (9, 2)), (None, (1, 2, 9)), (7, (1, 2))]
)
def test_a_spare_takes_the_place_of_the_one_that_is_gone(replaced, expected):
    assert target_of((1, 2), replaced, 9) == expected

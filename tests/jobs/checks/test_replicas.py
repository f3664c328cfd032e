"""Checks of replication factors, unclean elections, flapping and stuck offsets."""

from datetime import UTC, datetime, timedelta

import pytest

from jobs.checks import replicas
from jobs.checks.partitions import (
    ChurnHour,
    ClusterPartitions,
    Election,
    TopicShare,
)
from jobs.checks.settings import Setting, Settings
from jobs.findings import Finding
from jobs.severity import Severity

NOW = datetime(2026, 5, 1, 12, 10, tzinfo=UTC)
HOUR = NOW.replace(minute=0)


def cluster(**fields):
    return ClusterPartitions(1, "east", **({"brokers": {1: True, 2: True}} | fields))


def ago(**span):
    return NOW - timedelta(**span)


def test_topics_with_one_replica_are_one_advice():
    state = cluster(rf_one=[TopicShare("orders", 3), TopicShare("clicks", 1)])
    (found,) = replicas.replication_factors(state, Settings())
    assert found.sentence == "4 partitions of 2 topics of east have one replica: clicks, orders."
    assert found.evidence == {"partitions": 4, "topics": 2, "examples": ["clicks", "orders"]}


def test_topics_with_one_replica_on_purpose_are_excluded():
    state = cluster(rf_one=[TopicShare("scratch-1", 3)])
    settings = Settings.of([Setting("rf_one", topic="scratch-*", is_excluded=True)])
    assert list(replicas.replication_factors(state, settings)) == []


def test_one_replica_is_no_finding_on_a_cluster_of_one_broker():
    state = cluster(rf_one=[TopicShare("orders", 3)], brokers={1: True})
    assert list(replicas.replication_factors(state, Settings())) == []


def test_fewer_replicas_than_min_insync_replicas_is_found_apart():
    state = cluster(rf_below_min=[TopicShare("orders", 1)])
    (found,) = replicas.replication_factors(state, Settings())
    assert found.sentence == (
        "1 partition of 1 topic of east has fewer replicas than min.insync.replicas: orders."
    )
    assert (found.code, found.topic) == ("rf_below_min_isr", "orders")


def test_unclean_elections_of_a_day_are_one_finding_that_names_the_newest():
    rows = [
        Election("orders", 0, ago(hours=23), 2, [3]),
        Election("orders", 1, ago(hours=1), 1, []),
        Election("orders", 2, ago(hours=25), 1, [3]),
    ]
    (found,) = replicas.unclean(cluster(elections=rows), Settings(), NOW)
    assert found.sentence == (
        "2 partitions of east had an unclean leader election: orders-0, orders-1. The newest, at "
        "2026-05-01 11:10:00 UTC: broker 1 became leader of orders-1, the ISR was empty."
    )
    assert (found.severity, found.since) == (Severity.CRITICAL, ago(hours=23))
    assert found.evidence["elections"] == 2


def test_how_long_an_unclean_election_is_kept_is_a_threshold():
    state = cluster(elections=[Election("orders", 0, ago(hours=25), 2, [3])])
    settings = Settings.of([Setting("unclean_election", {"kept_s": 172_800})])
    assert len(list(replicas.unclean(state, settings, NOW))) == 1


@pytest.mark.parametrize(
    ("shrinks", "expands", "rejoined", "is_found"),
    [
        pytest.param(10, 10, None, True, id="leaves and returns"),
        pytest.param(500, 0, None, False, id="leaves only"),
        pytest.param(0, 500, None, False, id="returns only"),
        pytest.param(9, 9, None, False, id="below the threshold"),
        pytest.param(500, 500, HOUR, False, id="restarted"),
        pytest.param(500, 500, HOUR - timedelta(hours=1), True, id="restarted before"),
    ],
)
def test_replicas_that_leave_and_return_flap_unless_the_broker_restarted(
    shrinks, expands, rejoined, is_found
):
    state = cluster(churn=[ChurnHour(2, HOUR, shrinks, expands)])
    state.rejoined |= {} if rejoined is None else {2: rejoined}
    found = list(replicas.flapping(state, Settings()))
    assert [(row.subject, row.brokers) for row in found] == [("broker 2", (2,))] * is_found


def test_of_two_hours_the_worse_one_is_shown():
    hours = [ChurnHour(2, HOUR, 12, 11), ChurnHour(2, HOUR - timedelta(hours=1), 40, 40)]
    (found,) = replicas.flapping(cluster(churn=hours), Settings())
    assert found.sentence == (
        "Replicas of broker 2 of east left the ISR 40 times and returned 40 times in the hour from "
        "11:00 UTC."
    )


def test_stuck_offsets_are_findings_unless_their_topics_are_excluded():
    rows = [
        Finding("last_stable_offset_stuck", Severity.WARNING, "Stuck.", topic=topic)
        for topic in ("orders", "scratch")
    ]
    settings = [Setting("last_stable_offset_stuck", topic="scratch", is_excluded=True)]
    assert list(replicas.stuck(cluster(stuck=rows), Settings.of(settings))) == rows[:1]

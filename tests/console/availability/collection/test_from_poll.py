"""Rounds without the metadata log: what changed between two polls, and to which resolution."""

from datetime import timedelta

import pytest

from console.availability.collection import collect
from console.availability.status.broker_models import BrokerStatus, CountSample
from console.availability.status.facts import with_answers
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    Rollup,
    SeveritySpan,
    UncleanElection,
)
from console.availability.status.queries import list_clusters
from console.clusters.models import Cluster
from jobs.availability.status.severity import Severity
from tests.console.availability.making import Story, describe_topic, finish_round, poll
from tests.console.making import NOW, make_cluster
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

pytestmark = pytest.mark.django_db
WELL = (1, 2, 3)
OLD, NEW = (recorded_cluster(name).to_mapping() for name in ("3.6.2-kraft", "3.9.1-kraft"))


@pytest.fixture
def cluster():
    return make_cluster("east")


def take_in(cluster, now=NOW):
    assert collect.take_in(cluster.pk, lambda: now)


def at(seconds):
    return NOW + timedelta(seconds=seconds)


def test_a_poll_tells_how_partitions_stand_and_that_it_polled(cluster):
    poll(cluster, NOW, orders=[WELL, (1, 2)])
    take_in(cluster)
    rows = PartitionStatus.objects.order_by("partition")
    assert [row.severity for row in rows] == [Severity.OK, Severity.AT_MIN_ISR]
    assert {(row.source, row.cause, row.offset) for row in rows} == {("poll", "polled", None)}
    assert (rows[1].min_isr_origin, rows[1].elr) == ("static", None)


def test_a_change_happened_between_two_polls(cluster):
    poll(cluster, NOW, orders=[WELL])
    take_in(cluster)
    poll(cluster, at(10), orders=[(1, 2)])
    take_in(cluster, at(11))
    row = PartitionStatus.objects.get()
    assert (row.not_before, row.since) == (NOW, at(10))
    absence = OutOfSyncSpan.objects.get()
    assert (absence.broker, absence.not_before, absence.began_at) == (3, NOW, at(10))
    assert AvailabilityRound.objects.get().interval_ms == 10_000


def test_a_stretch_ends_with_the_poll_that_no_longer_sees_it(cluster):
    for seconds, isr in ((0, WELL), (10, (1,)), (20, WELL)):
        poll(cluster, at(seconds), orders=[isr])
        take_in(cluster, at(seconds))
    span = SeveritySpan.objects.get()
    assert (span.severity, span.began_at, span.ended_at) == (
        Severity.UNDER_MIN_ISR, at(10), at(20),
    )  # fmt: skip


def test_the_same_round_is_taken_in_once(cluster):
    poll(cluster, NOW, orders=[WELL])
    take_in(cluster)
    PartitionStatus.objects.update(severity=4)
    take_in(cluster, at(5))
    assert PartitionStatus.objects.get().severity == 4


def test_a_leader_from_outside_the_last_poll_is_not_called_unclean(cluster):
    """It may have come back to the ISR between the polls: only the metadata log proves it."""
    poll(cluster, NOW, orders=[(1,)])
    take_in(cluster)
    poll(cluster, at(10), orders=[(3,)])
    take_in(cluster, at(10))
    assert not UncleanElection.objects.exists()


def test_a_topic_that_is_gone_is_gone(cluster):
    poll(cluster, NOW, orders=[(1,)], billing=[WELL])
    take_in(cluster)
    poll(cluster, at(10), billing=[WELL])
    take_in(cluster, at(10))
    assert [row.topic for row in PartitionStatus.objects.all()] == ["billing"]
    assert SeveritySpan.objects.get().end_cause == "topic_deleted"


def test_a_topic_made_again_is_another_one(cluster):
    poll(cluster, NOW, orders=[(1,)])
    take_in(cluster)
    describe_topic(cluster, "orders", topic_id="another-id")
    poll(cluster, at(10), orders=[WELL])
    take_in(cluster, at(10))
    row = PartitionStatus.objects.get()
    assert (row.topic_id, row.known_since) == ("another-id", at(10))


def test_a_setting_that_changed_is_the_cause_by_itself(cluster):
    poll(cluster, NOW, orders=[(1, 2)])
    take_in(cluster)
    describe_topic(cluster, "orders", 3, "topic")
    poll(cluster, at(10), orders=[(1, 2)])
    take_in(cluster, at(10))
    row = PartitionStatus.objects.get()
    assert (row.severity, row.cause, row.min_isr_origin) == (
        Severity.UNDER_MIN_ISR, "min_isr_changed", "topic",
    )  # fmt: skip


def test_a_failing_cluster_keeps_its_rows_and_says_why(cluster):
    poll(cluster, NOW, orders=[(1, 2)])
    take_in(cluster)
    finish_round(
        cluster, NOW, failing_since=at(10), error="No broker answered.", hint="Look there."
    )
    take_in(cluster, at(12))
    row = AvailabilityRound.objects.get()
    assert (row.succeeded_at, row.error, row.hint) == (NOW, "No broker answered.", "Look there.")
    assert row.failing_since is not None
    assert PartitionStatus.objects.get().severity == Severity.AT_MIN_ISR


def test_brokers_that_rounds_no_longer_see_are_not_there(cluster):
    poll(cluster, NOW, orders=[WELL])
    take_in(cluster)
    cluster.brokers.filter(broker_id=3).update(is_live=False, changed_at=at(10))
    poll(cluster, at(10), orders=[WELL])
    take_in(cluster, at(10))
    row = BrokerStatus.objects.get(broker_id=3)
    assert (row.is_there, row.since, row.source) == (False, at(10), "poll")


def test_counts_of_a_time_without_polls_are_a_hole(cluster):
    poll(cluster, NOW, orders=[(1,)])
    take_in(cluster)
    poll(cluster, at(600), orders=[(1,)])
    take_in(cluster, at(600))
    begin = int(NOW.timestamp())
    rows = CountSample.objects.filter(kind="cluster", step_s=10)
    assert sorted(rows.values_list("at_s", flat=True)) == [begin, begin + 600]


def test_the_metadata_log_takes_over_with_everything_that_it_knows(cluster):
    poll(cluster, NOW, orders=[(1, 2)])
    take_in(cluster)
    story = Story(cluster, at(60))
    story.brokers()
    story.topic("orders")
    story.partition("orders", 0, 900, 1, 2, cause="isr_shrink", broker=3)
    take_in(cluster, at(60))
    row = PartitionStatus.objects.get()
    assert (row.source, row.since, row.cause) == ("log", story.at(900), "isr_shrink")
    assert SeveritySpan.objects.get().source == "log"


def test_what_was_polled_while_the_log_was_away_is_not_told_twice(cluster):
    story = Story(cluster)
    story.brokers()
    story.topic("orders")
    take_in(cluster)
    away = at(300)
    poll(cluster, away, orders=[(1, 2)])
    take_in(cluster, away)
    poll(cluster, at(310), orders=[WELL])
    take_in(cluster, at(310))
    story.heard(at(320))
    story.partition("orders", 0, 22, 1, 2, cause="isr_shrink", broker=3)
    story.partition("orders", 0, 12, 1, 2, 3, cause="isr_expand", broker=3)
    take_in(cluster, at(320))
    spans = SeveritySpan.objects.all()
    assert [(s.source, s.began_at, s.ended_at) for s in spans] == [("poll", away, at(310))]
    assert PartitionStatus.objects.get().source == "log"


def test_clusters_are_due_when_something_may_be_new(cluster):
    assert collect.due_clusters(NOW) == [cluster.pk]
    poll(cluster, NOW, orders=[WELL])
    take_in(cluster)
    assert collect.due_clusters(at(1)) == []
    assert collect.due_clusters(at(6)) == [cluster.pk]
    finish_round(cluster, at(1))
    assert collect.due_clusters(at(1)) == [cluster.pk]


@pytest.mark.parametrize(
    ("versions", "severity", "is_unsure", "answer"),
    [
        pytest.param(OLD, Severity.UNDER_MIN_ISR, False, "Partitions under min ISR", id="3.6"),
        pytest.param(NEW, Severity.OK, False, "Unknown", id="3.9, looked at later"),
        pytest.param(None, Severity.OK, True, "Unknown", id="not known"),
    ],
)
def test_more_min_isr_than_replicas_is_judged_by_the_brokers_release(
    cluster, versions, severity, is_unsure, answer
):
    Cluster.objects.update(versions=versions)
    describe_topic(cluster, least=4)
    poll(cluster, NOW, orders=[WELL])
    take_in(cluster)
    row = PartitionStatus.objects.get()
    assert (row.severity, row.is_unsure, row.is_rf_below_min) == (severity, is_unsure, True)
    assert with_answers(list(list_clusters()))[0].answer.word == answer


def test_an_upgrade_is_taken_in_with_the_next_round(cluster):
    describe_topic(cluster, least=4)
    for seconds, versions in enumerate((OLD, None, NEW)):
        Cluster.objects.update(versions=versions)
        poll(cluster, at(seconds), orders=[WELL])
        take_in(cluster, at(seconds))
        rollup = Rollup.objects.get(kind="cluster")
        told = rollup.state_under_min_isr, rollup.unsure
        assert told == ((1, 0), (0, 1), (0, 0))[seconds]
    assert PartitionStatus.objects.get().cause == "min_isr_changed"

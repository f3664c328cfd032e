"""Rounds that read the metadata log: what a change comes to, with its cause."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from console.availability.collection import collect
from console.availability.status.broker_models import BrokerChurn, BrokerStatus, CountSample
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    Rollup,
    SeveritySpan,
    UncleanElection,
)
from console.clusters.models import Cluster
from console.frame.signals import metadata_stored
from jobs.availability.status.severity import Severity
from tests.console.availability.making import Story, describe_topic, finish_round
from tests.console.making import NOW
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def story():
    found = Story()
    found.brokers()
    describe_topic(found.cluster)
    finish_round(found.cluster, NOW)
    return found


def take_in(story, now=None):
    assert collect.take_in(story.cluster.pk, lambda: now or story.now)


def status(topic="orders", partition=0) -> PartitionStatus:
    return PartitionStatus.objects.get(topic=topic, partition=partition)


def round_of(story) -> AvailabilityRound:
    return AvailabilityRound.objects.get(cluster=story.cluster, noun="status")


def test_a_follower_that_fell_behind_is_told_with_its_cause_and_since_when(story):
    story.topic()
    story.partition("orders", 0, 60, 1, 2, elr=[], cause="isr_shrink", broker=3)
    take_in(story)
    row = status()
    assert (row.severity, row.since, row.cause, row.cause_broker, row.offset) == (
        Severity.AT_MIN_ISR, story.at(60), "isr_shrink", 3, story.offset,
    )  # fmt: skip
    assert (row.source, row.missing, row.spare, row.known_since) == ("log", [3], 0, story.at(3600))
    absence = OutOfSyncSpan.objects.get()
    assert (absence.broker, absence.began_at, absence.ended_at) == (3, story.at(60), None)
    span = SeveritySpan.objects.get()
    assert (span.severity, span.began_at, span.ended_at) == (
        Severity.AT_MIN_ISR, story.at(60), None,
    )  # fmt: skip


def test_its_return_ends_what_began(story):
    story.topic()
    story.partition("orders", 0, 60, 1, 2, cause="isr_shrink", broker=3)
    take_in(story)
    story.partition("orders", 0, 20, 1, 2, 3, cause="isr_expand", broker=3)
    take_in(story)
    assert (status().severity, status().since, status().out_since) == (0, story.at(20), None)
    for row in (SeveritySpan.objects.get(), OutOfSyncSpan.objects.get()):
        assert (row.ended_at, row.end_cause, row.end_broker) == (story.at(20), "isr_expand", 3)


def test_stretches_are_the_same_whether_changes_come_one_by_one_or_at_once(story):
    told = [(60, (1, 2)), (50, (1,)), (40, ()), (30, (2,)), (20, (2, 1, 3))]
    story.topic(partitions=2)
    take_in(story)
    for seconds, isr in told:
        story.partition("orders", 0, seconds, *isr)
        take_in(story)
    for seconds, isr in told:
        story.partition("orders", 1, seconds, *isr)
    take_in(story)
    for model in (SeveritySpan, OutOfSyncSpan):
        kept = [
            sorted(
                (getattr(row, "severity", None) or row.broker, row.began_at, row.ended_at)
                for row in model.objects.filter(partition=partition)
            )
            for partition in (0, 1)
        ]
        assert kept[0] == kept[1] != []


def test_no_leader_is_offline_and_an_unclean_election_is_kept(story):
    story.topic()
    story.partition("orders", 0, 60, cause="leader_lost")
    story.partition("orders", 0, 30, 3, cause="unclean_election", is_unclean=True)
    take_in(story)
    offline = SeveritySpan.objects.get(severity=Severity.OFFLINE)
    assert (offline.ended_at or story.now) - offline.began_at == timedelta(seconds=30)
    election = UncleanElection.objects.get()
    assert (election.leader, election.at, election.isr_before) == (3, story.at(30), [])
    assert BrokerChurn.objects.get(broker_id=3).unclean == 1


@pytest.mark.parametrize(
    ("told", "value", "origin"),
    [
        pytest.param([], 2, "static", id="only a broker tells"),
        pytest.param([("", "3")], 3, "cluster", id="the cluster sets it"),
        pytest.param([("", "3"), ("orders", "1")], 1, "topic", id="the topic sets it"),
        pytest.param([("orders", "1"), ("orders", None)], 2, "static", id="set and removed"),
    ],
)
def test_min_isr_stands_with_its_origin(story, told, value, origin):
    story.topic()
    take_in(story)
    for topic, number in told:
        story.setting(topic, number, 100)
    take_in(story)
    assert (status().min_insync_replicas, status().min_isr_origin) == (value, origin)


def test_a_changed_setting_moves_partitions_on_the_ladder_with_its_record_as_the_cause(story):
    story.topic()
    story.partition("orders", 0, 90, 1, 2, cause="isr_shrink", broker=3)
    take_in(story)
    change = story.setting("orders", "3", 60)
    take_in(story)
    row = status()
    assert (row.severity, row.cause, row.offset, row.since) == (
        Severity.UNDER_MIN_ISR, "min_isr_changed", change.offset, story.at(60),
    )  # fmt: skip
    assert row.out_since == story.at(90)


def test_fewer_replicas_than_min_isr_stand_apart_of_the_ladder(story):
    story.topic()
    story.setting("orders", "4", 10)
    take_in(story)
    assert (status().severity, status().is_rf_below_min) == (0, True)
    assert Rollup.objects.get(kind="cluster").rf_below_min == 1


def test_roll_ups_count_by_cluster_topic_broker_and_rack(story):
    story.topic(partitions=2)
    story.partition("orders", 0, 60, 1, cause="broker_fenced", broker=2)
    take_in(story)
    told = {
        (row.kind, row.name): (row.partitions, row.under_min_isr, row.out_of_sync, row.leaders)
        for row in Rollup.objects.all()
    }
    assert told == {
        ("cluster", ""): (2, 1, 2, 2), ("topic", "orders"): (2, 1, 2, 2),
        ("broker", "1"): (2, 1, 0, 2), ("broker", "2"): (2, 1, 1, 0), ("broker", "3"): (2, 1, 1, 0),
        ("rack", "dc-a"): (2, 1, 0, 2), ("rack", "dc-b"): (2, 1, 1, 0), ("rack", "dc-c"): (2, 1, 1, 0),
    }  # fmt: skip


def test_a_broker_that_moves_to_another_rack_takes_its_counts_along(story):
    story.topic()
    story.partition("orders", 0, 60, 1, 2, cause="isr_shrink", broker=3)
    take_in(story)
    story.broker(3, 10, rack="dc-b")
    take_in(story)
    told = dict(Rollup.objects.filter(kind="rack").values_list("name", "out_of_sync"))
    assert told == {"dc-a": 0, "dc-b": 1}


def test_a_deleted_topic_leaves_only_its_past(story):
    story.topic()
    story.partition("orders", 0, 60, 1, cause="isr_shrink")
    take_in(story)
    story.partition("orders", 0, 20, 1, is_removed=True, cause="topic_deleted")
    take_in(story)
    assert not PartitionStatus.objects.exists()
    assert {row.end_cause for row in SeveritySpan.objects.all()} == {"topic_deleted"}
    assert not OutOfSyncSpan.objects.filter(ended_at=None).exists()
    assert Rollup.objects.get(kind="cluster").partitions == 0
    assert not Rollup.objects.filter(kind="topic").exists()


def test_brokers_are_known_by_their_registrations(story):
    story.broker(3, 50, is_fenced=True)
    take_in(story)
    row = BrokerStatus.objects.get(broker_id=3)
    assert (row.is_there, row.since, row.last_fenced_at, row.rack) == (
        False, story.at(50), story.at(50), "dc-c",
    )  # fmt: skip


def test_what_only_a_snapshot_tells_is_at_or_before_its_time(story):
    story.partition("orders", 0, 60, 1, 2, is_dated=False, cause="snapshot")
    take_in(story)
    assert status().not_before is not None
    assert status().not_before < status().since


def test_counts_hold_the_worst_moment_of_ten_seconds(story):
    story.topic()
    story.partition("orders", 0, 59, cause="leader_lost")
    story.partition("orders", 0, 57, 1, 2, 3, cause="leader_election")
    take_in(story)
    begin = int(story.at(60).timestamp())
    rows = CountSample.objects.filter(kind="cluster", step_s=10, at_s__gte=begin)
    assert dict(rows.values_list("at_s", "offline"))[begin] == 1
    # The minute since then has no gap.
    assert rows.count() == 7
    assert sum(rows.values_list("offline", flat=True)) == 1


def test_a_round_that_finds_nothing_new_writes_no_status(story):
    story.topic(partitions=3)
    take_in(story)
    with CaptureQueriesContext(connection) as captured:
        take_in(story)
    written = [q["sql"] for q in captured if "availability_partitionstatus" in q["sql"]]
    assert not [sql for sql in written if sql.startswith(("UPDATE", "INSERT"))]


def test_a_round_takes_few_more_queries_for_many_partitions(story):
    """Rows are written in portions; no query for each of them."""
    counted = []
    for number, partitions in enumerate((5, 200)):
        topic = f"topic-{number}"
        story.topic(topic, partitions)
        take_in(story)
        for partition in range(partitions):
            story.partition(topic, partition, 50, 1, 2, cause="isr_shrink", broker=3)
        with CaptureQueriesContext(connection) as captured:
            take_in(story)
        counted.append(len(captured))
    assert counted[1] <= counted[0] + 10


def test_a_log_that_was_not_heard_for_long_is_no_longer_the_source(story):
    story.topic()
    take_in(story)
    assert round_of(story).source == "log"
    take_in(story, NOW + timedelta(seconds=600))
    assert round_of(story).source == "poll"


def test_another_process_that_works_on_it_is_left_alone(story):
    story.topic()
    take_in(story)
    row = round_of(story)
    assert collect.STATUS.claim_row(row, story.now)
    assert not collect.take_in(story.cluster.pk, lambda: story.now)


def test_what_breaks_is_written_and_costs_no_row(story):
    story.topic()
    take_in(story)
    change = story.partition("orders", 0, 10, 1, 2)
    change.state = {"isr": 7}
    change.save(update_fields=["state"])
    take_in(story)
    row = round_of(story)
    assert row.error.startswith("crosslog failed while judging partitions")
    assert row.failing_since == story.now
    assert row.claimed_until is None
    assert status().severity == 0


def test_a_stored_change_is_taken_in_at_once(story):
    story.heard(story.now)
    story.topic()
    story.heard(timezone.now())
    story.partition("orders", 0, 1, 1, 2, cause="isr_shrink", broker=3)
    metadata_stored.send(None, cluster_id=story.cluster.pk)
    assert status().severity == Severity.AT_MIN_ISR


def test_observers_are_judged_again_with_the_next_round_of_the_cluster(story):
    """A placement may be given or taken away while the log says nothing of a partition."""
    story.topic()
    take_in(story)
    PartitionStatus.objects.update(observers=[3])
    finish_round(story.cluster, NOW + timedelta(seconds=5))
    take_in(story)
    assert (status().observers, status().missing, status().severity) == ([], [], 0)


def test_more_min_isr_than_replicas_is_judged_again_when_the_release_becomes_known(story):
    story.topic()
    story.setting("orders", "4", 60)
    take_in(story)
    assert (status().severity, status().is_unsure) == (Severity.OK, True)
    versions = recorded_cluster("3.6.2-kraft").to_mapping()
    Cluster.objects.update(versions=versions)
    finish_round(story.cluster, NOW + timedelta(seconds=1))
    take_in(story, NOW + timedelta(seconds=1))
    assert (status().severity, status().is_unsure) == (Severity.UNDER_MIN_ISR, False)

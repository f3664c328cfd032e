"""What the round reads of partitions, and when it does not judge them."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.availability.status.broker_models import BrokerChurn, BrokerStatus, Source
from console.availability.status.models import (
    AvailabilityRound,
    PartitionStatus,
    UncleanElection,
)
from console.checks.areas import partitions
from console.checks.areas.area import Given
from console.clusters.models import CollectionRound, Noun, Partition
from jobs.availability.status.severity import Severity
from jobs.checks.settings import Settings
from tests.console.making import NOW, make_cluster, make_topic

pytestmark = pytest.mark.django_db
OLD = NOW - timedelta(hours=2)
ALL = {
    "partitions_offline", "under_min_isr", "at_min_isr", "under_replicated", "rf_below_min_isr", "rf_one",
    "unclean_election", "isr_flapping",
}  # fmt: skip


def seen_cluster(alias="east", source=Source.LOG, at=NOW):
    cluster = make_cluster(alias)
    AvailabilityRound.objects.create(cluster=cluster, noun="status", source=source, succeeded_at=at)
    for number in (1, 2, 3):
        BrokerStatus.objects.create(cluster=cluster, broker_id=number, is_there=True, source=source)
    return cluster


def status(cluster, number=0, topic="orders", **values):
    known = {
        "key": f"{topic}:{number}", "replica_text": "|1|2|3|", "missing_text": "|3|", "source": Source.LOG,
        "known_since": OLD, "since": OLD, "seen_at": NOW, "severity": Severity.AT_MIN_ISR.value,
    }  # fmt: skip
    return PartitionStatus.objects.create(
        cluster=cluster, topic=topic, partition=number, **known | values
    )


def judged(settings=()):
    return list(partitions.judge(Given(NOW, Settings.of(settings))))


def found():
    return {one.code: one for row in judged() for one in row.found}


def test_partitions_are_grouped_by_state_and_missing_brokers():
    cluster = seen_cluster()
    for number, severity in enumerate(Severity):
        status(cluster, number, severity=severity.value)
    codes = {code: one.evidence["partitions"] for code, one in found().items()}
    assert codes == {
        "partitions_offline": 1, "under_min_isr": 1, "at_min_isr": 1, "under_replicated": 1
    }  # fmt: skip
    assert found()["at_min_isr"].brokers == (3,)


def test_an_offline_partition_is_missing_its_dead_replica_that_the_isr_still_names():
    cluster = seen_cluster()
    BrokerStatus.objects.filter(broker_id=2).update(is_there=False)
    status(cluster, 0, severity=4, replica_text="|2|", missing_text="")
    status(cluster, 1, severity=4, replica_text="|1|2|", missing_text="|1|")
    one = found()["partitions_offline"]
    assert (one.subject, one.evidence["partitions"]) == ("broker 2", 2)


def test_an_offline_partition_whose_brokers_are_alive_is_missing_what_left_the_isr():
    status(seen_cluster(), severity=4, missing_text="|1|3|")
    assert found()["partitions_offline"].brokers == (1, 3)


def test_a_stale_status_is_not_judged():
    status(seen_cluster(at=NOW - timedelta(minutes=5)), severity=4)
    (row,) = judged()
    assert (set(row.codes), row.found) == (set(), ())


def test_a_fresh_status_is_judged_without_the_offsets():
    seen_cluster()
    (row,) = judged()
    assert set(row.codes) == ALL


def test_a_cluster_that_is_disabled_is_not_judged():
    cluster = seen_cluster()
    cluster.is_enabled = False
    cluster.save()
    assert judged() == []


def test_replicas_that_may_be_added_leave_open_whether_one_is_missing():
    status(seen_cluster(), severity=0, is_unsure=True, missing_text="")
    (row,) = judged()
    assert (ALL - set(row.codes), row.found) == ({"at_min_isr", "under_replicated"}, ())


def test_topics_that_were_not_described_are_not_judged_by_polls():
    cluster = seen_cluster(source=Source.POLL)
    make_topic(cluster, "orders", error="Not authorized.")
    status(cluster, 0, severity=4)
    status(cluster, 0, "clicks")
    (row,) = judged()
    assert ALL - set(row.codes) == {"partitions_offline"}
    assert [one.topic for one in row.found] == ["clicks"]


def test_the_metadata_log_tells_the_state_of_topics_that_were_not_described():
    cluster = seen_cluster()
    make_topic(cluster, "orders", error="Not authorized.")
    status(cluster, severity=4)
    assert "partitions_offline" in found()


def test_replication_factors_are_counted_by_topic():
    cluster = seen_cluster()
    for number in (0, 1):
        status(cluster, number, severity=0, replica_text="|1|", missing_text="")
    status(cluster, 0, "clicks", severity=0, is_rf_below_min=True, missing_text="")
    assert found()["rf_one"].evidence == {"partitions": 2, "topics": 1, "examples": ["orders"]}
    assert found()["rf_below_min_isr"].evidence["examples"] == ["clicks"]


def test_unclean_elections_and_churn_are_read():
    cluster = seen_cluster()
    place = {"cluster": cluster, "key": "orders:0", "topic": "orders", "partition": 0}
    UncleanElection.objects.create(**place, at=OLD, leader=2, isr_before=[3])
    hour = NOW.replace(minute=0, second=0, microsecond=0)
    BrokerChurn.objects.create(cluster=cluster, broker_id=2, hour=hour, shrinks=20, expands=20)
    assert {code: one.brokers for code, one in found().items()} == {
        "unclean_election": (), "isr_flapping": (2,)
    }  # fmt: skip


def test_a_stuck_offset_is_found_while_offsets_are_fresh():
    cluster = make_cluster()
    topic = make_topic(cluster, "orders")
    told = {
        "offset": 7, "seen_ms": int(OLD.timestamp() * 1000), "is_too_long": True, "error": "Refused.",
    }  # fmt: skip
    Partition.objects.create(
        cluster=cluster, topic=topic, partition=3, open_transaction=told, changed_at=NOW
    )
    row = CollectionRound.objects.create(cluster=cluster, noun=Noun.OFFSETS, succeeded_at=NOW)
    one = found()["last_stable_offset_stuck"]
    assert (one.subject, one.since) == ("orders-3", OLD)
    assert one.todo.startswith("kafka-transactions.sh")
    CollectionRound.objects.filter(pk=row.pk).update(succeeded_at=OLD)
    assert [(set(one.codes), one.found) for one in judged()] == [(set(), ())]


def test_reading_more_clusters_and_partitions_takes_no_more_queries():
    def count():
        with CaptureQueriesContext(connection) as captured:
            judged()
        return len(captured)

    status(seen_cluster())
    before = count()
    for number in range(20):
        status(seen_cluster(f"west-{number}"), number)
    assert count() == before


@pytest.mark.parametrize("jump_s", [3600, -3600], ids=["ahead", "back"])
def test_a_clock_that_was_set_leaves_the_checks_that_wait_as_they_are(jump_s):
    since = NOW - timedelta(seconds=max(jump_s, -60))
    status(seen_cluster(), since=since)
    memory = {"at_s": NOW.timestamp() - 5 - jump_s}
    (one,) = partitions.judge(Given(NOW, Settings(), 5, memory))
    assert one.found == ()
    assert ALL - one.codes == {"at_min_isr"}

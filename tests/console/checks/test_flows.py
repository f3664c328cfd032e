"""The area of flows: what is read of their rows, and that the number of queries is constant."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.checks.areas.area import Given
from console.checks.areas.flows import judge
from console.clusters.models import Broker, CollectionRound, Noun, Partition
from console.replication.flows.models import FlowReadiness
from jobs.availability.status.severity import Severity
from jobs.checks.settings import Settings
from tests.console.making import NOW, make_flow, make_partition, make_run, make_topic
from tests.console.replication.audit_runs import DIFFERS, FINDINGS, make_audit

pytestmark = pytest.mark.django_db


def given(passed_s=5.0, memory=None):
    return Given(NOW, Settings(), passed_s, memory or {})


def found(one=None):
    return {finding.code: finding for judged in judge(one or given()) for finding in judged.found}


def make_running(name="orders to west", **fields):
    """A running flow with one partition, measured now."""
    values = {
        "is_wanted": True,
        "measured_at": NOW,
        "partition_count": 1,
        "states": {"copying": 1},
        "lag_ms": 0,
    } | fields
    flow = make_flow(name, **values)
    make_run(flow, reported_at=NOW, started_at=NOW - timedelta(hours=1))
    return flow


def make_offline(flow, cluster, topic, replicas=(1, 3)):
    CollectionRound.objects.create(cluster=cluster, noun=Noun.TOPICS, succeeded_at=NOW)
    Broker.objects.create(cluster=cluster, broker_id=1, changed_at=NOW)
    Broker.objects.create(cluster=cluster, broker_id=3, is_live=False, changed_at=NOW)
    Partition.objects.create(
        cluster=cluster,
        topic=make_topic(cluster, topic),
        partition=0,
        replicas=list(replicas),
        severity=Severity.OFFLINE.value,
        changed_at=NOW,
    )
    make_partition(flow, state="retrying", remote_topic="east.orders")


def test_a_stopped_flow_is_judged_and_has_no_finding():
    make_flow(lag_ms=10_000_000, measured_at=NOW)
    (one,) = judge(given())
    assert (one.found, "flow_lag" in one.codes) == ((), True)


def test_a_flow_that_fails_says_what_its_page_says():
    make_flow(is_wanted=True, failures=2, failing_since=NOW, failure="It broke.")
    one = found()["flow_failing"]
    assert "2 runs failed in a row. The last one: It broke." in one.sentence
    assert (one.since, "next attempt" in one.todo) == (NOW, True)


def test_failing_partitions_of_an_offline_remote_partition_name_its_brokers():
    flow = make_running(states={"retrying": 1, "copying": 1}, partition_count=2)
    make_offline(flow, flow.target, "east.orders")
    one = found()["flow_partition_failing"]
    assert (one.brokers, one.evidence["offline_on_west"]) == ((3,), 1)
    assert one.evidence["topics"] == ["orders"]


def test_a_cluster_that_cannot_be_collected_says_nothing_of_offline_partitions():
    flow = make_running(states={"retrying": 1, "copying": 1}, partition_count=2)
    make_offline(flow, flow.target, "east.orders")
    CollectionRound.objects.update(failing_since=NOW)
    one = found()["flow_partition_failing"]
    assert (one.brokers, one.evidence["offline"]) == ((), False)


def test_records_at_risk_come_from_the_fresh_answer_of_the_flow():
    flow = make_running()
    row = FlowReadiness.objects.create(
        flow=flow,
        readiness="blocked",
        counts={"blocked": 1, "ready": 2},
        rpo_ms=400_000,
        rpo_records=9,
        since=NOW,
        updated_at=NOW,
        succeeded_at=NOW,
    )
    assert "flow_rpo" in found()
    FlowReadiness.objects.filter(pk=row.pk).update(succeeded_at=NOW - timedelta(hours=1))
    (one,) = judge(given())
    assert "flow_rpo" not in {*one.codes, *(f.code for f in one.found)}


def test_an_audit_that_differs_is_found_with_the_offsets_of_the_first_records():
    make_audit(make_running(), findings=FINDINGS, **DIFFERS)
    one = found()["copy_differs"]
    assert (one.evidence["missing"], one.evidence["first"][0]) == (
        4,
        "orders-0: 4 missing at source offset 100",
    )


def test_time_that_a_flow_is_starting_is_counted_from_round_to_round():
    flow = make_flow(is_wanted=True)
    first = given()
    assert found(first) == {}
    assert first.memory[str(flow.pk)] == 5.0
    assert "flow_stopped" in found(given(memory={str(flow.pk): 299.0}))


def test_the_number_of_queries_does_not_depend_on_the_number_of_flows():
    def count():
        with CaptureQueriesContext(connection) as captured:
            list(judge(given()))
        return len(captured)

    make_offline(make_running(), make_flow("other").target, "east.orders")
    few = count()
    for number in range(5):
        make_partition(make_running(f"flow {number}"), state="failed")
    assert count() == few


def test_a_run_that_seems_to_start_because_the_clock_was_set_back_is_not_one_that_hangs():
    flow = make_flow(is_wanted=True)
    ahead = NOW + timedelta(hours=1)
    make_run(flow, reported_at=NOW, started_at=ahead, created_at=ahead)
    assert "flow_stopped" not in found(given(60, {str(flow.pk): 900}))

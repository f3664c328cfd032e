"""When a flow is measured again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from console.frame.claims import CLAIM
from console.replication.flows.models import FlowRound
from console.replication.measurement.collect import MEASUREMENTS, collect_flow, measure_soon
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from tests.console.making import NOW, StubFlow, make_flow, make_run, partition_row, progress

pytestmark = pytest.mark.django_db


def source():
    return {TopicPartition("orders", 0): OffsetRange(0, 110, 110, 5_000)}


def running(flow):
    return make_run(flow, progress=progress(partition_row()), reported_at=NOW)


def measured(flow, door):
    assert collect_flow(flow.pk, lambda: NOW, door.queries)


def test_a_flow_that_is_wanted_is_measured_as_often_before_its_run_is_up():
    flow = make_flow(is_wanted=True)
    measured(flow, StubFlow(positions={}, ranges=source()))
    assert MEASUREMENTS.due(NOW + timedelta(seconds=5)) == [flow.pk]


def test_a_flow_at_rest_that_is_started_is_measured_at_once_and_a_round_on_its_way_stays():
    resting, claimed = make_flow("resting"), make_flow("claimed")
    for flow, until in ((resting, NOW + timedelta(seconds=29)), (claimed, NOW + CLAIM)):
        FlowRound.objects.create(flow=flow, noun="source", claimed_until=until)
        measure_soon(flow.pk, NOW)
    assert MEASUREMENTS.due(NOW) == [resting.pk]


@pytest.mark.parametrize(("is_running", "after_s"), [(True, 5), (False, 30)])
def test_a_flow_is_due_again_after_its_interval(is_running, after_s):
    flow = make_flow()
    if is_running:
        running(flow)
    measured(flow, StubFlow(positions={}, ranges=source()))
    assert MEASUREMENTS.due(NOW + timedelta(seconds=after_s / 2)) == []
    assert MEASUREMENTS.due(NOW + timedelta(seconds=after_s)) == [flow.pk]


def test_a_running_flow_whose_round_broke_is_measured_again_after_its_interval():
    flow = make_flow()
    running(flow)

    def ranges(*_):
        raise ValueError("boom")

    collect_flow(flow.pk, lambda: NOW, replace(StubFlow().queries, ranges=ranges))
    assert flow.rounds.get(noun="source").error.startswith("crosslog failed while measuring")
    assert MEASUREMENTS.due(NOW + timedelta(seconds=5)) == [flow.pk]

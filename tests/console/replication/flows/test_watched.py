"""Flows that MirrorMaker 2 copies: crosslog measures them and never runs them."""

import pytest
from django.urls import reverse

from console.frame.errors import ActionRefused
from console.frame.pages.freshness import Freshness
from console.replication.control import actions as control_actions
from console.replication.control.reconcile import reconcile_flows
from console.replication.flows import actions
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.queries import freshness_of
from console.replication.flows.status import judge_flow
from console.replication.measurement.collect import collect_flow
from console.runs.models import Run, RunState
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import InvalidFields
from tests.console.making import NOW, StubFlow, StubLauncher, make_cluster, make_flow, make_run
from tests.console.replication.flow_form import flow_form

pytestmark = pytest.mark.django_db
ORDERS = TopicPartition("orders", 0)
SETTINGS = {
    "name": "mm2",
    "source": "east",
    "target": "west",
    "topics": ["orders"],
    "copied_by": "mirror_maker",
}


@pytest.fixture
def flow():
    return make_flow(copied_by="mirror_maker", offset_syncs="source")


def measure(flow, door):
    assert collect_flow(flow.pk, lambda: NOW, door.queries)
    return ReplicationFlow.objects.get(pk=flow.pk)


def at(position, end):
    ranges = {ORDERS: OffsetRange(log_start_offset=0, high_watermark=end, end_offset=end)}
    return StubFlow(positions={ORDERS: position}, ranges=ranges)


def test_its_offset_syncs_are_on_the_source_as_mirror_maker_keeps_them():
    make_cluster("east"), make_cluster("west")
    assert actions.create_flow(SETTINGS, None, NOW).offset_syncs == "source"


def test_it_is_not_created_as_one_that_runs():
    make_cluster("east"), make_cluster("west")
    with pytest.raises(InvalidFields) as refused:
        actions.create_flow(SETTINGS, None, NOW, start=True)
    assert set(refused.value.errors) == {"start"}
    assert not ReplicationFlow.objects.exists()


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(actions.start_flow, id="start"),
        pytest.param(actions.stop_flow, id="stop"),
        pytest.param(lambda flow: actions.accept_new_topics(flow, ["orders"]), id="accept topics"),
        pytest.param(lambda flow: control_actions.pause(flow, ["orders"]), id="pause"),
        pytest.param(lambda flow: control_actions.resume(flow, ["orders"]), id="resume"),
        pytest.param(lambda flow: control_actions.restart_parts(flow, ["orders"]), id="restart"),
        pytest.param(lambda flow: control_actions.change_control(flow, {}), id="control"),
    ],
)
def test_nothing_of_it_is_steered_here(flow, act):
    with pytest.raises(ActionRefused, match="crosslog only monitors it") as refused:
        act(flow)
    assert refused.value.code == "flow_is_watched"


def test_no_run_of_it_is_started_even_if_its_row_says_that_it_is_wanted(flow, settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    ReplicationFlow.objects.update(is_wanted=True)
    reconcile_flows(NOW, StubLauncher())
    assert not Run.objects.exists()


@pytest.mark.parametrize("state", [{"is_wanted": True}, {"run": True}], ids=["wanted", "running"])
def test_a_flow_that_crosslog_copies_is_stopped_before_it_is_handed_over(state):
    flow = make_flow(is_wanted=state.get("is_wanted", False))
    if state.get("run"):
        make_run(flow)
    with pytest.raises(InvalidFields) as refused:
        actions.change_flow(flow, {"copied_by": "mirror_maker"})
    assert set(refused.value.errors) == {"copied_by"}


def test_a_stopped_flow_is_handed_over():
    flow = make_flow()
    make_run(flow, state=RunState.STOPPED)
    actions.change_flow(flow, {"copied_by": "mirror_maker"})
    assert ReplicationFlow.objects.get().is_watched


@pytest.mark.parametrize(
    ("position", "state", "lag"),
    [(100, "caught_up", 0), (90, "watched", 10)],
    ids=["end", "behind"],
)
def test_its_lag_comes_from_the_position_that_mirror_maker_committed(flow, position, state, lag):
    measured = measure(flow, at(position, 100))
    row = flow.partitions.get()
    assert (row.state, row.position, row.lag, measured.lag) == (state, position, lag, lag)
    assert judge_flow(measured, NOW).state == "watched"


def test_without_positions_on_the_target_it_says_what_was_looked_for(flow):
    status = judge_flow(measure(flow, StubFlow(positions={}, ranges={})), NOW)
    assert (status.state, status.is_wrong) == ("waiting", True)
    assert "mm2-offsets.east.internal on west" in status.reason


def test_a_cluster_that_does_not_answer_is_why_it_cannot_be_watched(flow):
    status = judge_flow(measure(flow, StubFlow(positions=None, ranges={})), NOW)
    assert status.state == "waiting"
    assert "cannot be monitored now: west: no broker answered" in status.reason


def test_while_it_has_no_partitions_nothing_is_said_of_the_end_of_its_source(flow):
    stub = StubFlow(positions={}, ranges={})
    measured = measure(flow, stub)
    positions, source, _ = freshness_of(measured)
    assert (stub.asked, positions.succeeded_at) == (["positions"], NOW)
    assert source == Freshness("Source offsets", None)


def test_its_pages_offer_nothing_that_would_be_refused(flow, sign_in, operator):
    client = sign_in(operator)
    page = client.get(reverse("replication:detail", args=[flow.pk])).content.decode()
    for name in ("start", "stop", "pause", "control"):
        assert reverse(f"replication:{name}", args=[flow.pk]) not in page
    assert "MirrorMaker 2 replicates this flow" in page


def test_the_form_takes_it_although_the_box_to_start_is_ticked(sign_in, operator):
    make_cluster("east"), make_cluster("west")
    form = flow_form(offset_syncs="source", start="on") | SETTINGS | {"topics": "orders"}
    answer = sign_in(operator).post(reverse("replication:new"), form)
    flow = ReplicationFlow.objects.get()
    assert answer.url == reverse("replication:detail", args=[flow.pk])
    assert (flow.is_watched, flow.is_wanted) == (True, False)

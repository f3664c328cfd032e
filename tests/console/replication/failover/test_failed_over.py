"""After an applied plan a group lives on the target: nothing is found about its offsets there."""

import pytest

from console.clusters.models import Group
from console.findings.models import Finding
from console.replication.checkpoints.news import checkpoint_news
from console.replication.failover.models import FailoverPlan, FailoverPlanGroup
from console.replication.failover.queries import groups_failed_over
from console.replication.flows.models import GroupReadiness, ReplicationFlow
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.findings.reading import WireAnswers
from jobs.replication.findings.snapshot import GroupSnapshot
from tests.console.making import NOW
from tests.console.replication.control.test_pages import SYNCED, written
from tests.console.replication.finding import clusters_that_answer
from tests.console.replication.finding_looks import look
from tests.console.replication.findings.test_collect import checkpoints
from tests.console.replication.readiness_world import (
    ORDERS,
    add_group,
    judged,
    make_world,
    translator,
)

pytestmark = pytest.mark.django_db
COPY = TopicPartition("east.orders", 0)


def apply_plan(flow, direction="failover", *, state="applied", minute=0) -> None:
    """Make a plan as it is after it was applied to the group."""
    at = NOW.replace(minute=minute)
    plan = FailoverPlan.objects.create(
        flow=flow,
        name=f"{direction} {minute}",
        direction=direction,
        state="ready",
        applied_at=at if state == "applied" else None,
        created_at=at,
    )
    FailoverPlanGroup.objects.create(plan=plan, group="readers", verdict="pass", state=state)


@pytest.fixture
def moved():
    """A flow whose group stopped on the source, was moved, and has read on there."""
    flow = make_world()
    Group.objects.update(member_count=0, state="Empty")
    add_group(flow.target, "readers", {COPY: 590}, members=0)
    apply_plan(flow)
    return flow


@pytest.mark.parametrize(
    ("plans", "expected"),
    [
        pytest.param([], set(), id="no plan"),
        pytest.param([("failover", "applied")], {"readers"}, id="applied"),
        pytest.param([("failover", "planned")], set(), id="not applied"),
        pytest.param([("failover", "undone")], set(), id="rolled back"),
        pytest.param(
            [("failover", "applied"), ("failback", "applied")], set(), id="moved back since"
        ),
        pytest.param(
            [("failback", "applied"), ("failover", "applied")], {"readers"}, id="moved again"
        ),
    ],
)
def test_the_newest_applied_plan_says_where_a_group_lives(plans, expected):
    flow = make_world()
    for minute, (direction, state) in enumerate(plans):
        apply_plan(flow, direction, state=state, minute=minute)
    assert groups_failed_over(flow) == expected


@pytest.mark.parametrize("members", [0, 1])
def test_a_group_that_a_plan_moved_blocks_nothing_on_the_target(moved, members):
    Group.objects.filter(cluster=moved.target).update(member_count=members)
    answer = judged(moved)
    row = GroupReadiness.objects.get()
    assert (row.readiness, row.reason, row.evidence) == ("not_covered", "failed_over", [])
    assert (answer.readiness, answer.counts) == ("ready", {"not_covered": 1})


def test_a_group_that_runs_on_the_source_again_is_judged_again(moved):
    Group.objects.filter(cluster=moved.source).update(member_count=1)
    judged(moved)
    row = GroupReadiness.objects.get()
    assert (row.readiness, row.reason) == ("blocked", "target_ahead")


@pytest.mark.parametrize(
    ("has_plan", "expected"),
    [pytest.param(True, [], id="a plan"), pytest.param(False, ["readers"], id="no plan")],
)
def test_a_group_ahead_is_a_finding_only_without_a_plan(moved, has_plan, expected):
    if not has_plan:
        FailoverPlan.objects.all().delete()
    ReplicationFlow.objects.update(is_wanted=True)
    seen = GroupSnapshot("readers", ORDERS, 100, 590, checkpoint=(100, 500))
    kafka = clusters_that_answer(WireAnswers(**checkpoints(100, 500)), [seen])
    for minute in range(2):
        look(moved, kafka, minute, translator_of=translator)
    found = Finding.objects.filter(code="group_ahead").values_list("subject", flat=True)
    assert list(found) == expected


def test_what_the_run_tells_of_a_group_that_a_plan_moved_is_no_finding(moved):
    sync = SYNCED | {"errors": {}, "ahead": ["Group readers is ahead.", "Group stock is ahead."]}
    told = written(group_sync=sync | {"ahead_groups": ["readers", "stock"]}, without={})
    ReplicationFlow.objects.update(checkpoint_writing=told)
    moved.refresh_from_db()
    assert [one["what"] for one in checkpoint_news(moved).findings] == ["Group stock is ahead."]

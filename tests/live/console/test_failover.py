"""Plans of the console against real clusters, also when the source is gone."""

import pytest
from django.utils import timezone

from console.clusters.models import Cluster, CollectionRound, Group, GroupOffset
from console.replication.failover import actions, work
from console.replication.failover.door import KAFKA
from console.replication.flows.models import ReplicationFlow
from tests.live.copiers import copy_all, flow_between
from tests.live.groups import committed, consume, new_group
from tests.live.records import produce
from tests.live.topics import new_topic

pytestmark = pytest.mark.django_db


@pytest.fixture
def moved(east, west):
    """A flow of the console whose topic is copied, and a group that has read half of it."""
    topic, group, now = new_topic(east), new_group(), timezone.now()
    spec = flow_between(east, west, topic)
    produce(east, topic, 200)
    consume(east, group, topic, 100)
    copy_all(spec, east, topic)
    sides = [
        Cluster.objects.create(
            alias=one.plan.alias, bootstrap_servers=one.bootstrap_servers, created_at=now
        )
        for one in (east, west)
    ]
    flow = ReplicationFlow.objects.create(
        name=spec.name,
        source=sides[0],
        target=sides[1],
        topics=[topic],
        groups=[".*"],
        created_at=now,
    )
    return flow, topic, group


def make_plan(flow, group: str):
    plan = actions.create_plan(flow, {"groups": [group]}, None, timezone.now())
    work.read_plan(plan.pk, timezone.now(), KAFKA)
    plan.refresh_from_db()
    assert plan.state == "ready", plan.error
    return plan


def carry_out(run) -> None:
    work.carry_out(run.pk, timezone.now(), KAFKA)
    run.refresh_from_db()
    assert run.state == "succeeded", (run.error, [row.message for row in run.run_groups.all()])


def test_a_plan_is_rehearsed_applied_and_undone(moved, west):
    flow, topic, group = moved
    plan = make_plan(flow, group)
    carry_out(actions.rehearse_plan(plan, None, timezone.now()))
    assert committed(west, group) == {}
    carry_out(actions.apply_plan(plan, plan.name, None, timezone.now()))
    (item,) = plan.plan().group(group).items
    assert committed(west, group) == {f"east.{topic}-0": item.target}
    plan.refresh_from_db()
    carry_out(actions.undo_plan(plan, plan.name, None, timezone.now()))
    assert committed(west, group) == {}


def test_a_source_that_is_gone_is_left_by_what_was_last_seen_of_it(moved, west):
    flow, topic, group = moved
    now = timezone.now()
    CollectionRound.objects.create(cluster=flow.source, noun="groups", succeeded_at=now)
    row = Group.objects.create(cluster=flow.source, group_id=group, state="Empty", changed_at=now)
    GroupOffset.objects.create(
        group=row, topic=topic, partition=0, committed_offset=100, changed_at=now
    )
    Cluster.objects.filter(pk=flow.source_id).update(bootstrap_servers="127.0.0.1:1")
    plan = make_plan(ReplicationFlow.objects.get(), group)
    states = {check["key"]: check["state"] for check in plan.document["checks"]}
    assert states["origin_answers"] == "warning"
    carry_out(actions.apply_plan(plan, plan.name, None, timezone.now()))
    assert committed(west, group).keys() == {f"east.{topic}-0"}
    assert len(consume(west, group, f"east.{topic}")) >= 100

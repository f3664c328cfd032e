"""A flow with groups on both sides, as the rounds of clusters leave it, and a door to answer for Kafka."""

from __future__ import annotations

from dataclasses import replace

from console.clusters.models import CollectionRound, Group, GroupOffset, Noun, Partition
from console.replication.checkpoints.rounds.collect import CheckpointQueries, collect_readiness
from console.replication.flows.models import FlowReadiness, FlowRound, ReplicationFlow
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import NotAuthorized
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.topic import GroupPartition
from jobs.replication.translation.translator import SourceEnd, Translator
from tests.console.making import NOW, make_flow, make_partition, make_topic

NOW_MS = int(NOW.timestamp() * 1000)
ORDERS = TopicPartition("orders", 0)
# Offset n of the source is n + 400 on the target.
SYNCS = {ORDERS: [(0, 400), (100, 500), (200, 600)]}


class StubCheckpoints:
    """Two clusters that say what a test wants; `checkpoints` None: reading the topic is refused."""

    def __init__(
        self, checkpoints=None, *, exists=True, may_read=True, ends=None, commits=None
    ) -> None:
        self.kept = checkpoints or {}
        self.exists, self.may_read, self.end_of = exists, may_read, ends or {}
        self.before: list[CheckpointsRead] = []
        self.commits_now = commits
        self.asked: list[list[str]] = []
        self.queries = CheckpointQueries(self.checkpoints, self.commits, self.ends, translator)

    def checkpoints(self, flow, before):
        self.before.append(before)
        if not self.may_read:
            raise NotAuthorized("Reading east.checkpoints.internal is refused", cluster="west")
        if not self.exists:
            return CheckpointsRead(read_to=0, exists=False)
        return CheckpointsRead({**before.checkpoints, **self.kept}, 7, "topic-id")

    def commits(self, flow, groups):
        """Every group is where its row says, unless the test says where it is by now."""
        self.asked.append(list(groups))
        if self.commits_now is None:
            return stored_commits(groups)
        if not self.commits_now:
            raise NotAuthorized("Reading committed offsets is refused", cluster="east")
        return self.commits_now

    def ends(self, flow, remote):
        return {where: self.end_of[where] for where in remote if where in self.end_of}


def stored_commits(groups):
    rows = GroupOffset.objects.filter(group__cluster__alias="east", group__group_id__in=groups)
    found = {group: {} for group in groups}
    for row in rows.select_related("group"):
        where = TopicPartition(row.topic, row.partition)
        found[row.group.group_id][where] = CommittedOffset(row.committed_offset)
    return found


def checkpoint(
    group="readers", upstream=100, downstream=500, *, topic="east.orders", partition=0, at_ms=NOW_MS
):
    key = GroupPartition(group, TopicPartition(topic, partition))
    return {key: SeenCheckpoint(upstream, downstream, at_ms)}


def door(**more):
    """A door with a checkpoint of the one group, exactly at its offset."""
    return StubCheckpoints(checkpoint(), **more)


def translator(_flow=None) -> Translator:
    return Translator(SYNCS)


def make_world(**fields) -> ReplicationFlow:
    """Make a flow that has copied everything, and one group that has read half of it."""
    fields = {"groups": [".*"]} | fields
    flow = make_flow(measured_at=NOW, partition_count=1, **fields)
    make_partition(
        flow,
        remote_topic="east.orders",
        position=200,
        log_start_offset=0,
        end_offset=200,
        lag=0,
        lag_ms=0,
    )
    topic = make_topic(flow.target, "east.orders", partition_count=1)
    Partition.objects.create(
        cluster=flow.target,
        topic=topic,
        partition=0,
        log_start_offset=0,
        end_offset=600,
        changed_at=NOW,
    )
    add_group(flow.source, "readers", {ORDERS: 100})
    for cluster in (flow.source, flow.target):
        CollectionRound.objects.create(cluster=cluster, noun=Noun.GROUPS, succeeded_at=NOW)
    for noun in FlowRound.Noun:
        FlowRound.objects.create(flow=flow, noun=noun, succeeded_at=NOW)
    return flow


def add_group(cluster, name, offsets, *, members=1) -> Group:
    state = "Stable" if members else "Empty"
    group = Group.objects.create(
        cluster=cluster, group_id=name, state=state, member_count=members, changed_at=NOW
    )
    for where, committed in offsets.items():
        GroupOffset.objects.create(
            group=group,
            topic=where.topic,
            partition=where.partition,
            committed_offset=committed,
            changed_at=NOW,
        )
    return group


def judged(flow, stub=None, now=NOW, open_translator=translator) -> FlowReadiness:
    """Run a round and return the flow's answer."""
    queries = replace((stub or door()).queries, translator=open_translator)
    assert collect_readiness(flow.pk, lambda: now, queries)
    return FlowReadiness.objects.get(flow=flow)


END = SourceEnd(200, 600)

"""What is stored of groups, partitions and freshness, as the rules of checkpoints need it: plain values.

The room of clusters collects groups of both clusters every few seconds; this module only reads their rows,
in a constant number of queries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q

from console.clusters.models import Cluster, CollectionRound, Group, GroupOffset, Noun, Partition
from console.clusters.queries import commit_offsets
from console.replication.control.conflicts import usable_flows
from console.replication.failover.queries import groups_failed_over
from console.replication.flows.audits import audits_of
from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow
from jobs.cluster.descriptions import TopicPartition
from jobs.limits import CUT_ID, GROUPS_LEFT_OUT, LEFT_OUT, TEXT, short
from jobs.numbers import format_age
from jobs.replication.flow.selection import group_filter_of, policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.mirror_client import rename_topic

# Rows of answers have no longer name: `short` makes it exactly so long.
_CUT = f"{LEFT_OUT}its id is longer than {TEXT - 1} characters, or has NUL."
Commits = dict[str, dict[TopicPartition, int | None]]


class Copied(NamedTuple):
    """A source partition as the flow measured it; None is unknown."""

    position: int | None
    log_start_offset: int | None
    end_offset: int | None
    lag: int | None
    lag_ms: int | None

    @property
    def copied_to(self) -> int | None:
        """Up to where everything is copied: with no lag up to the end, whatever markers stand there."""
        if self.position is None or self.lag != 0 or self.end_offset is None:
            return self.position
        return max(self.position, self.end_offset)


class Member(NamedTuple):
    """A group as a cluster described it."""

    state: str
    member_count: int | None


@dataclass(slots=True)
class StoredFacts:
    """Everything stored that a round of one flow needs.

    `commits` are the source's, by group; `synced` the target's, by group and remote partition. `stale` names
    what is too old to judge by, empty when nothing is; `is_target_known` is False while the target's groups
    are. `failed_over` are groups that a plan of this flow moved to the target, `left_out` what is beyond the
    limits by group, on either side, and `groups_left_out` says where groups are. `cut` are groups whose ids
    are too long or have NUL: all of their offsets are known, and nothing can ask for them by these names.
    `differs` is what a copy audit found, empty when nothing differs or nothing was audited.
    """

    spec: FlowSpec
    groups: dict[str, Member] = field(default_factory=dict)
    commits: Commits = field(default_factory=dict)
    target_groups: dict[str, Member] = field(default_factory=dict)
    synced: Commits = field(default_factory=dict)
    copied: dict[TopicPartition, Copied] = field(default_factory=dict)
    remote_starts: dict[TopicPartition, int | None] = field(default_factory=dict)
    stale: str = ""
    is_target_known: bool = True
    failed_over: frozenset[str] = frozenset()
    left_out: dict[str, str] = field(default_factory=dict)
    groups_left_out: str = ""
    differs: str = ""
    cut: frozenset[str] = frozenset()
    names: Names = field(init=False)
    others: list[FlowSpec] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.names = Names(self.spec)

    def why_unknown(self, group: str) -> str:
        """Return what of a group is beyond the limits; empty for nothing."""
        return self.left_out.get(group) or (_CUT if group in self.cut else "")

    def is_from_target(self, topic: str) -> bool:
        """Return whether a topic is a copy of one that the target has anyway."""
        return self.names.policy.topic_source(topic) == self.spec.target.alias

    def is_copied_elsewhere(self, topic: str) -> bool:
        """Return whether another flow of the same clusters copies a topic."""
        return any(should_replicate(other, topic) for other in self.others)


class Names:
    """What topics and groups are to a flow, each asked once: patterns are slow beside a dictionary."""

    def __init__(self, spec: FlowSpec) -> None:
        self.spec = spec
        self.policy = policy_of(spec)
        self._groups = group_filter_of(spec)
        self._topics: dict[str, bool] = {}
        self._remote: dict[str, str] = {}

    def has_group(self, group: str) -> bool:
        """Return whether the flow's patterns name a group."""
        return self._groups.accepts(group)

    def has_topic(self, topic: str) -> bool:
        """Return whether the flow copies a topic."""
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = should_replicate(self.spec, topic)
        return known

    def remote(self, where: TopicPartition) -> TopicPartition:
        """Return the partition of the target that a source partition is copied to."""
        name = self._remote.get(where.topic)
        if name is None:
            name = self._remote[where.topic] = rename_topic(
                self.policy,
                where.topic,
                source_alias=self.spec.source.alias,
                target_alias=self.spec.target.alias,
            )
        return TopicPartition(name, where.partition)


def read_stored(flow: ReplicationFlow, now: datetime, stale_ms: int) -> StoredFacts:
    """Return what is stored for a round of this flow; raises `InvalidFields`."""
    found = StoredFacts(flow.spec())
    found.groups = _groups_of(flow.source, commit_offsets())
    found.commits = _commits_of(
        GroupOffset.objects.filter(commit_offsets("group__"), group__cluster=flow.source)
    )
    # A name that a group of another type has on the target is taken.
    found.target_groups = _groups_of(flow.target, Q())
    both = Group.objects.filter(cluster__in=[flow.source, flow.target]).order_by()
    partial = both.filter(error__startswith=LEFT_OUT)
    found.left_out = {short(name): why for name, why in partial.values_list("group_id", "error")}
    cut = both.filter(error__contains=CUT_ID).values_list("group_id", flat=True)
    found.cut = frozenset([*map(short, cut), *(name for name in found.groups if len(name) == TEXT)])
    found.synced = _commits_of(
        GroupOffset.objects.filter(group__cluster=flow.target, committed_offset__isnull=False)
    )
    rows = FlowPartition.objects.filter(flow=flow)
    for topic, partition, *numbers in rows.values_list("topic", "partition", *Copied._fields):
        found.copied[TopicPartition(topic, partition)] = Copied(*numbers)
    found.remote_starts = _starts_of(
        flow.target, {found.names.remote(w).topic for w in found.copied}
    )
    found.others = _others_of(flow)
    found.failed_over = groups_failed_over(flow)
    rounds = CollectionRound.objects.filter(noun=Noun.GROUPS, error__contains=GROUPS_LEFT_OUT)
    aliases = rounds.filter(cluster__in=[flow.source, flow.target]).order_by("cluster__alias")
    names = ", ".join(aliases.values_list("cluster__alias", flat=True))
    found.groups_left_out = f"Groups of {names} are beyond the limits." if names else ""
    audit = audits_of([flow], now)[flow.pk]
    if audit.differs:
        found.differs = f"Copy audit of {audit.at:%Y-%m-%d %H:%M} UTC: {audit.sentence}"
    ages = list(_ages(flow, now, stale_ms))
    found.stale = "; ".join(text for text, _ in ages)
    found.is_target_known = not any(is_targets for _, is_targets in ages)
    return found


def _groups_of(cluster: Cluster, which: Q) -> dict[str, Member]:
    rows = Group.objects.filter(which, cluster=cluster).order_by()
    return {
        short(name): Member(*rest) for name, *rest in rows.values_list("group_id", *Member._fields)
    }


def _commits_of(rows: Any) -> Commits:
    found: Commits = {}
    wanted = ("group__group_id", "topic", "partition", "committed_offset")
    for group, topic, partition, committed in rows.order_by().values_list(*wanted).iterator(10_000):
        found.setdefault(short(group), {})[TopicPartition(topic, partition)] = committed
    return found


def _starts_of(cluster: Cluster, topics: Iterable[str]) -> dict[TopicPartition, int | None]:
    wanted = set(topics)
    rows = Partition.objects.filter(cluster=cluster).order_by()
    values = rows.values_list("topic__name", "partition", "log_start_offset")
    return {TopicPartition(name, number): start for name, number, start in values if name in wanted}


def _others_of(flow: ReplicationFlow) -> list[FlowSpec]:
    same = Q(source=flow.source_id, target=flow.target_id)
    others = ReplicationFlow.objects.filter(same).exclude(pk=flow.pk)
    return [spec for _, spec in usable_flows(others.select_related("source", "target"))]


def _ages(flow: ReplicationFlow, now: datetime, stale_ms: int) -> Iterable[tuple[str, bool]]:
    """Yield what is too old, in words, and whether it is about the target's groups."""
    rounds: Mapping[int, CollectionRound] = {
        row.cluster_id: row
        for row in CollectionRound.objects.filter(
            cluster__in=[flow.source_id, flow.target_id], noun=Noun.GROUPS
        )
    }
    for cluster in (flow.source, flow.target):
        row = rounds.get(cluster.pk)
        at = row.succeeded_at if row else None
        if _is_old(at, now, stale_ms):
            yield f"groups of {cluster.alias} {_when(at, now)}", cluster == flow.target
    halves = FlowRound.objects.filter(flow=flow).exclude(succeeded_at=None, failing_since=None)
    for half in halves.order_by("noun"):
        if _is_old(half.succeeded_at, now, stale_ms):
            name = FlowRound.Noun(half.noun).label.lower()
            yield f"{name} of the flow {_when(half.succeeded_at, now)}", False


def _is_old(at: datetime | None, now: datetime, stale_ms: int) -> bool:
    return at is None or (now - at).total_seconds() * 1000 > stale_ms


def _when(at: datetime | None, now: datetime) -> str:
    return f"as of {format_age(at, now)}" if at else "never read"

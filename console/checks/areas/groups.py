"""Consumer groups of every cluster: lag, its trend, retention, members and commits.

A group that the last round could not read is not judged: its findings stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from console.checks.areas.area import JUMP_S, Area, Given, Judged, clock_set_s
from console.clusters import queries as clusters
from console.clusters.collection.group_rows import UNHEARD
from console.clusters.models import Cluster, Noun
from console.findings.models import Kind
from console.findings.queries import open_findings
from jobs.checks import groups as rules
from jobs.checks.group_memory import GroupMemory, Seen
from jobs.checks.groups import GroupState, OffsetState, Retention
from jobs.findings import Finding
from jobs.limits import LEFT_OUT
from jobs.replication.flow.lag import LagStatus
from jobs.severity import Severity

TRENDS = {rules.GROWING.id, rules.CATCH_UP.id}
# Compare times that are recorded with the clock.
CLOCKED = {rules.RETENTION.id, rules.PARTITION_STUCK.id, rules.COMMITS_STOPPED.id}
ALWAYS = {rules.LAG_TIME.id, rules.MEMBERS_GONE.id}
CODES = TRENDS | CLOCKED | ALWAYS
STEADY_S = 600


class _Row(NamedTuple):
    pk: int
    cluster_id: int
    group_id: str
    member_count: int | None
    lag: int | None
    lag_ms: int | None
    unknown_count: int
    partition_count: int
    error: str


_OFFSET = (
    "topic", "partition", "lag", "lag_ms", "is_assigned", "committed_since", "next_timestamp_ms",
    "lag_status", "group_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Moment:
    """When the groups of a cluster were read, by the clock and by the time of rounds.

    `steady_s` is when the clock was last set.
    """

    clock_s: float
    read_s: float
    steady_s: float
    is_steady: bool

    def age_s(self, since: datetime | None) -> float | None:
        """Return how long ago something was, counted from when the clock was last set."""
        if since is None:
            return None
        at_s = since.timestamp()
        if at_s > self.read_s:
            at_s = self.steady_s or self.read_s
        return max(0.0, self.read_s - max(at_s, self.steady_s))


def judge(given: Given) -> Iterator[Judged]:
    """Judge the groups of every cluster whose groups are known now."""
    memory, now_s = given.memory, given.now.timestamp()
    steady_s = clock_set_s(given)
    is_set = steady_s == now_s
    clock_s = memory.get("clock_s", 0.0) + (0 if is_set else given.passed_s)
    known = {pk: GroupMemory.from_mapping(kept) for pk, kept in memory.get("clusters", {}).items()}
    enabled = list(clusters.enabled_clusters().prefetch_related("rounds"))
    of = {one.pk: known.get(str(one.pk), GroupMemory()) for one in enabled}
    if is_set:
        for one in of.values():
            one.forget_samples()
    read_at = {one: at for one in enabled if (at := _read_at(one, given.now)) is not None}
    facts = _Facts(read_at, given.now)
    for cluster, at in read_at.items():
        moment = _Moment(clock_s, at.timestamp(), steady_s, now_s - steady_s >= STEADY_S)
        yield _judge_cluster(cluster, of[cluster.pk], moment, facts, given)
    given.memory = {
        "clock_s": round(clock_s, 1),
        "at_s": now_s,
        "steady_s": steady_s,
        "clusters": {str(pk): one.to_mapping() for pk, one in of.items()},
    }


def _read_at(cluster: Cluster, now: datetime) -> datetime | None:
    """Return when all groups of a cluster were read; None: too long ago, or some are missing."""
    row = next((one for one in cluster.rounds.all() if one.noun == Noun.GROUPS), None)
    if row is None or clusters.freshness_of_noun(cluster, Noun.GROUPS).is_stale(now):
        return None
    is_ahead = row.succeeded_at is not None and (row.succeeded_at - now).total_seconds() > JUMP_S
    return None if is_ahead or UNHEARD in row.error else row.succeeded_at


def _judge_cluster(
    cluster: Cluster, memory: GroupMemory, moment: _Moment, facts: _Facts, given: Given
) -> Judged:
    rows = facts.groups.get(cluster.pk, [])
    unread = {one.group_id: str(one.pk) for one in rows if not _is_read(one)}
    read = [one for one in rows if one.group_id not in unread]
    memory.add(
        moment.clock_s,
        round(moment.read_s * 1000),
        (Seen(str(r.pk), r.member_count, r.lag, r.partition_count - r.unknown_count) for r in read),
        set(unread.values()),
    )
    found = [one for one in facts.open_findings(cluster) if one.evidence.get("group") in unread]
    for row in read:
        offsets = facts.offsets.get(row.pk)
        if row.lag or offsets:
            state = _state(cluster, row, offsets or [], memory, moment, facts)
            found += _apply(state, given)
    codes = ALWAYS | (TRENDS if memory.is_covered else set())
    return Judged(cluster, codes | (CLOCKED if moment.is_steady else set()), tuple(found))


def _apply(state: GroupState, given: Given) -> Iterator[Finding]:
    now, settings = given.now, given.settings
    if state.lag:
        yield from rules.lag_time(state, settings)
        yield from rules.growing(state, now, settings)
        yield from rules.catch_up(state, settings)
        yield from rules.members_gone(state, now, settings)
        yield from rules.commits_stopped(state, now, settings)
        yield from rules.partitions_stuck(state, now, settings)
    yield from rules.retention(state, now, settings)


def _is_read(row: _Row) -> bool:
    return not row.error or row.error.startswith(LEFT_OUT)


def _state(
    cluster: Cluster,
    row: _Row,
    offsets: Iterable[Sequence[Any]],
    memory: GroupMemory,
    moment: _Moment,
    facts: _Facts,
) -> GroupState:
    key, is_steady = str(row.pk), moment.is_steady
    gone, back = memory.gone.get(key), memory.back.get(key)
    return GroupState(
        cluster.pk,
        cluster.alias,
        row.group_id,
        row.member_count,
        row.lag,
        row.lag_ms,
        memory.samples(key),
        moment.age_s(facts.moved.get(row.pk)) if is_steady else None,
        None if gone is None else moment.clock_s - gone,
        None if back is None else moment.clock_s - back,
        [
            OffsetState(
                topic,
                partition,
                lag,
                lag_ms,
                is_assigned,
                moment.age_s(since) if is_steady else None,
                next_ms if is_steady else None,
                status == LagStatus.BEHIND_LOG_START,
                facts.retention.get((cluster.pk, topic), Retention(None)),
                facts.leaderless.get((cluster.pk, topic, partition)),
            )
            for topic, partition, lag, lag_ms, is_assigned, since, next_ms, status in offsets
        ],
        is_partial=bool(row.error),
    )


class _Facts:
    """What is recorded of the groups of clusters; a constant number of queries."""

    def __init__(self, of: Iterable[Cluster], now: datetime) -> None:
        self.of = list(of)
        self.groups: dict[int, list[_Row]] = {}
        for row in clusters.consumer_groups(self.of).values_list(*_Row._fields):
            self.groups.setdefault(row[1], []).append(_Row(*row))
        self.offsets: dict[int, list[Sequence[Any]]] = {}
        waiting = clusters.waiting_offsets(self.of).values_list(*_OFFSET)
        for *row, group in waiting.iterator(2000):
            self.offsets.setdefault(group, []).append(row)
        self.moved = clusters.dated_commits(self.of)
        self.retention = {
            (pk, name): _retention(configs)
            for pk, name, configs in clusters.list_topics()
            .filter(cluster__in=self.of)
            .values_list("cluster_id", "name", "configs")
        }
        placed = [
            one for one in self.of if not clusters.freshness_of_noun(one, Noun.TOPICS).is_stale(now)
        ]
        leaderless = clusters.leaderless_partitions(placed).values_list(
            "cluster_id", "topic__name", "partition", "isr"
        )
        self.leaderless: dict[tuple[int, str, int], tuple[int, ...]] = {
            (pk, topic, partition): tuple(isr) for pk, topic, partition, isr in leaderless
        }
        self.open: dict[int | None, list[Finding]] = {}
        if not all(_is_read(row) for rows in self.groups.values() for row in rows):
            for one in open_findings(Kind.CHECKS, cluster__in=self.of, code__in=CODES):
                self.open.setdefault(one.cluster_id, []).append(_finding(one))

    def open_findings(self, cluster: Cluster) -> list[Finding]:
        """Return the open findings about groups; none while every group was read."""
        return self.open.get(cluster.pk, [])


def _finding(row: Any) -> Finding:
    return Finding(
        row.code,
        Severity(row.severity),
        row.sentence,
        row.todo,
        row.subject,
        row.topic,
        row.partition,
        row.evidence,
        brokers=tuple(row.brokers),
    )


def _retention(configs: dict[str, str]) -> Retention | None:
    """Return how a topic deletes records; None when it is only compacted."""
    policy = configs.get("cleanup.policy", "")
    if policy and "delete" not in policy:
        return None
    ms, size = configs.get("retention.ms", ""), configs.get("retention.bytes", "")
    return Retention(int(ms) if ms.isdecimal() else None, size.isdecimal())


AREA = Area("groups", judge)

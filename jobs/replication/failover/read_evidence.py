"""Reads the evidence of a plan from both clusters. Read-only."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from jobs.cluster.admin.acls import AclBinding, describe_acls
from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs
from jobs.cluster.admin.groups import (
    CONSUMERS,
    SHARE,
    describe_groups,
    list_groups,
    read_committed_offsets,
)
from jobs.cluster.admin.offsets import (
    MARKER_RANGE,
    read_data_end,
    read_last_timestamp,
    read_offset_ranges,
    read_timestamp_at,
)
from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.positions import Positions, read_positions
from jobs.replication.failover.acl_checks import GROUP, TOPIC
from jobs.replication.failover.evidence import Evidence, Leg, Side, Way
from jobs.replication.failover.model import Direction, FailoverRequest
from jobs.replication.failover.planner import names_match
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import Translator

MOST_TIMES = 100
LastSeen = Callable[[], "Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """What was known of the origin's groups before it went away; `source` says where from."""

    committed: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
    at_ms: int
    source: str


@dataclass(frozen=True, slots=True)
class Route:
    """A flow and what is known of its offset syncs; `read_at_ms` is up to when, None: not known."""

    flow: FlowSpec
    translation: Translator
    read_at_ms: int | None = None


@dataclass(frozen=True, slots=True)
class EvidenceRequest:
    """What is to be read: the wish, the plan's own flow first in `routes`, and what helps in a disaster.

    `last_seen` gives the origin's offsets when it does not answer; without it that is an error.
    """

    request: FailoverRequest
    routes: tuple[Route, ...]
    last_seen: LastSeen | None = None
    timeout_s: float = 10.0
    clock: Callable[[], float] = field(default=time.time)

    @property
    def origin(self) -> Connection:
        """The cluster that groups leave."""
        flow = self.routes[0].flow
        return flow.source if self.request.direction is Direction.FAILOVER else flow.target

    @property
    def destination(self) -> Connection:
        """The cluster where they resume."""
        flow = self.routes[0].flow
        return flow.target if self.request.direction is Direction.FAILOVER else flow.source


def read_evidence(asking: EvidenceRequest) -> Evidence:
    """Ask both clusters; raises `ClusterFault` when the destination does not answer, or both do not."""
    with (
        ClusterClient(asking.origin, timeout_s=asking.timeout_s) as here,
        ClusterClient(asking.destination, timeout_s=asking.timeout_s) as there,
    ):
        return _Reader(asking, here, there).read()


class _Reader:
    """Reads one side after the other, in the order that makes ends a proof."""

    def __init__(self, asking: EvidenceRequest, here: ClusterClient, there: ClusterClient) -> None:
        self.asking, self.here, self.there = asking, here, there
        self.read_at_ms = int(asking.clock() * 1000)

    def read(self) -> Evidence:
        there_id = describe_cluster(self.there).cluster_id
        origin = self._groups_of_origin()
        legs = tuple(self._leg(route) for route in self.asking.routes)
        bare = Evidence(self.read_at_ms, origin, Side(self.there.connection.alias), legs)
        wanted = sorted({w for own in origin.committed.values() for w in own if self._is_wanted(w)})
        pairs = {
            w: TopicPartition(way[1], w.partition) for w in wanted if (way := bare.way(w.topic))
        }
        destination = self._destination(there_id, origin, set(pairs.values()))
        ranges = {} if origin.fault else _ranges(self.here, wanted)
        legs = tuple(self._with_later_positions(leg, origin) for leg in legs)
        origin = self._rest_of_origin(origin, ranges, legs)
        behind_ms = self._time_behind(origin, legs)
        return Evidence(self.read_at_ms, origin, destination, legs, behind_ms)

    def _is_wanted(self, where: TopicPartition) -> bool:
        return names_match(self.asking.request.topics, where.topic)

    def _groups_of_origin(self) -> Side:
        """Return the origin's groups and offsets: as they are, or as they were when it does not answer."""
        alias = self.here.connection.alias
        try:
            cluster_id = describe_cluster(self.here).cluster_id
            listed = list_groups(self.here, every_type=True).groups
            shares = self._named(one.group_id for one in listed if one.type == SHARE)
            names = self._named(one.group_id for one in listed if one.protocol in CONSUMERS)
            groups = describe_groups(self.here, names + shares) if names + shares else {}
            committed = read_committed_offsets(self.here, names) if names else {}
            committed |= {name: {} for name in shares}
            return Side(
                alias,
                cluster_id,
                committed_at_ms=self.read_at_ms,
                groups=groups,
                committed=committed,
            )
        except ClusterFault as fault:
            if self.asking.last_seen is None or not fault.retriable:
                raise
            known = self.asking.last_seen()
            if not known.committed:
                raise
            names = self._named(known.committed)
            kept = {name: known.committed[name] for name in names}
            return Side(
                alias,
                fault=str(fault),
                committed_at_ms=known.at_ms,
                committed_from=known.source,
                committed=kept,
            )

    def _named(self, groups: Iterable[str]) -> list[str]:
        return sorted({one for one in groups if names_match(self.asking.request.groups, one)})

    def _leg(self, route: Route) -> Leg:
        """Return a flow as a way; where a forward one is must be known before both sides' ends."""
        is_forward = route.flow.target.alias == self.there.connection.alias
        way = Way.FORWARD if is_forward else Way.BACK
        leg = Leg(route.flow, way, route.translation, read_at_ms=route.read_at_ms)
        return _with_positions(leg, self.there) if is_forward else leg

    def _with_later_positions(self, leg: Leg, origin: Side) -> Leg:
        """Add where a flow is that a group moves against: known after the end of the topic that it writes.

        What it copied before that end is in its position then, and is not taken for somebody else's records.
        """
        is_known = leg.way is Way.FORWARD or origin.fault
        return leg if is_known else _with_positions(leg, self.here)

    def _destination(
        self, cluster_id: str, origin: Side, wanted: Collection[TopicPartition]
    ) -> Side:
        names = sorted(origin.committed)
        topics = sorted({where.topic for where in wanted})
        described = {t.name: t for t in describe_topics(self.there, topics)} if topics else {}
        there = [t.name for t in described.values() if not t.error]
        known = sorted(
            w for w in wanted if w.partition in {p.partition for p in described[w.topic].partitions}
        )
        return Side(
            self.there.connection.alias,
            cluster_id,
            committed_at_ms=self.read_at_ms,
            groups=describe_groups(self.there, names) if names else {},
            committed=read_committed_offsets(self.there, names) if names else {},
            topics=described,
            ranges=_ranges(self.there, known),
            configs=_configs(self.there, there),
            acls=_acls(self.there),
        )

    def _rest_of_origin(
        self, origin: Side, ranges: Mapping[TopicPartition, OffsetRange], legs: Iterable[Leg]
    ) -> Side:
        """Add topics, offsets (read after those of the destination), settings and ACLs."""
        if origin.fault:
            return replace(origin, acls=f"{origin.alias} does not answer.")
        topics = sorted({where.topic for where in ranges})
        described = {t.name: t for t in describe_topics(self.here, topics)} if topics else {}
        return replace(
            origin,
            topics=described,
            topic_names=frozenset(list_topic_names(self.here)),
            ranges=ranges,
            data_ends=self._data_ends(origin, ranges, legs),
            configs=_configs(self.here, topics),
            acls=_acls(self.here),
        )

    def _data_ends(
        self, origin: Side, ranges: Mapping[TopicPartition, OffsetRange], legs: Iterable[Leg]
    ) -> dict[TopicPartition, int]:
        """Read where the last record is, near ends: markers of transactions are nothing to be read."""
        near: dict[TopicPartition, tuple[int, int]] = {}
        for where, mark in _marks(origin, ranges, legs):
            end = ranges[where].end_offset
            if end is not None and 0 < end - mark <= MARKER_RANGE:
                near[where] = (min(mark, near.get(where, (mark, end))[0]), end)
        return read_data_end(self.here, near) if near else {}

    def _time_behind(self, origin: Side, legs: Iterable[Leg]) -> int | None:
        """Return the time from the first record that was not copied to the newest, at the worst partition.

        0 when everything was copied; None when unknown, or too many partitions are behind to be read.
        """
        behind: dict[TopicPartition, tuple[int, int]] = {}
        for leg in legs:
            for where, position in leg.positions.items() if leg.way is Way.FORWARD else ():
                end = origin.range_of(where).end_offset
                end = origin.data_ends.get(where, end) if end is not None else None
                if end is not None and end > position:
                    behind[where] = (position, end)
        if not behind:
            return None if origin.fault else 0
        if len(behind) > MOST_TIMES:
            return None
        first = read_timestamp_at(self.here, {w: span[0] for w, span in behind.items()})
        last = read_last_timestamp(self.here, {w: span[1] for w, span in behind.items()})
        return max(
            (b - a for w in behind if (a := first[w]) is not None and (b := last[w]) is not None),
            default=None,
        )


def _marks(
    origin: Side, partitions: Collection[TopicPartition], legs: Iterable[Leg]
) -> Iterator[tuple[TopicPartition, int]]:
    """Yield where the last record of a partition may be: before a commit, or the last that was copied."""
    for own in origin.committed.values():
        known = ((where, one.offset) for where, one in own.items() if where in partitions)
        yield from ((where, offset) for where, offset in known if offset is not None)
    for leg in (leg for leg in legs if leg.way is Way.BACK):
        for where in partitions:
            source = TopicPartition(leg.counterpart(where.topic) or "", where.partition)
            if source in leg.copied_ends:
                yield where, leg.copied_ends[source]


def _with_positions(leg: Leg, client: ClusterClient) -> Leg:
    """Add where a flow is; that is kept on the flow's own target, which the client is of."""
    positions = read_positions(client, leg.flow.source.alias)
    return replace(leg, positions=dict(positions), copied_ends=_copied_ends(positions))


def _copied_ends(positions: Positions) -> dict[TopicPartition, int]:
    """Return the target offset behind the last copied record, where crosslog noted it."""
    found: dict[TopicPartition, int] = {}
    for where in positions:
        entry = positions.entry(where)
        if entry is not None and entry.last_sync is not None:
            found[where] = entry.last_sync[1] + 1
        elif entry is not None and entry.remote_end is not None:
            found[where] = entry.remote_end
    return found


def _ranges(
    client: ClusterClient, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, OffsetRange]:
    if not partitions:
        return {}
    return read_offset_ranges(client, sorted(partitions), with_timestamps=False)


def _configs(
    client: ClusterClient, topics: Collection[str]
) -> dict[str, Mapping[str, ConfigValue]]:
    answers = describe_topic_configs(client, topics) if topics else {}
    return {name: one for name, one in answers.items() if not isinstance(one, ClusterFault)}


def _acls(client: ClusterClient) -> list[AclBinding] | str | None:
    try:
        return describe_acls(client, (TOPIC, GROUP))
    except ClusterFault as fault:
        return f"{fault.message} {fault.hint}"

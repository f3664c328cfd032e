"""Queries and changes of failovers on clusters and offset syncs; tests use a fake."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from django.db.models import Max
from django.utils import timezone

from console.clusters.models import CollectionRound, GroupOffset, Noun
from console.clusters.queries import commit_offsets
from console.replication.flows.models import ReplicationFlow
from console.replication.translation.translator import (
    archive_read_at_ms,
    has_reached,
    open_flow_translator,
)
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.limits import LEFT_OUT
from jobs.replication.failover.applying import DestinationGroups
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.kafka import (
    open_groups,
    read_last_checkpoints,
    read_translator,
)
from jobs.replication.failover.planner import names_match
from jobs.replication.failover.read_evidence import EvidenceRequest, Known, Route, read_evidence
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.follower import place_of
from jobs.replication.offset_syncs.reader import PARTITION

TIMEOUT_S = 10.0
# An archive that is followed says that it is at the end of its topic every five seconds, and is behind it
# by half a second while something comes.
FRESH_MS = 30_000
CATCH_UP_S = 5.0
LAST_SEEN = "as crosslog last saw them"


def read_route(flow: ReplicationFlow) -> Route:
    """Return a flow with what its offset syncs say; raises `ClusterFault`.

    Compaction removes syncs from the topic but not from the archive, so the archive answers as soon as it has
    reached the end of the topic. Without a follower of the topic, the topic itself is read.
    """
    spec = flow.spec()
    now_ms = _now_ms()
    read_at_ms = archive_read_at_ms(flow)
    if read_at_ms is None or now_ms - read_at_ms > FRESH_MS:
        return Route(spec, read_translator(spec, timeout_s=TIMEOUT_S), now_ms)
    if (end := _end_of_syncs(spec)) is not None and has_reached(flow, *end, CATCH_UP_S):
        return Route(spec, open_flow_translator(flow), now_ms)
    return Route(spec, open_flow_translator(flow), read_at_ms)


open_destination = partial(open_groups, timeout_s=TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class FailoverDoor:
    """Queries and changes of both clusters; each may raise `ClusterFault`."""

    route: Callable[[ReplicationFlow], Route] = read_route
    evidence: Callable[[EvidenceRequest], Evidence] = read_evidence
    offsets: Callable[[Connection], AbstractContextManager[DestinationGroups]] = open_destination


KAFKA = FailoverDoor()


def _now_ms() -> int:
    return int(timezone.now().timestamp() * 1000)


def _end_of_syncs(flow: FlowSpec) -> tuple[str, int] | None:
    """Return the topic of a flow's offset syncs and where it ends; None: unknown."""
    place = place_of(flow)
    if place is None:
        return None
    where = TopicPartition(place.topic, PARTITION)
    try:
        with ClusterClient(place.connection, timeout_s=TIMEOUT_S) as client:
            end = read_offset_ranges(client, [where], with_timestamps=False)[where].end_offset
    except ClusterFault:
        return None
    return None if end is None else (place.topic, end)


def last_seen(flow: ReplicationFlow, alias: str, patterns: tuple[str, ...]) -> Known:
    """Return the offsets of the groups of an unreachable cluster: as last collected, else by checkpoints.

    Offsets that were collected are at most a round older than the cluster's end; checkpoints are older.
    """
    rows = GroupOffset.objects.filter(
        commit_offsets("group__"), group__cluster__alias=alias, committed_offset__isnull=False
    )
    # Some offsets of a group are not valid to resume at.
    rows = rows.exclude(group__error__startswith=LEFT_OUT)
    committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    columns = ("group__group_id", "topic", "partition", "committed_offset")
    for group, topic, partition, offset in rows.order_by().values_list(*columns):
        if names_match(patterns, group):
            where = TopicPartition(topic, partition)
            committed.setdefault(group, {})[where] = CommittedOffset(offset)
    rounds = CollectionRound.objects.filter(cluster__alias=alias, noun=Noun.GROUPS)
    at = rounds.aggregate(at=Max("succeeded_at"))["at"]
    if committed and at is not None:
        return Known(committed, int(at.timestamp() * 1000), LAST_SEEN)
    return read_last_checkpoints(flow.spec(), timeout_s=TIMEOUT_S)

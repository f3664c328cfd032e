"""What failovers ask of clusters and of offset syncs; a fake of it stands in for both in tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from django.db.models import Max
from django.utils import timezone

from console.clusters.models import CollectionRound, GroupOffset, Noun
from console.replication.models import ReplicationFlow
from console.replication.translating import archive_read_at_ms, open_flow_translator
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.applying import OffsetsDoor
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.kafka_door import KafkaOffsetsDoor
from jobs.replication.failover.last_checkpoints import read_last_checkpoints
from jobs.replication.failover.planner import names_match
from jobs.replication.failover.read_evidence import Asking, Known, Route, read_evidence
from jobs.replication.failover.read_syncs import read_translator

TIMEOUT_S = 10.0
# An archive that is followed reaches the end of its topic twice a second.
FRESH_MS = 30_000
LAST_SEEN = "as crosslog last saw them"


class FailoverDoor(Protocol):
    """Questions and changes; every one may raise `ClusterFault`."""

    def route(self, flow: ReplicationFlow) -> Route:
        """Return a flow with what its offset syncs say."""
        ...

    def evidence(self, asking: Asking) -> Evidence:
        """Ask both clusters."""
        ...

    def offsets(self, destination: Connection) -> AbstractContextManager[OffsetsDoor]:
        """Open the groups of a cluster."""
        ...


class KafkaFailoverDoor:
    """The real clusters, and the archive of offset syncs.

    The syncs of a flow of crosslog are read from their topic: beside them stands whether one is missing, so
    they prove more than the archive does. Those of MirrorMaker 2 prove the more the older they are kept: the
    archive is asked, as long as it is followed.
    """

    def route(self, flow: ReplicationFlow) -> Route:
        """Return a flow with what its offset syncs say."""
        spec = flow.spec()
        now_ms = int(timezone.now().timestamp() * 1000)
        read_at_ms = archive_read_at_ms(flow) if flow.is_watched else None
        if read_at_ms is not None and now_ms - read_at_ms <= FRESH_MS:
            return Route(spec, open_flow_translator(flow), read_at_ms)
        return Route(spec, read_translator(spec, timeout_s=TIMEOUT_S), now_ms)

    def evidence(self, asking: Asking) -> Evidence:
        """Ask both clusters."""
        return read_evidence(asking)

    @contextmanager
    def offsets(self, destination: Connection) -> Iterator[OffsetsDoor]:
        """Open a client for as long as the block lasts."""
        with ClusterClient(destination, timeout_s=TIMEOUT_S) as client:
            yield KafkaOffsetsDoor(client)


KAFKA: FailoverDoor = KafkaFailoverDoor()


def last_seen(flow: ReplicationFlow, alias: str, patterns: tuple[str, ...]) -> Known:
    """Return where the groups of a cluster that is away stood: as last collected, else by checkpoints.

    Offsets that were collected are at most a round older than the cluster's end; checkpoints are older.
    """
    rows = GroupOffset.objects.filter(group__cluster__alias=alias, committed_offset__isnull=False)
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

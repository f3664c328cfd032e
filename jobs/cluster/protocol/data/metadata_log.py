"""The metadata log of a KRaft cluster, as controllers serve it: whole batches, and snapshots.

Nothing asked here leaves a trace in the cluster: the replica id is that of a consumer, -1; any other would
appear as an observer of the quorum. Source: KIP-595 (Fetch), KIP-630 (FetchSnapshot), KIP-853 (endpoints);
answers were measured on Kafka 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from kio.schema.fetch_snapshot.v1.request import (
    FetchSnapshotRequest,
    PartitionSnapshot,
    TopicSnapshot,
)
from kio.schema.fetch_snapshot.v1.request import SnapshotId as AskedSnapshot

from jobs.cluster.admin.quorum import METADATA_TOPIC
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, Remedy
from jobs.cluster.protocol.data.fetch import EpochEnd
from jobs.cluster.protocol.data.fetch_format import Asked, FetchLimits, encode_fetch
from jobs.cluster.protocol.errors import AnswerFault, Denied, LeaderMoved, Where, answer_fault
from jobs.cluster.protocol.transport.apis import FETCH_LOG, FETCH_SNAPSHOT
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import int32, int64, topic_name
from jobs.cluster.protocol.transport.transport_faults import Server

TOPIC_ID = UUID(int=1)
LOG = TopicPartition(METADATA_TOPIC, 0)
# Kafka's largest batch is 8 MiB; one batch is answered whatever the limit.
MOST_BYTES = 1 << 20
_NOT_A_LOG = frozenset({3, 100})
_LEADERSHIP = frozenset({5, 6, 74, 75})
_INCONSISTENT_CLUSTER_ID = 104
_MISSING_RIGHT = (
    "Reading the metadata log needs the operation CLUSTER_ACTION on the cluster, a right of brokers. "
    "Without it the quorum is polled, and what happens between two polls is not seen."
)


class NotAController(ClusterFault):
    """The server is a broker: only listeners of controllers serve the metadata log."""

    code = "not_a_controller"
    remedy = Remedy.FINAL
    hint = (
        "Give the addresses of the controllers (controller.quorum.bootstrap.servers of the nodes)."
    )


class NotLeading(LeaderMoved):
    """A controller that does not lead, or knows another epoch than the request.

    `leader_id` is None when it knows no leader; `leader` is where that one listens, None: not reported.
    """

    remedy = Remedy.RETRY
    leader_id: int | None = None
    leader_epoch = 0
    leader: Server | None = None


class SnapshotGone(ClusterFault):
    """The snapshot is not there (any more), or the controller does not lead: the log is requested again."""

    code = "snapshot_gone"
    remedy = Remedy.RETRY
    hint = "Snapshots are replaced by newer ones: the log names the one to read."


class SnapshotId(NamedTuple):
    """A snapshot of everything below `end_offset`; `epoch` is that of the last record in it."""

    end_offset: int
    epoch: int


class LogPosition(NamedTuple):
    """Where to read on: the next offset, and the epoch of the record before it (None: not known)."""

    offset: int
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class LogAnswer:
    """What the leader answered.

    `records` are whole batches and perhaps a part of one more; the first may begin below the offset. Whatever
    is at `high_watermark` or above is not committed; None: the leader does not know it yet. `snapshot` is
    there instead of records when the offset is below `log_start_offset`, or is 0 and there is a snapshot.
    `diverging` is there when the log has another epoch before the offset: it ends there for that epoch.
    """

    leader_id: int | None
    leader_epoch: int
    log_start_offset: int
    high_watermark: int | None
    records: bytes
    snapshot: SnapshotId | None
    diverging: EpochEnd | None


class SnapshotPiece(NamedTuple):
    """Bytes of a snapshot from `position`, and how long the whole of it is."""

    size: int
    position: int
    content: bytes


async def fetch_log(
    connection: BrokerConnection,
    position: LogPosition,
    leader_epoch: int,
    *,
    cluster_id: str | None = None,
    max_wait_ms: int = 500,
) -> LogAnswer:
    """Ask one controller for batches; raises `ClusterFault`, `NotLeading` when it is the wrong one to ask.

    `leader_epoch` is the highest that is known, 0 for none. Where the epoch before the offset is not known,
    the answer cannot tell whether the log was cut there.
    """
    version = connection.version(FETCH_LOG.speaks)
    before = leader_epoch if position.epoch is None else position.epoch
    epoch = max(leader_epoch, before)
    asked = Asked(TOPIC_ID, 0, epoch, position.offset, before, MOST_BYTES)
    limits = FetchLimits(max_wait_ms, 1, MOST_BYTES, read_committed=False)
    body = encode_fetch(version, [asked], limits, "", cluster_id)
    answer = await connection.ask(FETCH_LOG.call_with([body], version), wait_ms=max_wait_ms)
    where = _where(connection, "Fetching", position.offset)
    _raise_whole(answer.error_code, where)
    partition = next((one for topic in answer.responses for one in topic.partitions), None)
    if partition is None:
        raise _other(connection, "leaves the metadata log out of its answer")
    _raise_partition(connection, partition, answer, where)
    return _log_answer(partition)


async def fetch_snapshot(
    connection: BrokerConnection,
    snapshot: SnapshotId,
    leader_epoch: int,
    position: int,
    *,
    cluster_id: str | None = None,
) -> SnapshotPiece:
    """Ask the leader for bytes of a snapshot; raises `ClusterFault`.

    Raises `SnapshotGone` for all that a new request for the log fixes: controllers answer it all by -1.
    """
    if connection.versions.best(FETCH_SNAPSHOT.speaks) is None:
        raise _other(connection, "does not know the request FetchSnapshot")
    request = _snapshot_request(snapshot, leader_epoch, position, cluster_id)
    answer = await connection.request(FETCH_SNAPSHOT, request)
    where = _where(connection, f"Fetching snapshot {snapshot.end_offset}-{snapshot.epoch}")
    partition = next((one for topic in answer.topics for one in topic.partitions), None)
    error = int(answer.error_code) or (int(partition.error_code) if partition else -1)
    if error:
        fault = _whole_fault(error, where)
        if isinstance(fault, Denied | ClusterIdChanged):
            raise fault
        raise SnapshotGone(str(fault.message), cluster=connection.cluster)
    if partition is None or partition.position != position:
        raise _gone(connection, where)
    return SnapshotPiece(partition.size, position, bytes(partition.unaligned_records or b""))


def _snapshot_request(
    snapshot: SnapshotId, leader_epoch: int, position: int, cluster_id: str | None
) -> FetchSnapshotRequest:
    wanted = PartitionSnapshot(
        partition=int32(0),
        current_leader_epoch=int32(leader_epoch),
        snapshot_id=AskedSnapshot(
            end_offset=int64(snapshot.end_offset), epoch=int32(snapshot.epoch)
        ),
        position=int64(position),
    )
    topic = TopicSnapshot(name=topic_name(METADATA_TOPIC), partitions=(wanted,))
    return FetchSnapshotRequest(cluster_id=cluster_id, max_bytes=int32(MOST_BYTES), topics=(topic,))


def _where(connection: BrokerConnection, doing: str, offset: int | None = None) -> Where:
    return Where(connection.cluster, connection.server.broker_id, doing, LOG, offset)


def _raise_whole(error: int, where: Where) -> None:
    if error:
        raise _whole_fault(error, where)


def _whole_fault(error: int, where: Where) -> ClusterFault:
    if error == _INCONSISTENT_CLUSTER_ID:
        return ClusterIdChanged(
            f"{where}: the controller belongs to another cluster than the registered one.",
            cluster=where.cluster,
        )
    fault = answer_fault(error, where)
    if fault is None:
        return SnapshotGone(f"{where}: there was no answer.", cluster=where.cluster)
    if isinstance(fault, Denied):
        fault.hint = _MISSING_RIGHT
    if error == -1:
        fault.remedy = Remedy.RETRY
    return fault


def _raise_partition(
    connection: BrokerConnection, partition: Any, answer: Any, where: Where
) -> None:
    error = int(partition.error_code)
    if error in _NOT_A_LOG:
        raise _other(connection, f"answers {partition.error_code.name.upper()}")
    if error in _LEADERSHIP:
        raise _not_leading(error, partition.current_leader, answer, where)
    _raise_whole(error, where)


def _not_leading(error: int, leader: Any, answer: Any, where: Where) -> NotLeading:
    found = answer_fault(error, where)
    fault = NotLeading(str(found.message if found else where), cluster=where.cluster)
    fault.error = found.error if isinstance(found, AnswerFault) else ""
    fault.leader_id = leader.leader_id if leader.leader_id >= 0 else None
    fault.leader_epoch = leader.leader_epoch
    for node in getattr(answer, "node_endpoints", ()):
        if node.node_id == fault.leader_id and node.host:
            fault.leader = Server(node.host, node.port, node.node_id)
    return fault


def _log_answer(partition: Any) -> LogAnswer:
    leader, end, cut = partition.current_leader, partition.snapshot_id, partition.diverging_epoch
    return LogAnswer(
        leader_id=leader.leader_id if leader.leader_id >= 0 else None,
        leader_epoch=leader.leader_epoch,
        log_start_offset=max(0, partition.log_start_offset),
        high_watermark=partition.high_watermark if partition.high_watermark >= 0 else None,
        records=bytes(partition.records or b""),
        snapshot=SnapshotId(end.end_offset, end.epoch) if end.end_offset >= 0 else None,
        diverging=EpochEnd(cut.epoch, cut.end_offset) if cut.end_offset >= 0 else None,
    )


def _other(connection: BrokerConnection, why: str) -> NotAController:
    return NotAController(
        f"{connection.server} {why}: it is a broker, and controllers alone serve the metadata log.",
        cluster=connection.cluster,
    )


def _gone(connection: BrokerConnection, where: Where) -> SnapshotGone:
    return SnapshotGone(f"{where}: the answer is about something else.", cluster=connection.cluster)

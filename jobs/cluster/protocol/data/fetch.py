"""Fetch: whole record batches of many partitions from one broker, exactly as they lie in its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple
from uuid import UUID

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch_format import (
    TOPIC_IDS_SINCE,
    Answered,
    Asked,
    FetchLimits,
    FetchResponse,
    decode_fetch,
    encode_fetch,
)
from jobs.cluster.protocol.errors import AnswerFault, Where, answer_fault
from jobs.cluster.protocol.transport.apis import FETCH as FETCH_API
from jobs.cluster.protocol.transport.connection_pool import FETCH
from jobs.cluster.protocol.transport.frames import Call

_UNKNOWN = -1
_NO_SESSION = (0, -1)
_LAST_EPOCH = 2**31 - 1
# FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR
_SESSION_OVER = (70, 71, 106)


class FetchPosition(NamedTuple):
    """From where a partition is read.

    `topic_id` is None when the cluster has none. `leader_epoch` is that of the metadata: a broker with
    another one answers an error instead of records (KIP-320). `last_fetched_epoch` is the epoch of the
    last batch that was read: when the log was cut and has another batch there, the answer tells where
    both part. -1 for either means "not known, do not compare". `max_bytes` may be exceeded by one batch.
    """

    topic: str
    topic_id: UUID | None
    partition: int
    offset: int
    leader_epoch: int = _UNKNOWN
    last_fetched_epoch: int = _UNKNOWN
    max_bytes: int = 1 << 20


class AbortedTransaction(NamedTuple):
    """A producer's records from this offset on, up to its next marker, were aborted."""

    producer_id: int
    first_offset: int


class EpochEnd(NamedTuple):
    """The log's last offset + 1 of a leader epoch."""

    leader_epoch: int
    end_offset: int


class LeaderHint(NamedTuple):
    """The leader that the refusing broker knows (KIP-951)."""

    broker_id: int
    leader_epoch: int


class FetchedPartition(NamedTuple):
    """What a broker answered for a partition.

    `records` are whole batches and perhaps the beginning of one more, not copied: a view of
    the answer, which stays in memory as long as one of its views. The first batch may begin below the
    requested offset. Offsets are None when the broker did not report them. `last_stable_offset` bounds
    what read_committed returns; `aborted` is there for read_committed only.
    `preferred_read_replica` is the broker to fetch from instead (KIP-392); `records` is empty then.
    """

    records: memoryview
    error: AnswerFault | None
    high_watermark: int | None
    last_stable_offset: int | None
    log_start_offset: int | None
    aborted: tuple[AbortedTransaction, ...]
    preferred_read_replica: int | None
    diverging_epoch: EpochEnd | None
    current_leader: LeaderHint | None


class FetchAnswer(NamedTuple):
    """The partitions of an answer, in the broker's order; those without news may be absent.

    `throttle_ms` is how long the broker wants no request (KIP-219).
    """

    partitions: dict[TopicPartition, FetchedPartition]
    throttle_ms: int


@dataclass(slots=True)
class FetchSession:
    """What a broker keeps of earlier requests (KIP-227): requests have only changes, answers only news.

    Only while the same partitions are fetched; `restart` comes first where they, or their leaders, differ.
    `epoch` 0: the next request names every partition.
    """

    session_id: int = 0
    epoch: int = 0
    version: int = 0
    positions: dict[TopicPartition, FetchPosition] = field(default_factory=dict)
    asked: dict[tuple[UUID | str, int], FetchPosition] = field(default_factory=dict)

    def restart(self) -> None:
        """Keep nothing of the requests before."""
        self.epoch = 0
        self.positions.clear()
        self.asked.clear()

    def is_news(self, where: TopicPartition, offset: int, last_fetched_epoch: int) -> bool:
        """Whether the broker keeps another position of a partition."""
        kept = self.positions.get(where)
        return kept is None or (kept.offset, kept.last_fetched_epoch) != (
            offset,
            last_fetched_epoch,
        )

    def begin(self) -> tuple[int, int]:
        """Return id and epoch of a request; a request without an answer ends the session."""
        now = self.session_id, self.epoch
        self.epoch = 0
        return now

    def answered(self, session_id: int, epoch: int) -> None:
        """Take note of the answer to the request of an epoch."""
        self.session_id = session_id
        self.epoch = epoch % _LAST_EPOCH + 1 if session_id else 0


async def fetch(
    cluster: RawCluster,
    broker_id: int,
    positions: Sequence[FetchPosition],
    limits: FetchLimits,
    *,
    lane: str = FETCH,
    session: FetchSession | None = None,
) -> FetchAnswer:
    """Read from one broker; positions of a topic are next to each other.

    A partition's error is in the answer; raises `ClusterFault` for the whole request. Requests of
    one `lane` are answered one after the other. With topic ids (Kafka 3.1), a topic that was created
    again is an error, `TopicIdUnknown`. With a `session` that is under way, `positions` are those that
    changed; an answer without partitions may say that it is over.
    """
    connection = await cluster.connection_to(broker_id, lane)
    has_ids = all(position.topic_id is not None for position in positions)
    version = connection.version(FETCH_API, at_most=None if has_ids else TOPIC_IDS_SINCE - 1)
    ids = _NO_SESSION
    if session is not None:
        session.version = version = session.version if session.epoch else version
        ids = session.begin()
    asked = [_asked(position, version) for position in positions]
    body = encode_fetch(version, asked, limits, cluster.rack or "", session=ids)
    response = await connection.ask(_call(version, body), wait_ms=limits.max_wait_ms)
    kept = {(one.topic, one.partition): p for one, p in zip(asked, positions, strict=True)}
    if session is not None:
        if response.error in _SESSION_OVER:
            session.session_id = 0
            return FetchAnswer({}, response.throttle_ms)
        session.positions |= {TopicPartition(p.topic, p.partition): p for p in positions}
        session.asked |= kept
        kept = session.asked
    fault = answer_fault(response.error, Where(cluster.alias, broker_id, "Fetching"))
    if fault is not None:
        raise fault
    if session is not None:
        session.answered(response.session_id, ids[1])
    return _answer(response, kept, (cluster.alias, broker_id))


def _call(version: int, body: bytes) -> Call[FetchResponse]:
    name, key = FETCH_API.name, FETCH_API.key
    return Call(name, key, version, is_flexible=True, body=[body], decode=partial(_decode, version))


def _answer(
    response: FetchResponse,
    asked_for: Mapping[tuple[UUID | str, int], FetchPosition],
    broker: tuple[str, int],
) -> FetchAnswer:
    found = {}
    for answered in response.partitions:
        position = asked_for.get((answered.topic, answered.partition))
        if position is not None:
            where = TopicPartition(position.topic, position.partition)
            found[where] = _fetched(answered, where, position.offset, broker)
    return FetchAnswer(found, response.throttle_ms)


def _decode(version: int, frame: memoryview, at: int) -> tuple[FetchResponse, int]:
    return decode_fetch(frame, version, at)


def _asked(position: FetchPosition, version: int) -> Asked:
    topic_id = position.topic_id if version >= TOPIC_IDS_SINCE else None
    return Asked(
        topic_id or position.topic,
        position.partition,
        position.leader_epoch,
        position.offset,
        position.last_fetched_epoch,
        position.max_bytes,
    )


def _fetched(
    answered: Answered, where: TopicPartition, offset: int, broker: tuple[str, int]
) -> FetchedPartition:
    error = None
    if answered.error:
        error = answer_fault(answered.error, Where(*broker, "Fetching", where, offset))
    diverging, leader = answered.diverging_epoch, answered.current_leader
    return FetchedPartition(
        answered.records,
        error,
        _known(answered.high_watermark),
        _known(answered.last_stable_offset),
        _known(answered.log_start_offset),
        tuple(AbortedTransaction(*one) for one in answered.aborted) if answered.aborted else (),
        _known(answered.preferred_read_replica),
        EpochEnd(*diverging) if diverging else None,
        LeaderHint(*leader) if leader else None,
    )


def _known(value: int) -> int | None:
    return value if value >= 0 else None

"""Positions of a flow, read from and written to MirrorMaker 2's offsets topic on the target.

A compacted topic with one key per source partition. Whichever writes it last, this flow or MirrorMaker
2, the other can take over at the exact position. Keys and values are Connect's source offsets in JSON; the
value is the offset of the last replicated record, so the next offset to copy is one more. Source:
MirrorUtils.wrapPartition and wrapOffset, Connect's JsonConverter without schemas.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.cluster.records import Producer
from jobs.cluster.topic_reader import TopicFollower, TopicRecord
from jobs.wire.topics.sync_links import decode_chain

CONNECTOR = "MirrorSourceConnector"
RESET = -1  # what "last replicated" is when nothing was
# Numbers of JSON have no end, those of Kafka have.
_LAST_OFFSET, _NO_PARTITION = 2**63 - 1, 2**31


@dataclass(frozen=True, slots=True)
class PositionKey:
    """Whose position it is."""

    source_alias: str
    where: TopicPartition


def positions_topic(source_alias: str) -> str:
    """Return the topic of positions on the target; its dots do not follow the flow's separator."""
    return f"mm2-offsets.{source_alias}.internal"


def encode_position_key(key: PositionKey) -> bytes:
    """Return the key, in the order in which MirrorMaker 2's HashMap happens to write it."""
    partition = {
        "cluster": key.source_alias,
        "partition": key.where.partition,
        "topic": key.where.topic,
    }
    return _encode([CONNECTOR, partition])


def encode_position(next_offset: int) -> bytes:
    """Return the value for a next offset to copy."""
    return _encode({"offset": next_offset - 1})


def decode_position_key(content: bytes | None) -> PositionKey | None:
    """Read a key in any order of its fields; None for keys of others, which share the topic."""
    match _decode(content):
        case [
            str(connector),
            {"cluster": str(alias), "partition": int(partition), "topic": str(topic)},
        ] if (
            connector == CONNECTOR
            and not isinstance(partition, bool)
            and 0 <= partition < _NO_PARTITION
        ):
            return PositionKey(alias, TopicPartition(topic, partition))
    return None


def decode_position(content: bytes | None) -> int | None:
    """Read the next offset to copy; None when the position was reset (a null value) or is no position."""
    match _decode(content):
        case {"offset": int(offset)} if (
            not isinstance(offset, bool) and RESET <= offset < _LAST_OFFSET
        ):
            return offset + 1
    return None


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _decode(content: bytes | None) -> Any:
    if content is None:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


# Kafka's smallest segment. Only closed segments are compacted, and every start reads the whole topic.
SEGMENT_BYTES = 1024 * 1024
# So many records are seconds of reading: the brokers do not compact the topic.
MANY_RECORDS = 500_000
# A topic that is not asked for so long is forgotten, and read whole the next time.
IDLE_S = 600.0
# How often a topic that seems to be long is read whole again.
WHOLE_AGAIN_S = 3600.0
# Where the remote partition ended at the moment of a commit; MirrorMaker 2 does not look at headers.
# What is there beyond it at the next start was written after the commit.
REMOTE_END_HEADER = "crosslog.remote-end"
# Leader epoch of the last copied record: with it, the source can tell whether its log still has that
# record (KIP-320). And the last copied record's offsets on both sides.
LEADER_EPOCH_HEADER = "crosslog.leader-epoch"
LAST_SYNC_HEADER = "crosslog.last-sync"
# Offset syncs that are not written yet, a chain (see `jobs.wire.topics.sync_links`): the last sync follows
# it.
UNTOLD_SYNCS_HEADER = "crosslog.untold-syncs"

# The largest offset has as many.
_DIGITS = 19


@dataclass(frozen=True, slots=True)
class Position:
    """One position as it is on the topic.

    `remote_end` is where the remote partition ended when this was committed, `leader_epoch` belongs
    to the last copied record, `last_sync` are that record's offsets on both sides. They are None when
    they were not known or another program (MirrorMaker 2) wrote the position. `untold` is the header of the
    offset syncs that were not written.
    """

    next_offset: int
    record_key: bytes
    remote_end: int | None = None
    leader_epoch: int | None = None
    last_sync: tuple[int, int] | None = None
    untold: bytes | None = None

    @property
    def untold_syncs(self) -> tuple[tuple[int, int], ...]:
        """The offset sync that was written last and the changes up to `last_sync`; none if all are there."""
        return decode_chain(self.untold)

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return what is noted beside the position as record headers."""
        found = []
        if self.remote_end is not None:
            found.append((REMOTE_END_HEADER.encode(), b"%d" % self.remote_end))
        if self.leader_epoch is not None and self.leader_epoch >= 0:
            found.append((LEADER_EPOCH_HEADER.encode(), b"%d" % self.leader_epoch))
        if self.last_sync is not None:
            found.append((LAST_SYNC_HEADER.encode(), b"%d:%d" % self.last_sync))
        if self.untold is not None:
            found.append((UNTOLD_SYNCS_HEADER.encode(), self.untold))
        return tuple(found)


class Positions(Mapping[TopicPartition, int]):
    """The next source offset to copy, by source partition; `records` are those of the topic that tell it.

    Invariant: it was read to the end of the topic; there are no half answers.
    """

    def __init__(self, entries: Mapping[TopicPartition, Position], records: int = 0) -> None:
        self._entries = dict(entries)
        self.records = records

    def __getitem__(self, where: TopicPartition) -> int:
        return self._entries[where].next_offset

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, where: TopicPartition) -> Position | None:
        """Return a position with its surroundings, None when there is none."""
        return self._entries.get(where)

    def record_key(self, where: TopicPartition, source_alias: str) -> bytes:
        """Return the key of a position that is to be written.

        Keys that are on the topic already keep their bytes, because compaction compares bytes.
        """
        seen = self._entries.get(where)
        if seen is not None:
            return seen.record_key
        return encode_position_key(PositionKey(source_alias, where))

    def remote_ends(self) -> dict[TopicPartition, int]:
        """Return where remote partitions ended at their last commit, as far as it was written down."""
        return {w: e.remote_end for w, e in self._entries.items() if e.remote_end is not None}


def read_positions(client: ClusterClient, source_alias: str) -> Positions:
    """Read the positions of all flows from this source; empty when the topic does not exist.

    A process reads the topic once, and later what was added to it. Raises `ClusterFault`, also when the end
    of the topic was not reached while no record came for the client's timeout: acting on half of the
    positions would copy everything else again.
    """
    return _FOLLOWED.of(client.connection, source_alias).read(client)


class PositionWriter:
    """Writes positions through a producer that somebody else flushes.

    The producer must place keys as the Java client does (`partitioner` murmur2_random): records of
    one key would not keep their order over two partitions.
    """

    def __init__(self, producer: Producer, source_alias: str, known: Positions) -> None:
        self._producer = producer
        self._topic = positions_topic(source_alias)
        self._source_alias = source_alias
        self._known = known

    def write(self, where: TopicPartition, next_offset: int, remote_end: int | None) -> None:
        """Queue one position; raises BufferError when the producer's queue is full."""
        headers: list[tuple[str, str | bytes | None]] = []
        if remote_end is not None:
            headers = [(REMOTE_END_HEADER, str(remote_end).encode())]
        value, key = encode_position(next_offset), self._known.record_key(where, self._source_alias)
        self._producer.produce(self._topic, value=value, key=key, headers=headers)


class _FollowedPositions:
    """Folds the records of one topic: the last one of a key wins. Any number of threads."""

    def __init__(self, source_alias: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source_alias = source_alias
        self._clock = clock
        self._entries: dict[TopicPartition, Position] = {}
        self._records = 0
        self._whole_at = clock()
        self._lock = threading.Lock()
        self._begun = self._read = 0
        self._found = Positions({})
        self._follower = TopicFollower(positions_topic(source_alias), trusts_elections=False)

    def read(self, client: ClusterClient) -> Positions:
        """Read on to the end of the topic; raises `ClusterFault`.

        Where many records came since it was read whole, it is read whole again, seldom: brokers may have
        compacted it. Calls that wait share what one of them finds, whose reading begins later than theirs.
        """
        before = self._begun
        topic, alias = self._follower.topic, client.connection.alias
        if not self._lock.acquire(timeout=client.timeout_s):
            text = f"Reading {topic}: another reader did not end within {client.timeout_s:g} s."
            raise TimedOut(text, cluster=alias)
        try:
            if self._read > before:
                return self._found
            self._begun += 1
            if self._records >= MANY_RECORDS and self._clock() - self._whole_at >= WHOLE_AGAIN_S:
                self._follower.start_over()
            self._follower.follow(client, self._take, self._forget)
            self._read, self._found = self._begun, Positions(self._entries, self._records)
            return self._found
        finally:
            self._lock.release()

    def _forget(self) -> None:
        self._entries.clear()
        self._records = 0
        self._whole_at = self._clock()

    def _take(self, record: TopicRecord) -> None:
        self._records += 1
        key = decode_position_key(record.key)
        if key is None or key.source_alias != self._source_alias or record.key is None:
            return
        next_offset = decode_position(record.value)
        if next_offset is None:
            self._entries.pop(key.where, None)
            return
        notes = _Notes(record.headers)
        self._entries[key.where] = Position(
            next_offset,
            record.key,
            notes.number(REMOTE_END_HEADER),
            notes.number(LEADER_EPOCH_HEADER),
            notes.pair(LAST_SYNC_HEADER),
            notes.value(UNTOLD_SYNCS_HEADER),
        )


class _FollowedTopics:
    """The topics of positions that this process follows; those not read for a while are forgotten."""

    def __init__(self, idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle_s, self._clock = idle_s, clock
        self._lock = threading.Lock()
        self._followed: dict[tuple[Connection, str], tuple[_FollowedPositions, float]] = {}

    def of(self, connection: Connection, source_alias: str) -> _FollowedPositions:
        key, now = (connection, source_alias), self._clock()
        with self._lock:
            idle = [k for k, (_, used_at) in self._followed.items() if now - used_at > self._idle_s]
            for old in idle:
                del self._followed[old]
            found, _ = self._followed.get(key) or (_FollowedPositions(source_alias), now)
            self._followed[key] = found, now
            return found


_FOLLOWED = _FollowedTopics()


class _Notes:
    """What crosslog noted beside a position; what it cannot read counts as not noted."""

    def __init__(self, headers: Iterable[tuple[str, bytes | None]]) -> None:
        self._values = {
            name: value for name, value in dict(headers).items() if isinstance(value, bytes)
        }

    def value(self, name: str) -> bytes | None:
        return self._values.get(name)

    def number(self, name: str) -> int | None:
        return _number(self._values.get(name, b""))

    def pair(self, name: str) -> tuple[int, int] | None:
        upstream, _, downstream = self._values.get(name, b"").partition(b":")
        first, second = _number(upstream), _number(downstream)
        return None if first is None or second is None else (first, second)


def _number(value: bytes) -> int | None:
    """Return an offset, None for what is none: every writer of the topic chooses its headers."""
    return int(value) if value.isdigit() and len(value) <= _DIGITS else None

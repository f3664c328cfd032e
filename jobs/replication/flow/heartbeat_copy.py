"""Topics of heartbeats are copied whatever the patterns of a flow say, as MirrorMaker 2 copies them.

They are copied beside the flow's topics and not as one of them: several flows may join the same two
clusters, and each of them may copy the same heartbeats without harm, because only the newest of a key
counts. So there are no positions to agree on, and they count neither in a flow's lag nor in its partitions.
Source: MirrorSourceConnector.shouldReplicateTopic (`heartbeats.replication.enabled`, on by default).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from weakref import WeakValueDictionary

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.committed_batches import CommittedBatch, read_committed_batches
from jobs.cluster.protocol.data.produce import (
    HEADER_BYTES,
    BatchBytes,
    ProducedPartition,
    produce,
)
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import ClusterMetadata, PartitionMetadata
from jobs.replication.flow.internal_topics import ensure_heartbeats_topics
from jobs.replication.flow.selection import copies_heartbeats, policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.errors import BatchError, RecordFormatError

logger = logging.getLogger(__name__)

# MirrorMaker 2 looks for new topics every 10 minutes; a flow of crosslog every half minute.
LOOK_EVERY_S = 30.0
TIMEOUT_S = 10.0
# So long the newest heartbeats of the source are waited for, before the flow's own one is sent.
_WAIT_S = 0.5
_MOST_AT_ONCE = 500
_ACKS_MS = 5_000
# What several flows have for a cluster within this time is one request.
TOGETHER_S = 0.9
# The source's heartbeats are read at every second beat.
READ_EVERY_S = 1.5
_PARTITION = 0

# Records by topic.
Records = Mapping[str, Sequence[PlacedRecord]]


class HeartbeatWriter:
    """Writes heartbeats to one cluster, one request at a time; what was not taken is sent with the next.

    Of the heartbeats of a key only the newest is sent. Between two requests are `together_s` seconds.
    """

    def __init__(self, client: ClusterClient, together_s: float = 0.0) -> None:
        self._client = client
        self._together_s = together_s
        self._lock = threading.Lock()
        self._began_s = 0.0
        self._problem = ""
        self._metadata: ClusterMetadata | None = None
        self._waiting: dict[tuple[str, bytes | None], PlacedRecord] = {}
        self._sent = self._waiting
        self._asked: Future[None] | None = None

    def write(self, records: Records) -> str:
        """Begin to write, unless the cluster has not answered yet; returns why the last one was not written.

        "": it was, or there is no answer yet.
        """
        with self._lock:
            for topic, found in records.items():
                for record in found:
                    self._waiting[topic, record.key] = record
            for key in list(self._waiting)[:-_MOST_AT_ONCE]:
                del self._waiting[key]
            if time.monotonic() - self._began_s >= self._together_s:
                self._problem = self._answer()
                if self._asked is None:
                    self._began_s = time.monotonic()
                    self._sent, self._waiting = self._waiting, {}
                    self._asked = self._client.begin(self._write, timeout_s=TIMEOUT_S)
            return self._problem

    def _answer(self) -> str:
        if self._asked is None or not self._asked.done():
            return ""
        error, self._asked = self._asked.exception(), None
        if error is None:
            return ""
        self._metadata = None
        self._waiting = {**self._sent, **self._waiting}
        return str(error) or f"{self._client.connection.alias} does not answer."

    async def _write(self, cluster: RawCluster) -> None:
        cluster.begin_with(self._metadata)
        by_place: dict[TopicPartition, list[PlacedRecord]] = {}
        for (topic, _), record in self._sent.items():
            records = by_place.setdefault(TopicPartition(topic, _PARTITION), [])
            records.append(replace(record, offset=len(records)))
        batches = {where: _batch(records) for where, records in by_place.items()}

        async def send(
            leader: int, asked: Mapping[TopicPartition, PartitionMetadata]
        ) -> dict[TopicPartition, ProducedPartition | ClusterFault]:
            mine = {where: batches[where] for where in asked}
            answer = await produce(
                cluster, leader, mine, transactional_id=None, timeout_ms=_ACKS_MS
            )
            return {where: one.error or one for where, one in answer.partitions.items()}

        found = await ask_leaders(cluster, batches, send, TIMEOUT_S, unknown_s=0)
        faults = {where.topic: one for where, one in found.items() if isinstance(one, ClusterFault)}
        # What was taken is not sent again because another flow's topic was refused.
        self._sent = {key: record for key, record in self._sent.items() if key[0] in faults}
        for fault in faults.values():
            raise fault
        self._metadata = await cluster.metadata()


def _batch(records: Sequence[PlacedRecord]) -> BatchBytes:
    content = encode_batch(records)
    return BatchBytes(content[:HEADER_BYTES], content[HEADER_BYTES:])


_WRITERS: WeakValueDictionary[Connection, HeartbeatWriter] = WeakValueDictionary()
_SHARING = threading.Lock()


def shared_writer(client: ClusterClient) -> HeartbeatWriter:
    """Return the writer that all flows of this process share for a cluster, whatever alias they give it."""
    with _SHARING:
        place = replace(client.connection, alias="shared")
        return _WRITERS.setdefault(place, HeartbeatWriter(client, TOGETHER_S))


class HeartbeatCopy:
    """Reads what comes into the source's topics of heartbeats, from the moment it sees them on."""

    def __init__(self, flow: FlowSpec, source: ClusterClient, target: ClusterClient) -> None:
        self._flow, self._policy = flow, policy_of(flow)
        self._source, self._target = source, target
        self._metadata: ClusterMetadata | None = None
        self._positions: dict[TopicPartition, int] = {}
        self._asked: Future[list[tuple[str, CommittedBatch]]] | None = None
        self._topics: frozenset[str] = frozenset()
        self._looked_at: float | None = None
        self._read_at = 0.0
        self._problem = ""

    def copy_new(self) -> dict[str, list[PlacedRecord]]:
        """Return what is new, by the topic of the target; a problem is logged once and ends nothing."""
        found: dict[str, list[PlacedRecord]] = {}
        try:
            for topic, batch in self._read():
                found.setdefault(self._remote(topic), []).extend(batch.records())
        except (ClusterFault, BatchError, RecordFormatError, TimeoutError) as error:
            self._tell(str(error) or "The source does not answer.")
        return found

    def _read(self) -> Sequence[tuple[str, CommittedBatch]]:
        if self._asked is None:
            if time.monotonic() < self._read_at:
                return ()
            self._read_at = time.monotonic() + READ_EVERY_S
            self._look()
            if not self._positions:
                return ()
            self._asked = self._source.begin(self._fetch, timeout_s=TIMEOUT_S)
        if not wait([self._asked], _WAIT_S).done:
            return ()
        asked, self._asked = self._asked, None
        found = asked.result()
        self._tell("")
        return found

    async def _fetch(self, cluster: RawCluster) -> list[tuple[str, CommittedBatch]]:
        cluster.begin_with(self._metadata)
        self._metadata = None
        found: list[tuple[str, CommittedBatch]] = []

        def take(where: TopicPartition, batch: CommittedBatch | None, position: int) -> bool:
            self._positions[where] = position
            if batch is not None:
                found.append((where.topic, batch))
            return batch is None or len(found) >= _MOST_AT_ONCE

        unread = await read_committed_batches(
            cluster, dict(self._positions), take, budget_s=TIMEOUT_S / 2, max_wait_ms=0
        )
        for fault in filter(None, unread.values()):
            raise fault
        if not unread:
            self._metadata = await cluster.metadata()
        return found

    def _look(self) -> None:
        now = time.monotonic()
        if self._looked_at is not None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        topics = [t for t in describe_topics(self._source) if copies_heartbeats(self._flow, t.name)]
        wanted = frozenset(topic.name for topic in topics)
        if wanted != self._topics:
            ensure_heartbeats_topics(self._target, [self._remote(name) for name in wanted])
            self._topics = wanted
        places = [TopicPartition(t.name, one.partition) for t in topics for one in t.partitions]
        ranges = read_offset_ranges(self._source, places, with_timestamps=False)
        ends = {w: one.end_offset for w, one in ranges.items() if one.end_offset is not None}
        # A topic that was made again ends before the position.
        self._positions = {w: min(self._positions.get(w, end), end) for w, end in ends.items()}

    def _remote(self, topic: str) -> str:
        return self._policy.format_remote_topic(self._flow.source.alias, topic)

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            logger.warning("heartbeats not copied flow=%s error=%s", self._flow.name, problem)
        self._problem = problem

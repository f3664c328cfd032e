"""What a commit writes beside the records: positions, and offset syncs where they are wanted."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.batch import BatchBytes
from jobs.cluster.protocol.data.produce import ProducedPartition
from jobs.cluster.protocol.errors import OutcomeUnknown
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce.delivery import Delivery
from jobs.replication.copy.batches.produce.internal_records import PositionNote, position_batches
from jobs.replication.copy.batches.produce.produce_request import produce_until_acknowledged
from jobs.replication.copy.positions import Positions
from jobs.replication.copy.positions_format import positions_topic
from jobs.replication.copy.sync_tracker import Pair, Pairs
from jobs.wire.batches.record_batch import HEADER_BYTES
from jobs.wire.topics.sync_batch import SyncGroup, encode_sync_batch
from jobs.wire.topics.sync_links import link_headers

# A batch of syncs stays below the usual limit of a topic, also where brokers keep it uncompressed: one is
# about 60 bytes, with the longest name 310.
SYNCS_PER_BATCH = 3000


@dataclass(frozen=True, slots=True)
class InternalTopics:
    """The topics a commit writer writes to: positions on the target; syncs on either side, or nowhere."""

    source_alias: str
    positions_partitions: int
    syncs_topic: str | None
    syncs_on_source: bool = False


class CommitWriter:
    """Writes positions and syncs, and ends the transaction that holds them.

    Syncs are written before what they belong to counts, so that no crash can lose one. On the target they
    are part of the transaction. On the source they are not: after a crash or an abort, those that were
    written too early are followed by new ones for the same records, and until then they point before them.
    """

    def __init__(
        self,
        source: Leaders,
        target: Leaders,
        delivery: Delivery,
        internal_topics: InternalTopics,
        known: Positions,
    ) -> None:
        self._source = source
        self._target = target
        self._delivery = delivery
        self._books = internal_topics
        self._known = known
        self.target_alias = target.cluster.alias

    async def commit(
        self, parts: Iterable[BatchPartition], positions: Mapping[TopicPartition, Reached]
    ) -> None:
        """Make positions, and everything sent before them, safe; raises `ClusterFault`."""
        settled = [part for part in parts if part.where in positions]
        syncs = self._syncs_of(settled)
        if self._books.syncs_on_source:
            await self._write_syncs_to_source(syncs)
        else:
            await self._write_syncs_in_transaction(syncs)
        await self._write_positions(settled, positions)
        await self._delivery.commit()
        for part in settled:
            part.settle(positions[part.where])

    def _syncs_of(self, parts: Iterable[BatchPartition]) -> list[SyncsToWrite]:
        if self._books.syncs_topic is None:
            return []
        groups = ((part, part.syncs.due()) for part in parts)
        return [SyncsToWrite(*part.where, due, part.syncs.told) for part, due in groups if len(due)]

    async def _write_positions(
        self, parts: Iterable[BatchPartition], positions: Mapping[TopicPartition, Reached]
    ) -> None:
        topic = positions_topic(self._books.source_alias)
        exact = self._delivery.transactional_id is not None
        notes = {part.where: _note(part, positions[part.where], exact=exact) for part in parts}
        batches = position_batches(
            notes,
            self._books.source_alias,
            self._known,
            self._books.positions_partitions,
            _now_ms(),
        )
        await self._send({TopicPartition(topic, number): b for number, b in batches.items()})

    async def _write_syncs_in_transaction(self, syncs: list[SyncsToWrite]) -> None:
        topic = self._books.syncs_topic
        for piece in pieces(syncs):
            assert topic is not None  # noqa: S101  without a topic there are no syncs
            await self._send({TopicPartition(topic, 0): encode_sync_batch(piece, _now_ms())})

    async def _send(self, batches: Mapping[TopicPartition, bytes]) -> None:
        """Send batches of our own within the delivery, and wait until the target has them."""
        missing = self._delivery.missing(batches)
        if missing:
            await self._delivery.add(missing)
        by_leader: dict[int, dict[TopicPartition, BatchBytes]] = defaultdict(dict)
        for where, batch in batches.items():
            leader = await self._target.need_leader(where)
            by_leader[leader][where] = self._delivery.claim(where, memoryview(batch))
        calls = [self._produce(leader, part) for leader, part in by_leader.items()]
        await asyncio.gather(*calls)

    async def _produce(self, leader: int, batches: Mapping[TopicPartition, BatchBytes]) -> None:
        cluster, name = self._target.cluster, self._delivery.transactional_id
        async for answers in produce_until_acknowledged(cluster, leader, batches, name):
            _check(answers, cluster.alias)

    async def _write_syncs_to_source(self, syncs: list[SyncsToWrite]) -> None:
        topic = self._books.syncs_topic
        if topic is None:
            return
        where = TopicPartition(topic, 0)
        for piece in pieces(syncs):
            batch = memoryview(encode_sync_batch(piece, _now_ms()))
            payload = BatchBytes(bytes(batch[:HEADER_BYTES]), batch[HEADER_BYTES:])
            leader = await self._source.need_leader(where)
            cluster = self._source.cluster
            async for answers in produce_until_acknowledged(
                cluster, leader, {where: payload}, None
            ):
                _check(answers, cluster.alias)


def _check(answers: Mapping[TopicPartition, ProducedPartition], alias: str) -> None:
    for where, produced in answers.items():
        if produced.error is not None:
            raise produced.error
        if produced.base_offset is None:
            raise OutcomeUnknown(f"The answer about {where} has no offset.", cluster=alias)


def _note(part: BatchPartition, reached: Reached, *, exact: bool) -> PositionNote:
    """With transactions nothing is ever there twice, so the remote end is of no use."""
    return PositionNote(
        next_offset=reached.next_offset,
        remote_end=None if exact else part.remote_end,
        leader_epoch=reached.leader_epoch,
        last_sync=part.syncs.last,
    )


class SyncsToWrite(NamedTuple):
    """Syncs of a partition, and the pair that was told before them (None: nobody knows)."""

    topic: str
    partition: int
    pairs: Pairs
    follows: Pair | None

    def split(self, at: int) -> tuple[SyncGroup, SyncsToWrite]:
        """Return the first ones as they are written, and the rest."""
        first, rest = self.pairs[:at], self.pairs[at:]
        headers = link_headers(self.follows, len(first))
        last = (int(first[-1, 0]), int(first[-1, 1])) if len(first) else self.follows
        group = SyncGroup(self.topic, self.partition, first, headers)
        return group, self._replace(pairs=rest, follows=last)


def pieces(told: Iterable[SyncsToWrite]) -> Iterator[list[SyncGroup]]:
    """Yield what fits into one batch; a partition's syncs keep their order and stay together."""
    piece, room = list[SyncGroup](), SYNCS_PER_BATCH
    for left in told:
        while len(left.pairs):
            group, left = left.split(room)  # noqa: PLW2901  what is left of it goes into the next
            piece.append(group)
            room -= len(group.pairs)
            if not room:
                yield piece
                piece, room = [], SYNCS_PER_BATCH
    if piece:
        yield piece


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

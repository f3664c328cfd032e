"""What a commit writes beside the records: positions, and offset syncs where they are wanted."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.raw.batch import BatchBytes
from jobs.cluster.raw.errors import OutcomeUnknown
from jobs.cluster.raw.produce import ProducedPartition
from jobs.replication.batches.batch_partition import BatchPartition, Reached
from jobs.replication.batches.delivery import Delivery
from jobs.replication.batches.internal_records import PositionNote, position_batches, sync_batch
from jobs.replication.batches.leaders import Leaders
from jobs.replication.batches.producing import produce_until_taken
from jobs.replication.positions import Positions
from jobs.replication.positions_format import positions_topic
from jobs.wire.mirror_records import OffsetSync
from jobs.wire.record_batch import HEADER_BYTES

# A batch of syncs stays below the usual limit of a topic: one is 60 bytes, with the longest name 310.
SYNCS_PER_BATCH = 2000


@dataclass(frozen=True, slots=True)
class Books:
    """The topics a ledger writes to: positions on the target; syncs on either side, or nowhere."""

    source_alias: str
    positions_partitions: int
    syncs_topic: str | None
    syncs_on_source: bool = False


class Ledger:
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
        books: Books,
        known: Positions,
    ) -> None:
        self._source = source
        self._target = target
        self._delivery = delivery
        self._books = books
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

    def _syncs_of(self, parts: Iterable[BatchPartition]) -> list[OffsetSync]:
        if self._books.syncs_topic is None:
            return []
        return [OffsetSync(*part.where, *pair) for part in parts for pair in part.syncs.due()]

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

    async def _write_syncs_in_transaction(self, syncs: list[OffsetSync]) -> None:
        topic = self._books.syncs_topic
        for piece in _pieces(syncs):
            assert topic is not None  # noqa: S101  without a topic there are no syncs
            await self._send({TopicPartition(topic, 0): sync_batch(piece, _now_ms())})

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
        async for answers in produce_until_taken(cluster, leader, batches, name):
            _check(answers, cluster.alias)

    async def _write_syncs_to_source(self, syncs: list[OffsetSync]) -> None:
        topic = self._books.syncs_topic
        if topic is None:
            return
        where = TopicPartition(topic, 0)
        for piece in _pieces(syncs):
            batch = memoryview(sync_batch(piece, _now_ms()))
            payload = BatchBytes(bytes(batch[:HEADER_BYTES]), batch[HEADER_BYTES:])
            leader = await self._source.need_leader(where)
            cluster = self._source.cluster
            async for answers in produce_until_taken(cluster, leader, {where: payload}, None):
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


def _pieces(syncs: list[OffsetSync]) -> Iterable[list[OffsetSync]]:
    return (syncs[at : at + SYNCS_PER_BATCH] for at in range(0, len(syncs), SYNCS_PER_BATCH))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000

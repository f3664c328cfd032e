"""A commit: what it writes beside the records (positions, offset syncs), and when it is due."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.produce import BatchBytes, ProducedPartition
from jobs.cluster.protocol.errors import OutcomeUnknown
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce import produce_until_acknowledged
from jobs.replication.copy.batches.transactions import Delivery
from jobs.replication.copy.positions import Position, Positions, encode_position, positions_topic
from jobs.replication.copy.sync_tracker import NO_PAIRS, Pair, Pairs, chain_of
from jobs.waiting import wait_up_to
from jobs.wire.batches.hashes import partition_for_key
from jobs.wire.batches.record_batch import HEADER_BYTES
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.topics.sync_links import (
    SyncGroup,
    chain_header,
    encode_chain,
    encode_sync_batch,
    link_headers,
)

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

    Syncs are written before what they belong to counts, so that no crash can lose one. Where they are part of
    a transaction on the target, they go there together with the positions. Elsewhere they come first: after
    a crash or an abort, those that were written too early are followed by new ones for the same records, and
    until then they point before them.
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
        self._places: dict[TopicPartition, tuple[bytes, TopicPartition]] = {}
        self._is_exact = delivery.transactional_id is not None
        self.target_alias = target.cluster.alias

    async def commit(
        self,
        parts: Iterable[BatchPartition],
        positions: Mapping[TopicPartition, Reached],
        *,
        is_last: bool = False,
    ) -> None:
        """Make positions, and everything sent before them, safe; raises `ClusterFault`.

        `is_last`: nothing may wait for a later commit.
        """
        settled = [part for part in parts if part.where in positions]
        syncs = list(pieces(self._syncs_of(settled, positions, is_last=is_last)))
        last = self._position_batches(settled, positions)
        if self._books.syncs_on_source:
            await self._write_syncs_to_source(syncs)
        else:
            if syncs and self._is_exact:
                last |= self._sync_batch(syncs.pop())
            for piece in syncs:
                await self._send(self._sync_batch(piece))
        await self._send(last)
        await self._delivery.commit(await self._delivery.require_leaders())
        for part in settled:
            part.settle(positions[part.where])

    def _syncs_of(
        self,
        parts: Iterable[BatchPartition],
        positions: Mapping[TopicPartition, Reached],
        *,
        is_last: bool,
    ) -> list[SyncsToWrite]:
        if self._books.syncs_topic is None:
            return []
        found, now_s = [], time.monotonic()
        for part in parts:
            at_once = is_last or part.ends_at(positions[part.where].next_offset)
            told = part.syncs.tell(now_s, at_once=at_once)
            if len(told):
                found.append(SyncsToWrite(*part.where, told, part.syncs.told))
        return found

    def _position_batches(
        self, parts: Iterable[BatchPartition], positions: Mapping[TopicPartition, Reached]
    ) -> dict[TopicPartition, bytes]:
        """Return one batch per partition of the positions topic."""
        now_ms = _now_ms()
        records: dict[TopicPartition, list[PlacedRecord]] = defaultdict(list)
        for part in parts:
            key, where = self._place_of(part.where)
            position = self._position(part, key, positions[part.where])
            value = encode_position(position.next_offset)
            batch = records[where]
            batch.append(PlacedRecord(len(batch), now_ms, key, value, position.headers()))
        return {where: encode_batch(batch) for where, batch in records.items()}

    def _place_of(self, where: TopicPartition) -> tuple[bytes, TopicPartition]:
        """Return the key of a partition's position, and where the Java client puts that key."""
        place = self._places.get(where)
        if place is None:
            alias = self._books.source_alias
            key = self._known.record_key(where, alias)
            number = partition_for_key(key, self._books.positions_partitions)
            place = self._places[where] = key, TopicPartition(positions_topic(alias), number)
        return place

    def _position(self, part: BatchPartition, key: bytes, reached: Reached) -> Position:
        untold = part.syncs.untold()
        return Position(
            reached.next_offset,
            key,
            # With transactions nothing is ever there twice, so the remote end is of no use.
            remote_end=None if self._is_exact else part.remote_end,
            leader_epoch=reached.leader_epoch,
            last_sync=part.syncs.last,
            untold=encode_chain(untold) if untold else None,
        )

    def _sync_batch(self, piece: list[SyncGroup]) -> dict[TopicPartition, bytes]:
        assert self._books.syncs_topic is not None  # noqa: S101  without a topic there are no syncs
        return {TopicPartition(self._books.syncs_topic, 0): encode_sync_batch(piece, _now_ms())}

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
        if len(calls) == 1:
            await calls[0]
        else:
            await asyncio.gather(*calls)

    async def _produce(self, leader: int, batches: Mapping[TopicPartition, BatchBytes]) -> None:
        cluster, name = self._target.cluster, self._delivery.transactional_id
        async for answers in produce_until_acknowledged(cluster, leader, batches, name):
            _check(answers, cluster.alias)

    async def _write_syncs_to_source(self, syncs: Iterable[list[SyncGroup]]) -> None:
        for piece in syncs:
            ((where, encoded),) = self._sync_batch(piece).items()
            batch = memoryview(encoded)
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


class SyncsToWrite(NamedTuple):
    """Syncs of a partition, and the pair that was written before them (None: not known)."""

    topic: str
    partition: int
    pairs: Pairs
    follows: Pair | None

    def split(self, at: int) -> tuple[SyncGroup, SyncsToWrite]:
        """Return the first ones as they are written, few of them as one record, and the rest."""
        chain = None if self.follows is None else chain_of(self.follows, self.pairs)
        if chain is not None and len(chain) > 1:
            group = SyncGroup(self.topic, self.partition, self.pairs[-1:], chain_header(chain))
            return group, self._replace(pairs=NO_PAIRS)
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
            before = len(left.pairs)
            group, left = left.split(room)  # noqa: PLW2901  what is left of it goes into the next
            piece.append(group)
            room -= before - len(left.pairs)
            if room <= 0:
                yield piece
                piece, room = [], SYNCS_PER_BATCH
    if piece:
        yield piece


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


# While a flow keeps up, commits come sooner than the interval: after a small part of it, at least after a
# part of what a commit takes, and so long for each partition, which gets a marker (brokers have others to
# serve), but never later than the larger part of it.
SOONEST_SHARE, LATEST_SHARE = 0.005, 0.2
COMMIT_TIMES = 0.25
MARKER_S = 0.001
# A commit, with the fetches and produces before it, takes about 4 ms of a core and more of the brokers,
# however few records it makes safe. So many are worth it; fewer wait for others, but no longer than this.
WORTH_RECORDS = 30
LONGEST_GAP_S = 0.11
# A shorter gap saves too little.
SHORTEST_GAP_S = 0.04
# The answers of several brokers come so soon after each other.
GATHER_S = 0.005
# The source is queried so long before the gap is over: what it gives is on the target when the commit begins.
AHEAD_S = 0.02
# The rate of records is a mean over about so long.
RATE_S = 1.0


def soonest_commit_s(commit_s: float, last_commit_s: float, partitions: int) -> float:
    """Return how long a flow that keeps up waits between two commits.

    `commit_s` is the interval, `last_commit_s` how long the last commit took, `partitions` how many have
    something to be committed.
    """
    soonest_s = max(SOONEST_SHARE * commit_s, COMMIT_TIMES * last_commit_s, MARKER_S * partitions)
    return min(LATEST_SHARE * commit_s, soonest_s)


class CommitPace:
    """The gap between two commits of a flow that keeps up; times are seconds of `clock`.

    `readers_wait`: readers of committed records see nothing before the commit. Where few records come, the
    gap is as long as `WORTH_RECORDS` need, and the source is queried again when it is over: one fetch, one
    produce request and one commit instead of one for each record.
    """

    def __init__(
        self,
        commit_s: float,
        *,
        readers_wait: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._commit_s = commit_s
        self._readers_wait = readers_wait
        self._clock = clock
        self._rate = 0.0
        self._last_commit_s = 0.0
        self._committed_at = -math.inf
        self._committed = asyncio.Event()

    @property
    def gap_s(self) -> float:
        """How long the gap is at the rate of now; 0: commits are not held back."""
        if not self._readers_wait:
            return 0.0
        gap_s = min(LONGEST_GAP_S, LATEST_SHARE * self._commit_s)
        if self._rate > 0:
            gap_s = min(gap_s, WORTH_RECORDS / self._rate)
        return gap_s if gap_s >= SHORTEST_GAP_S else 0.0

    def committed(self, records: int, took_s: float) -> None:
        """Take note of a commit of so many records."""
        now = self._clock()
        passed_s = max(now - self._committed_at, 0.001)
        self._rate += (1 - math.exp(-passed_s / RATE_S)) * (records / passed_s - self._rate)
        self._last_commit_s, self._committed_at = took_s, now
        self._committed.set()
        self._committed.clear()

    def due_in_s(self, dirty_since: float, partitions: int, *, keeps_up: bool) -> float:
        """Return in how many seconds a commit is due, 0 or less for now.

        `dirty_since` is when the first of `partitions` had something to be committed. Under a backlog, and
        where readers do not wait, it is the interval, or its larger part.
        """
        now = self._clock()
        if not keeps_up:
            return self._commit_s - (now - dirty_since)
        if not self._readers_wait:
            return LATEST_SHARE * self._commit_s - (now - dirty_since)
        soonest_s = soonest_commit_s(self._commit_s, self._last_commit_s, partitions)
        gap_s = self.gap_s
        if not gap_s:
            return soonest_s - (now - dirty_since)
        until_gap_s = max(gap_s, soonest_s) - (now - self._committed_at)
        return max(until_gap_s, GATHER_S - (now - dirty_since))

    async def rest(self, *, has_fetched: bool) -> None:
        """Wait until it is worth asking the source again; `has_fetched`: the last answer brought some."""
        gap_s = self.gap_s
        if not gap_s:
            return
        if has_fetched and self._until_asking_s() <= 0:
            # What it brought belongs to the commit that is about to begin.
            await wait_up_to(self._committed.wait(), gap_s)
        rest_s = self._until_asking_s()
        if rest_s > 0:
            await asyncio.sleep(rest_s)

    def _until_asking_s(self) -> float:
        return self._committed_at + self.gap_s - AHEAD_S - self._clock()

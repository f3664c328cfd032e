"""One producer on the target: what its batches are called, and what makes them count.

Exactly once: records, positions and (when they are kept on the target) offset syncs belong to one
transaction; a reader with read_committed sees all of them or none. The transactional id fences every
older producer of the same share of the flow, and a producer that begins again never fences a newer one.
The next transaction begins only when the end of the last one has reached every partition
(`transaction_markers`). At least once: an idempotent producer whose positions follow after everything before
them is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.produce import BatchBytes
from jobs.cluster.protocol.data.transactions import (
    ProducerIdentity,
    add_partitions_to_txn,
    init_producer_id,
)
from jobs.cluster.protocol.errors import TransactionFailed
from jobs.replication.copy.batches.markers import LeaderSnapshot, TransactionCompletion
from jobs.wire.batches.record_batch import HEADER_BYTES, BatchHeader, claim_batch

_SEQUENCES = 1 << 31
# How long a transaction may take beyond the time between two commits: a commit takes 45 s at most (see
# `session`), and the rest is for aborting what failed. After that the broker itself aborts it, and fences.
SLACK_MS = 75_000
BUDGET_S = 15.0
COMMIT_BUDGET_S = 30.0
# A broker knows a new topic sooner than that.
GONE_S = 30.0
# So long the leaders after one transaction's end are those before the next one's. They are older than a look
# of its own would be, so a change between shows all the same, and each partition has acknowledged since then.
LEADERS_S = 0.25


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """`transactional_id` None: at least once."""

    transactional_id: str | None
    transaction_timeout_ms: int = SLACK_MS


@dataclass(slots=True)
class UnfinishedTransaction:
    """Where the last transaction has written, until its end is known to have reached all of it.

    It outlives the one who writes. `is_committed` None: it is not decided, or it is not known. `gone` are
    those that the target does not know any more, and since when (monotonic).
    """

    partitions: set[TopicPartition] = field(default_factory=set)
    is_committed: bool | None = None
    gone: dict[TopicPartition, float] = field(default_factory=dict)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Take note of more partitions, but for those that were deleted."""
        self.partitions |= {where for where in partitions if where not in self.gone}

    def forget_gone(self, gone: Iterable[TopicPartition], now_s: float) -> None:
        """Wait no longer for what the target has not known for a while: somebody deleted it."""
        self.gone = {where: self.gone.get(where, now_s) for where in gone}
        self.partitions -= {w for w, since_s in self.gone.items() if now_s - since_s >= GONE_S}

    def clear(self) -> None:
        """Take note that nothing is left to be ended."""
        self.partitions.clear()
        self.gone.clear()
        self.is_committed = None


class Delivery:
    """Sequences of one producer, and its transactions.

    Invariants, by construction: every batch carries this producer's id, epoch and running sequence;
    the transactional bit is set exactly when there is a transactional id; each partition of a
    transaction was added to it before its first batch, where the broker does not do that itself.
    """

    def __init__(
        self,
        target: RawCluster,
        settings: ProducerSettings,
        before: ProducerIdentity | None = None,
        unfinished: UnfinishedTransaction | None = None,
    ) -> None:
        self._unfinished = unfinished if unfinished is not None else UnfinishedTransaction()
        self._target = target
        self._settings = settings
        self._identity = before
        self._adds_itself = False
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._is_open = False
        self._leaders: LeaderSnapshot | None = None
        self._leaders_at = 0.0

    @property
    def transactional_id(self) -> str | None:
        """The id under which the target's coordinator knows this producer."""
        return self._settings.transactional_id

    @property
    def identity(self) -> ProducerIdentity:
        """Producer id and epoch; `begin` comes first."""
        assert self._identity is not None  # noqa: S101  begin comes first
        return self._identity

    @property
    def last_identity(self) -> ProducerIdentity | None:
        """Return the identity for the next producer after this; None: it never had one."""
        return self._identity

    @property
    def may_be_busy(self) -> bool:
        """Whether a partition may not take its first batch yet, because the transaction before is ending."""
        return self.transactional_id is not None and self._adds_itself

    async def begin(self) -> None:
        """Become the only producer of this id: what older ones left open is ended, and they are fenced.

        With the identity of `before`, it learns whether another producer has taken over instead: raises
        `ProducerFenced`, or other `ClusterFault`s.
        """
        settings = self._settings
        before = self._identity if settings.transactional_id is not None else None
        witness = None
        if before is not None:
            witness = await self._end_what_is_left(self._ends())
            before = self._identity
        self._identity = await init_producer_id(
            self._target,
            settings.transactional_id,
            before=before,
            transaction_timeout_ms=settings.transaction_timeout_ms,
            budget_s=BUDGET_S,
        )
        self._adds_itself = await self._target.supports_transactions_v2()
        if self._unfinished.partitions and self._unfinished.is_committed is not None:
            await self._settle(self._ends(), witness)
        self._start_over()

    def _ends(self) -> TransactionCompletion:
        """Return what ends this producer's transactions."""
        assert self.transactional_id is not None  # noqa: S101  only then there are transactions
        return TransactionCompletion(self._target, self.transactional_id, self.identity)

    async def _end_what_is_left(self, completion: TransactionCompletion) -> LeaderSnapshot | None:
        """Decide about the last transaction, if that is left to do; returns who led then, if it is known."""
        left = self._unfinished
        seen = await completion.read_leaders({*left.partitions, *left.gone})
        left.forget_gone(seen.gone, self._target.timing.clock())
        last = await completion.completed()
        witness = None
        if last.is_open:
            left.add(last.partitions)
            witness = await completion.require_leaders(left.partitions)
            # One that was decided already is only told again, by a transaction that must end likewise.
            left.is_committed = left.is_committed is True
        elif left.is_committed is None:
            # What is known already stays: the try below leaves an abort of nothing behind.
            left.is_committed = last.is_committed
        try:
            # Also where nothing is open: a fenced producer is refused here.
            await completion.end(commit=last.is_open and left.is_committed is True)
        except TransactionFailed:
            witness = None  # nothing was open, or the broker ended it, because it took too long
        self._identity = completion.identity
        return witness

    async def _settle(
        self, completion: TransactionCompletion, before: LeaderSnapshot | None
    ) -> None:
        """Make the end of the last transaction reach all of its partitions."""
        left = self._unfinished
        try:
            self._leaders = await completion.complete_markers(
                left.partitions, before, commit=left.is_committed is True
            )
        finally:
            self._identity = completion.identity
        self._leaders_at = self._target.timing.clock()
        left.clear()

    def claim(self, remote: TopicPartition, batch: memoryview) -> BatchBytes:
        """Make a batch this producer's next one on a partition."""
        self._unfinished.partitions.add(remote)
        sequence = self._sequences.get(remote, 0)
        header = claim_batch(
            batch,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            base_sequence=sequence,
            transactional=self.transactional_id is not None,
        )
        count = BatchHeader.decode(batch).record_count
        self._sequences[remote] = (sequence + count) % _SEQUENCES
        self._is_open = True
        return BatchBytes(header, batch[HEADER_BYTES:])

    def missing(self, remotes: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Return which of these partitions must be added to the transaction first (protocol 1)."""
        if self.transactional_id is None or self._adds_itself:
            return set()
        return set(remotes) - self._added

    async def add(self, remotes: set[TopicPartition]) -> None:
        """Add partitions to the open transaction."""
        assert self.transactional_id is not None  # noqa: S101  only then something is missing
        await add_partitions_to_txn(
            self._target, self.transactional_id, self.identity, remotes, budget_s=BUDGET_S
        )
        self._added |= remotes

    async def require_leaders(self) -> LeaderSnapshot | None:
        """Return who leads what the open transaction wrote to, just before its end.

        Raises `LeaderMoved` where there is no leader. None: there is no transaction.
        """
        if self.transactional_id is None:
            return None
        partitions = set(self._unfinished.partitions)
        known = self._leaders
        is_fresh = self._target.timing.clock() - self._leaders_at < LEADERS_S
        if known is not None and is_fresh and known.leads_all(partitions):
            return known
        return await self._ends().require_leaders(partitions)

    async def commit(self, leaders: LeaderSnapshot | None) -> None:
        """End the transaction; without a transactional id there is nothing to do.

        `leaders` is what `require_leaders` found. Raises `OutcomeUnknown` when no broker said whether it was
        committed.
        """
        if self.transactional_id is None or not self._is_open:
            return
        before, completion = self.identity, self._ends()
        await completion.end(commit=True, budget_s=COMMIT_BUDGET_S)
        self._identity, self._unfinished.is_committed = completion.identity, True
        await self._settle(completion, leaders)
        if self._identity != before:
            self._sequences.clear()
        self._added.clear()
        self._is_open = False

    def _start_over(self) -> None:
        self._sequences.clear()
        self._added.clear()
        self._unfinished.clear()
        self._is_open = False

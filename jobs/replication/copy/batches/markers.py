"""Transaction markers: ends of transactions that reach every partition, and the fencing of older producers.

Where a partition has no leader for a moment, brokers (seen with 4.3.1) leave the marker of a transaction
out there and call the transaction complete all the same. Its records stay open then, and the producer's next
marker on that partition decides about them: aborted records would count, committed ones would not.
Whether it happened follows from what the coordinator's own broker knew of the leaders before and
after: its knowledge only moves forward, and who was missed has another leader epoch. There the end is sent
once more, by a transaction that writes nothing and ends in the same way; where the marker was not missing,
that changes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.coordinator import GaveUp, ask_coordinator
from jobs.cluster.protocol.data.transaction_list import (
    DescribedTransaction,
    describe_on,
    describe_transaction,
    describes,
    list_transactions,
)
from jobs.cluster.protocol.data.transactions import (
    ProducerIdentity,
    add_partitions_to_txn,
    end_txn,
    init_producer_id,
)
from jobs.cluster.protocol.errors import Denied, LeaderMoved
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.replication.flow.spec import FlowSpec, Guarantee

logger = logging.getLogger(__name__)

_Answer = TypeVar("_Answer")

BUDGET_S = 15.0
COMPLETE_WITHIN_S = 30.0
# Markers are there after a few milliseconds (4 to 5 on a small machine), and nothing can be sent until then.
FIRST_PAUSE_S, NEXT_PAUSE_S, LONGEST_PAUSE_S = 0.003, 0.001, 0.1
RETRY_DELAY_S = 0.25


@dataclass(frozen=True, slots=True)
class LeaderSnapshot:
    """What one broker knew at one moment: the leader epoch of each partition, None where it has no leader.

    `gone` are partitions that it does not know at all: not yet, or deleted.
    """

    broker_id: int | None
    epochs: Mapping[TopicPartition, int | None]
    gone: frozenset[TopicPartition] = frozenset()

    def leads_all(self, partitions: Iterable[TopicPartition]) -> bool:
        """Whether all these partitions had a leader."""
        return all(self.epochs.get(where) is not None for where in partitions)

    def missed_since(self, before: LeaderSnapshot | None) -> set[TopicPartition]:
        """Return the partitions that may have been without a leader since `before` (None: all of them)."""
        if before is None or before.broker_id != self.broker_id:
            return set(self.epochs)
        return {
            where
            for where, epoch in self.epochs.items()
            if epoch is None or before.epochs.get(where) != epoch
        }


class TransactionCompletion:
    """The ends of the transactions of one id; `identity` is its producer's newest.

    Everything here raises `ClusterFault`; `LeaderMoved` while one of the partitions has no leader.
    """

    def __init__(self, target: RawCluster, name: str, identity: ProducerIdentity) -> None:
        self.identity = identity
        self._target = target
        self._name = name

    async def read_leaders(self, partitions: Collection[TopicPartition]) -> LeaderSnapshot:
        """Ask the coordinator's broker who leads these partitions."""
        return await self._ask(lambda connection: self._leaders_on(connection, partitions))

    async def require_leaders(self, partitions: Collection[TopicPartition]) -> LeaderSnapshot:
        """Likewise; raises `LeaderMoved` where there is no leader."""
        found = await self.read_leaders(partitions)
        for where in sorted(partitions):
            if found.epochs[where] is None:
                raise _not_led(where, self._target.alias, is_gone=where in found.gone)
        return found

    async def end(self, *, commit: bool, budget_s: float = BUDGET_S) -> None:
        """Commit or abort what is open; markers: see `complete_markers`. May raise `OutcomeUnknown`."""
        self.identity = await end_txn(
            self._target, self._name, self.identity, commit=commit, budget_s=budget_s
        )

    async def complete_markers(
        self, partitions: Collection[TopicPartition], before: LeaderSnapshot | None, *, commit: bool
    ) -> LeaderSnapshot:
        """Return when an end has reached all these partitions, and who led them then.

        `before` is what `require_leaders` found before it; None: nothing is known, so it is sent again
        everywhere.
        """
        while True:
            leaders = (await self._once_ended(partitions))[1]
            missed = leaders.missed_since(before)
            if not missed:
                return leaders
            logger.warning(
                "cluster=%s telling the end of %s again to %d partitions, among them %s",
                self._target.alias, self._name, len(missed), min(missed),
            )  # fmt: skip
            before = await self.require_leaders(missed)
            await add_partitions_to_txn(
                self._target, self._name, self.identity, missed, budget_s=BUDGET_S
            )
            await self.end(commit=commit)
            partitions = missed

    async def completed(self) -> DescribedTransaction:
        """Wait until no end is under way; returns what there is then."""
        return (await self._once_ended(()))[0]

    async def _once_ended(
        self, partitions: Collection[TopicPartition]
    ) -> tuple[DescribedTransaction, LeaderSnapshot]:
        """Wait until no end is under way; returns what there is then, and who leads these partitions.

        Both are requested at once on one connection. A broker answers what comes on one in the order of
        asking, so the leaders are those after the end. Where it is read in the log, the leaders are queried
        afterwards: the same broker writes there that an end is complete, after it knew who led for the last
        marker.
        """

        async def look(connection: BrokerConnection) -> tuple[DescribedTransaction, LeaderSnapshot]:
            described = describe_on(self._target, connection, self._name)
            if not describes(connection):
                return await described, await self._leaders_on(connection, partitions)
            return await asyncio.gather(described, self._leaders_on(connection, partitions))

        clock = self._target.timing.clock
        give_up_at, pause_s = clock() + COMPLETE_WITHIN_S, NEXT_PAUSE_S
        await asyncio.sleep(FIRST_PAUSE_S)
        while True:
            told, leaders = await self._ask(look)
            if not told.is_ending:
                return told, leaders
            if clock() >= give_up_at:
                raise TimedOut(
                    f"The end of transaction {self._name} has not reached all its partitions within "
                    f"{COMPLETE_WITHIN_S:g} s.",
                    cluster=self._target.alias,
                )
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _leaders_on(
        self, connection: BrokerConnection, partitions: Collection[TopicPartition]
    ) -> LeaderSnapshot:
        now = await self._target.metadata_from(connection, {where.topic for where in partitions})
        found = {where: now.partition(where) for where in partitions}
        epochs = {
            where: one.leader_epoch if one is not None and one.leader is not None else None
            for where, one in found.items()
        }
        gone = frozenset(where for where, one in found.items() if one is None)
        return LeaderSnapshot(connection.server.broker_id, epochs, gone)

    async def _ask(self, send: Callable[[BrokerConnection], Awaitable[_Answer]]) -> _Answer:
        try:
            return await ask_coordinator(self._target, self._name, send, BUDGET_S)
        except GaveUp as gave_up:
            raise gave_up.fault from None


def _not_led(where: TopicPartition, cluster: str, *, is_gone: bool) -> LeaderMoved:
    waits = "so the transaction that wrote there is not ended now"
    if is_gone:
        return LeaderMoved(
            f"The brokers do not know {where} now, {waits}.",
            cluster=cluster,
            hint="If the topic was deleted, replication resumes by itself, without the last records of it.",
        )
    return LeaderMoved(
        f"{where} has no leader, {waits}: brokers would omit its transaction marker there.",
        cluster=cluster,
        hint="Replication resumes when the partition has a leader: start its brokers, and add replicas to "
        "the topic.",
    )


async def complete_markers_with_retries(
    completion: TransactionCompletion,
    partitions: Collection[TopicPartition],
    before: LeaderSnapshot | None,
    *,
    commit: bool,
    patience_s: float,
) -> None:
    """Settle, whatever waiting helps against; for those who cannot come back to it later."""
    clock = asyncio.get_running_loop().time
    give_up_at = clock() + patience_s
    while True:
        try:
            await completion.complete_markers(partitions, before, commit=commit)
        except ClusterFault as fault:
            if not fault.retriable or clock() >= give_up_at:
                raise
            before = None
            await asyncio.sleep(RETRY_DELAY_S)
        else:
            return


# Who takes over knows where to tell the end again only now: it waits for whatever is just missing.
PATIENCE_S = 60.0


def transactional_prefix(flow: FlowSpec) -> str:
    """Return what the transactional ids of a flow begin with."""
    return f"crosslog.{flow.source.alias}.{flow.name}."


def transactional_id(flow: FlowSpec, slot: int) -> str:
    """Return the transactional id of one share of a flow."""
    return f"{transactional_prefix(flow)}{slot}"


def is_share_of(flow: FlowSpec, name: str) -> bool:
    """Return whether a transactional id is one of a flow's; the flow `a.b` is none of the flow `a`."""
    prefix = transactional_prefix(flow)
    return name.startswith(prefix) and name[len(prefix) :].isdecimal()


def fence_flow(flow: FlowSpec) -> int:
    """Take over every transactional id of a flow, before its positions are read; return how many there were.

    A task that was cut off may still be alive somewhere: what it left open is aborted, on every partition
    that it wrote to, and whatever it sends later is refused. Where such a partition has no leader, that has
    to wait: raises `LeaderMoved`, or another `ClusterFault`.
    """
    return asyncio.run(_fence(flow))


def fence_slot(flow: FlowSpec, slot: int) -> None:
    """Take over the transactional id of one share while the others continue; raises `ClusterFault`.

    Without transactions there is nothing to take over: a writer that was cut off stops by itself.
    """
    if flow.delivery is Guarantee.EXACTLY_ONCE:
        asyncio.run(_take_over(flow, transactional_id(flow, slot)))


async def _take_over(flow: FlowSpec, name: str) -> None:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        await _end(target, name)
    logger.info("fenced flow=%s transactional_id=%s", flow.name, name)


async def _end(target: RawCluster, name: str) -> None:
    last = await describe_transaction(target, name)
    no_producer = ProducerIdentity(-1, -1)
    before = (
        await TransactionCompletion(target, name, no_producer).require_leaders(last.partitions)
        if last.is_open
        else None
    )
    ends = TransactionCompletion(target, name, await init_producer_id(target, name))
    if last.partitions:
        commit = last.is_committed is True
        await complete_markers_with_retries(
            ends, last.partitions, before, commit=commit, patience_s=PATIENCE_S
        )


async def _fence(flow: FlowSpec) -> int:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        try:
            listed = await list_transactions(target, transactional_prefix(flow))
        except Denied as fault:
            # Only a flow that was exactly once before could have left a transaction open.
            if flow.delivery is Guarantee.EXACTLY_ONCE:
                raise
            logger.warning("flow=%s transactional ids were not listed: %s", flow.name, fault)
            listed = []
        found = [name for name in listed if is_share_of(flow, name)]
        for one in found:
            await _end(target, one)
    logger.info("fenced flow=%s transactional_ids=%d", flow.name, len(found))
    return len(found)

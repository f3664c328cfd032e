"""The sending half: one loop per target broker, several requests on their way, one commit gate."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.raw.batch import BatchBytes
from jobs.cluster.raw.errors import AnswerFault, OutcomeUnknown
from jobs.cluster.raw.produce import ProducedPartition, RecordError, produce
from jobs.replication.batches.batch_partition import BatchPartition
from jobs.replication.batches.delivery import Delivery
from jobs.replication.batches.intake import Parcel
from jobs.replication.batches.leaders import Leaders

# Brokers remember the last five batches of a producer per partition, so no more may be on their way.
IN_FLIGHT = 5
REQUEST_BYTES = 4 * 1024 * 1024
PRODUCE_TIMEOUT_MS = 30_000


class Refusal(NamedTuple):
    """What the target said about a parcel; `records` names the records that it does not like."""

    fault: AnswerFault
    parcel: Parcel
    records: tuple[RecordError, ...] = ()


class PartitionsRefused(Exception):
    """The target did not take batches of some partitions, by source partition."""

    def __init__(self, refusals: Mapping[TopicPartition, Refusal]) -> None:
        super().__init__("; ".join(str(refusal.fault) for refusal in refusals.values()))
        self.refusals = dict(refusals)


_UNANSWERED = ProducedPartition(None, None, None, None, (), None)
Picked = list[tuple[BatchPartition, Parcel]]


class Sending:
    """Sends what partitions have queued; nothing is sent while `paused`."""

    def __init__(
        self, target: Leaders, parts: Collection[BatchPartition], delivery: Delivery
    ) -> None:
        self._target = target
        self._parts = parts
        self._delivery = delivery
        self._gate = asyncio.Event()
        self._gate.set()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._sent = asyncio.Event()
        self._on_their_way = 0
        self._brokers: dict[int, list[BatchPartition]] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everything that was sent is acknowledged."""
        return self._on_their_way == 0

    def start(self, group: asyncio.TaskGroup) -> None:
        """Say where the tasks that wait for answers live."""
        self._group = group

    def stop(self) -> None:
        """Wait for no more answers."""
        for task in self._answers:
            task.cancel()

    def wake(self) -> None:
        """Look again: something was queued."""
        self._work.set()

    async def room(self) -> None:
        """Wait until something queued was sent."""
        self._sent.clear()
        await self._sent.wait()

    def new_loops(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield a loop for every broker that leads remote partitions and has none yet."""
        led: dict[int, list[BatchPartition]] = defaultdict(list)
        for part in self._parts:
            leader = self._target.leader(part.remote)
            if leader is not None:
                led[leader].append(part)
        new = led.keys() - self._brokers.keys()
        self._brokers = {**{broker: [] for broker in self._brokers}, **led}
        self._work.set()
        for broker in new:
            yield self._send_to(broker)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Send nothing in here, and enter only when everything sent is acknowledged."""
        self._gate.clear()
        try:
            await self._idle.wait()
            yield
        finally:
            self._gate.set()

    async def _send_to(self, broker: int) -> None:
        slots = asyncio.Semaphore(IN_FLIGHT)
        while True:
            await slots.acquire()
            await self._gate.wait()
            picked = self._pick(broker)
            if not picked:
                slots.release()
                self._work.clear()
                await self._work.wait()
                continue
            self._sent.set()
            self._leave()
            missing = self._delivery.missing(part.remote for part, _ in picked)
            if missing:
                await self._delivery.add(missing)
            self._launch(broker, picked, slots)

    def _pick(self, broker: int) -> Picked:
        """Take at most one parcel of each partition that this broker leads."""
        picked: Picked = []
        size = 0
        for part in self._brokers[broker]:
            if part.queue and (not picked or size + len(part.queue[0].batch) <= REQUEST_BYTES):
                parcel = part.pick()
                picked.append((part, parcel))
                size += len(parcel.batch)
        if picked:  # who came last begins next time
            moved = self._brokers[broker]
            moved.append(moved.pop(0))
        return picked

    def _launch(self, broker: int, picked: Picked, slots: asyncio.Semaphore) -> None:
        """Start a request. Tasks begin in the order in which they are made, so requests keep theirs."""
        assert self._group is not None  # noqa: S101  start comes first
        batches = {part.remote: self._delivery.claim(part.remote, p.batch) for part, p in picked}
        task = self._group.create_task(self._send(broker, picked, batches, slots))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _send(
        self,
        broker: int,
        picked: Picked,
        batches: Mapping[TopicPartition, BatchBytes],
        slots: asyncio.Semaphore,
    ) -> None:
        answer = await produce(
            self._target.cluster,
            broker,
            batches,
            transactional_id=self._delivery.transactional_id,
            timeout_ms=PRODUCE_TIMEOUT_MS,
        )
        refusals = {}
        for part, parcel in picked:
            produced = answer.partitions.get(part.remote, _UNANSWERED)
            if produced.error is not None:
                refusals[part.where] = Refusal(produced.error, parcel, produced.record_errors)
            elif produced.base_offset is None:
                raise OutcomeUnknown(
                    f"The answer about {part.remote} has no offset.",
                    cluster=self._target.cluster.alias,
                )
            else:
                part.acknowledged(parcel, produced.base_offset)
        if refusals:
            raise PartitionsRefused(refusals)
        slots.release()
        self._arrive()

    def _leave(self) -> None:
        self._on_their_way += 1
        self._idle.clear()

    def _arrive(self) -> None:
        self._on_their_way -= 1
        if self._on_their_way == 0:
            self._idle.set()

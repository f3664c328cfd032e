"""The sending half: one loop per target broker, several requests on their way, one commit gate."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.produce import BatchBytes, ProducedPartition, RecordError, produce
from jobs.cluster.protocol.errors import AnswerFault, LeaderMoved, OutcomeUnknown
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.outgoing import OutgoingBatch
from jobs.replication.copy.batches.partition import BatchPartition
from jobs.replication.copy.batches.transactions import Delivery
from jobs.replication.copy.quotas import Quotas

# Brokers remember the last five batches of a producer per partition, so no more may be on their way.
IN_FLIGHT = 5
LONG_THROTTLE_MS = 1000


class Refusal(NamedTuple):
    """What the target said about an outgoing batch; `records` names the records that it does not like."""

    fault: AnswerFault
    batch: OutgoingBatch
    records: tuple[RecordError, ...] = ()


class PartitionsRefused(Exception):
    """The target did not take batches of some partitions, by source partition."""

    def __init__(self, refusals: Mapping[TopicPartition, Refusal]) -> None:
        super().__init__("; ".join(str(refusal.fault) for refusal in refusals.values()))
        self.refusals = dict(refusals)


Picked = dict[TopicPartition, tuple[BatchPartition, OutgoingBatch]]
"""What goes into one request, by remote partition."""


@dataclass(slots=True)
class Window:
    """How large a request may be: less after one that was not answered in time, slowly more again."""

    LARGEST_BYTES = 4 * 1024 * 1024
    SMALLEST_BYTES = 64 * 1024

    size_bytes: int = LARGEST_BYTES

    def shrink(self) -> None:
        """Ask less of a way that may be too slow."""
        self.size_bytes = max(self.size_bytes // 4, self.SMALLEST_BYTES)

    def grow(self, sent_bytes: int) -> None:
        """Take note that something arrived."""
        self.size_bytes = min(self.size_bytes + sent_bytes // 4, self.LARGEST_BYTES)


@dataclass(slots=True, eq=False)
class _Request:
    """A request without an answer yet."""

    broker: int
    picked: Picked
    since_s: float


@dataclass(slots=True)
class _Turns:
    """Which partitions may have more than one batch on their way, since the last commit."""

    opened: set[TopicPartition] = field(default_factory=set)
    opening: set[TopicPartition] = field(default_factory=set)


class Sender:
    """Sends what partitions have queued; nothing is sent while `paused`."""

    def __init__(
        self,
        target: Leaders,
        parts: Collection[BatchPartition],
        delivery: Delivery,
        window: Window,
        quotas: Quotas,
    ) -> None:
        self.target = target
        self._parts = parts
        self._delivery = delivery
        self._window = window
        self._quotas = quotas
        self._gate = asyncio.Event()
        self._gate.set()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._sent = asyncio.Event()
        self._requests: set[_Request] = set()
        self._turns = _Turns()
        self._brokers: dict[int, list[BatchPartition]] = {}
        self._answers: set[asyncio.Task[None]] = set()
        self._group: asyncio.TaskGroup | None = None

    @property
    def is_idle(self) -> bool:
        """Whether everything that was sent is acknowledged."""
        return not self._requests

    @property
    def is_paused(self) -> bool:
        """Whether nothing is sent now, because of a commit."""
        return not self._gate.is_set()

    async def opened(self) -> None:
        """Wait while it is paused."""
        await self._gate.wait()

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

    def wake_session(self) -> None:
        """End the wait for `room`."""
        self._sent.set()

    async def room(self) -> None:
        """Wait until something was sent or acknowledged."""
        self._sent.clear()
        await self._sent.wait()

    def waited_s(self) -> float:
        """Return for how long the oldest request has been without an answer."""
        oldest = min((request.since_s for request in self._requests), default=None)
        return 0.0 if oldest is None else time.monotonic() - oldest

    def check_leaders(self) -> None:
        """Raise `LeaderMoved` when a request waits for a broker that does not lead any more."""
        for request in self._requests:
            for remote in request.picked:
                leader = self.target.leader(remote)
                if leader not in (None, request.broker):
                    raise LeaderMoved(
                        f"Broker {request.broker} does not answer, and {remote} is led by broker {leader} "
                        "now.",
                        cluster=self.target.cluster.alias,
                    )

    def new_loops(self) -> Iterator[Coroutine[Any, Any, None]]:
        """Yield a loop for every broker that leads remote partitions and has none yet."""
        led: dict[int, list[BatchPartition]] = defaultdict(list)
        for part in self._parts:
            leader = self.target.leader(part.remote)
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
            self._turns = _Turns()
        finally:
            self._gate.set()

    async def _send_to(self, broker: int) -> None:
        slots = asyncio.Semaphore(IN_FLIGHT)
        while True:
            await slots.acquire()
            await self._quotas.wait((self.target.cluster.alias, broker))
            while not self._gate.is_set():
                await self._gate.wait()
            picked = self._pick(broker)
            if not picked:
                slots.release()
                self._work.clear()
                await self._work.wait()
                continue
            request = self._leave(broker, picked)
            missing = self._delivery.missing(picked)
            if missing:
                await self._delivery.add(missing)
            self._launch(request, slots)

    def _pick(self, broker: int) -> Picked:
        """Take at most one outgoing batch of each partition that this broker leads."""
        picked: Picked = {}
        size = 0
        for part in self._brokers[broker]:
            if not part.queue or part.remote in self._turns.opening:
                continue
            next_bytes = len(part.queue[0].batch)
            if not picked or size + next_bytes <= self._window.size_bytes:
                picked[part.remote] = (part, part.pick())
                size += next_bytes
        if picked:  # who came last begins next time
            moved = self._brokers[broker]
            moved.append(moved.pop(0))
        return picked

    def _launch(self, request: _Request, slots: asyncio.Semaphore) -> None:
        """Start a request. Tasks begin in the order in which they are made, so requests keep theirs."""
        assert self._group is not None  # noqa: S101  start comes first
        task = self._group.create_task(self._send(request, slots))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _send(self, request: _Request, slots: asyncio.Semaphore) -> None:
        claim = self._delivery.claim
        batches = {
            remote: claim(remote, outgoing.batch)
            for remote, (_, outgoing) in request.picked.items()
        }
        cluster, name = self.target.cluster, self._delivery.transactional_id
        broker = request.broker
        throttled = partial(self._be_throttled, broker)
        async for answers in produce_until_acknowledged(cluster, broker, batches, name, throttled):
            self._take(request.picked, answers)
        slots.release()
        self._arrive(request)

    def _be_throttled(self, broker: int, throttle_ms: int) -> None:
        """Leave a broker alone; what it wants to rest long for was too much at once."""
        self._quotas.told((self.target.cluster.alias, broker), throttle_ms)
        if throttle_ms > LONG_THROTTLE_MS:
            self._window.shrink()

    def _take(self, picked: Picked, answers: Mapping[TopicPartition, ProducedPartition]) -> None:
        """Note what was acknowledged; raises `PartitionsRefused` when something was not."""
        refusals = {}
        for remote, produced in answers.items():
            part, outgoing = picked[remote]
            if produced.error is not None:
                refusals[part.where] = Refusal(produced.error, outgoing, produced.record_errors)
            elif produced.base_offset is None:
                raise OutcomeUnknown(
                    f"The answer about {remote} has no offset.", cluster=self.target.cluster.alias
                )
            else:
                part.acknowledged(outgoing, produced.base_offset)
                outgoing.release()
                self._window.grow(len(outgoing.batch))
                self._open(remote)
        self._sent.set()
        if refusals:
            raise PartitionsRefused(refusals)

    def _open(self, remote: TopicPartition) -> None:
        """Let more batches follow the first one of a transaction."""
        if remote in self._turns.opening:
            self._turns.opening.remove(remote)
            self._turns.opened.add(remote)
            self._work.set()

    def _leave(self, broker: int, picked: Picked) -> _Request:
        if self._delivery.may_be_busy:
            self._turns.opening |= picked.keys() - self._turns.opened
        request = _Request(broker, picked, time.monotonic())
        self._requests.add(request)
        self._idle.clear()
        self._sent.set()
        return request

    def _arrive(self, request: _Request) -> None:
        self._requests.remove(request)
        if not self._requests:
            self._idle.set()


# How long the broker may wait for its replicas: longer than a broker needs to be taken out of the ISR.
PRODUCE_TIMEOUT_MS = 20_000
CONCURRENT_TRANSACTIONS_TIMEOUT_S = 10.0
_BUSY = "CONCURRENT_TRANSACTIONS"
UNANSWERED = ProducedPartition(None, None, None, None, (), None)


async def produce_until_acknowledged(
    cluster: RawCluster,
    broker: int,
    batches: Mapping[TopicPartition, BatchBytes],
    transactional_id: str | None,
    throttled: Callable[[int], None] = lambda _ms: None,
) -> AsyncIterator[dict[TopicPartition, ProducedPartition]]:
    """Yield answers as they come, each partition's once; raises `ClusterFault`.

    With transaction protocol 2, a partition refuses the first batch of a transaction while the markers of
    the one before are on their way: such a batch is sent again, the same bytes with the same sequence. Where
    that can happen, it must be the only one on its way to its partition. `throttled` is called with how many
    milliseconds the broker throttles the client.
    """
    tries = RetryBudget(cluster.timing, CONCURRENT_TRANSACTIONS_TIMEOUT_S)
    waiting = dict(batches)
    while waiting:
        answer = await produce(
            cluster,
            broker,
            waiting,
            transactional_id=transactional_id,
            timeout_ms=PRODUCE_TIMEOUT_MS,
        )
        throttled(answer.throttle_ms)
        found = {where: answer.partitions.get(where, UNANSWERED) for where in waiting}
        busy = {where for where, produced in found.items() if _is_busy(produced)}
        yield {where: produced for where, produced in found.items() if where not in busy}
        if busy and not await tries.pause():
            yield {where: found[where] for where in busy}
            return
        waiting = {where: waiting[where] for where in busy}


def _is_busy(produced: ProducedPartition) -> bool:
    return produced.error is not None and produced.error.error == _BUSY

"""Keeps promoted standby brokers in the ISR by heartbeats: one of any number of loops that share a store.

What it does next is decided by `decisions.plan_tick`, which is pure; here are the waits and the requests. A
loop never stops by itself because of the cluster or the store: it records the error and continues.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.broker_watch import BrokerWatch
from jobs.availability.acting.standby.decisions import (
    BrokerView,
    FencingHeartbeat,
    LoopTiming,
    SentHeartbeat,
    TickFacts,
    TickPlan,
    plan_tick,
)
from jobs.availability.acting.standby.promotions import (
    EventKind,
    HeldPromotion,
    Lease,
    LoopHeartbeat,
    Phase,
    PromotionEvent,
    PromotionStore,
    StoreAway,
    StoreState,
)
from jobs.cluster.errors import ClusterFault
from jobs.waiting import wait_up_to

logger = logging.getLogger(__name__)

_MOST_EVENTS = 1_000


@dataclass(slots=True)
class _Memory:
    """What a loop remembers between two ticks."""

    state: StoreState = field(default_factory=StoreState)
    read_at_ms: int = 0
    lease: Lease | None = None
    said: dict[int, SentHeartbeat] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    fenced_since_ms: dict[int, int] = field(default_factory=dict)
    was_fenced: dict[int, bool] = field(default_factory=dict)
    silent: dict[int, str] = field(default_factory=dict)
    failing: dict[int, str] = field(default_factory=dict)
    events: list[PromotionEvent] = field(default_factory=list)
    is_away: bool = False


class StandbyLoop:
    """One loop. `loop_id` names it in the store; two loops must not share one.

    `now_ms` is the wall clock (ms since 1970); loops on several machines need clocks that agree within
    seconds.
    """

    def __init__(
        self,
        connections: ClusterConnections,
        store: PromotionStore,
        *,
        loop_id: str,
        timing: LoopTiming | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._connections = connections
        self._store = store
        self._loop_id = loop_id
        self._timing = timing or LoopTiming()
        self._now_ms = now_ms or (lambda: int(time.time() * 1000))
        self._memory = _Memory()
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._asking: asyncio.Future[tuple[StoreState, Lease | None]] | None = None
        self._asked_at_ms = 0
        self._watch_problem = ""
        # One thread: a store that hangs is not asked a second time meanwhile.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="promotion-store")

    @property
    def problem(self) -> str:
        """What keeps it from its work, one sentence; empty: nothing."""
        words = [self._watch_problem] if self._watch_problem else []
        for number, why in (*self._memory.failing.items(), *self._memory.silent.items()):
            words.append(f"Broker {number}: {why}" if number >= 0 else why)
        return " ".join(words)

    def run(self, stop: threading.Event) -> None:
        """Run until `stop` is set; what is held stays in the store for the other loops.

        Raises `ClusterFault` only where the connection's settings are not usable.
        """
        try:
            asyncio.run(self._until(stop))
        finally:
            self._give_back()

    async def _until(self, stop: threading.Event) -> None:
        async with BrokerWatch.opened(self._connections, self._now_ms) as watch:
            works = (watch.follow(), watch.poll(), self._tick_on(watch))
            tasks = [asyncio.create_task(work) for work in works]
            try:
                while not stop.is_set():
                    done, _ = await asyncio.wait(
                        tasks, timeout=0.1, return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in done:
                        task.result()
            finally:
                for task in (*tasks, *self._sending.values()):
                    task.cancel()
                await asyncio.gather(*tasks, *self._sending.values(), return_exceptions=True)

    async def _tick_on(self, watch: BrokerWatch) -> None:
        tick_s = self._timing.tick_ms / 1000
        while True:
            try:
                await self.tick(watch)
            except Exception as error:
                # A round ends here: whatever it was, the next heartbeat must still be sent.
                logger.exception("loop=%s a round failed", self._loop_id)
                self._memory.failing[-1] = f"A round failed: {error}"
            else:
                self._memory.failing.pop(-1, None)
            watch.changed.clear()
            await wait_up_to(watch.changed.wait(), tick_s)

    async def tick(self, watch: BrokerWatch) -> TickPlan:
        """Do one round: read the store, look at the brokers, send what is due."""
        is_fresh = await self._read_store()
        self._watch_problem = watch.problem
        brokers = watch.views()
        # Fenced ones too: the next one to promote is then known to be alive.
        watch.interest = frozenset(one.broker_id for one in self._memory.state.promotions).union(
            number for number, one in brokers.items() if one.is_fenced
        )
        self._note_fencing(brokers)
        plan = plan_tick(self._facts(brokers, is_fresh=is_fresh), self._timing)
        for beat in plan.beats:
            self._start(watch, beat, brokers[beat.broker_id].fencings)
        self._let_go(plan)
        # What was not looked at yet, in the first moments, is no news.
        self._note_silence({n: why for n, why in plan.silent.items() if watch.has_looked(n)})
        await self._end(plan.ended)
        return plan

    def _facts(self, brokers: Mapping[int, BrokerView], *, is_fresh: bool) -> TickFacts:
        memory = self._memory
        return TickFacts(
            now_ms=self._now_ms(),
            loop_id=self._loop_id,
            state=memory.state,
            read_at_ms=memory.read_at_ms,
            is_fresh=is_fresh,
            has_lease=memory.lease is not None,
            brokers=brokers,
            said=memory.said,
            dropped=frozenset(memory.dropped),
            fenced_since_ms=memory.fenced_since_ms,
        )

    async def _read_store(self) -> bool:
        """Read the store, renew the lease, leave a sign; returns whether that worked in time."""
        memory, now_ms = self._memory, self._now_ms()
        if self._asking is None:
            loop = asyncio.get_running_loop()
            self._asking = loop.run_in_executor(self._threads, self._store_round, now_ms)
            self._asked_at_ms = now_ms
        is_old = now_ms - self._asked_at_ms > self._timing.store_ms
        try:
            async with asyncio.timeout(self._timing.store_ms / 1000):
                state, lease = await asyncio.shield(self._asking)
        except Exception as error:  # noqa: BLE001  see below; it is recorded in an event
            # A round ends here: after any error of a store, heartbeats continue from memory.
            if self._asking.done():
                self._asking = None
            self._note_away(error)
            return False
        self._asking = None
        if is_old:
            # The store hung; what it told in the end may be from before a demotion.
            return False
        memory.state, memory.lease, memory.read_at_ms = state, lease, self._now_ms()
        memory.dropped.clear()
        memory.is_away = False
        return True

    def _store_round(self, now_ms: int) -> tuple[StoreState, Lease | None]:
        """Run all store operations of one round (in a thread); raises `StoreAway`."""
        memory = self._memory
        lease = self._store.take_lease(self._loop_id, now_ms, self._timing.lease_ms)
        state = self._store.read()
        seen = {one.promotion_id: one.generation for one in state.promotions}
        self._store.sign(LoopHeartbeat(self._loop_id, now_ms, seen, self.problem))
        while memory.events:
            self._store.record(memory.events[0])
            memory.events.pop(0)
        return state, lease

    def _note_away(self, error: Exception) -> None:
        memory = self._memory
        memory.lease = None
        if memory.is_away:
            return
        memory.is_away = True
        why = str(error) or f"no answer within {self._timing.store_ms} ms"
        for one in memory.state.promotions:
            self._tell(EventKind.GONE_ON_FROM_MEMORY, one.broker_id, one.promotion_id, why)

    def _start(self, watch: BrokerWatch, beat: FencingHeartbeat, fencings: int) -> None:
        """Send a heartbeat beside everything else, one at a time per broker."""
        running = self._sending.get(beat.broker_id)
        if running is not None and not running.done():
            return
        self._sending[beat.broker_id] = asyncio.create_task(self._send(watch, beat, fencings))

    async def _send(self, watch: BrokerWatch, beat: FencingHeartbeat, fencings: int) -> None:
        memory, number = self._memory, beat.broker_id
        sent_ms = self._now_ms()
        try:
            await watch.send(beat)
        except Exception as error:  # noqa: BLE001  the task ends here, and tells why in an event
            text = _said_of(error)
            if memory.failing.get(number) != text:
                self._tell(EventKind.HEARTBEAT_FAILED, number, beat.promotion_id, text)
            memory.failing[number] = text
            return
        memory.failing.pop(number, None)
        before = memory.said.get(number)
        memory.said[number] = SentHeartbeat(sent_ms, beat.broker_epoch, beat.want_fence, fencings)
        if beat.want_fence:
            self._tell(EventKind.FENCE_SENT, number, beat.promotion_id)
        elif before is None or before.want_fence or before.broker_epoch != beat.broker_epoch:
            self._tell(EventKind.FIRST_HEARTBEAT, number, beat.promotion_id)

    def _note_fencing(self, brokers: Mapping[int, BrokerView]) -> None:
        """Keep since when brokers are fenced, and tell when that of a promoted one changes."""
        memory, now_ms = self._memory, self._now_ms()
        for promotion in memory.state.promotions:
            broker = brokers.get(promotion.broker_id)
            if broker is None:
                continue
            before = memory.was_fenced.get(broker.broker_id)
            if before is not None and before != broker.is_fenced:
                kind = EventKind.FENCED if broker.is_fenced else EventKind.UNFENCED
                self._tell(kind, broker.broker_id, promotion.promotion_id)
            memory.was_fenced[broker.broker_id] = broker.is_fenced
            if broker.is_fenced:
                memory.fenced_since_ms.setdefault(broker.broker_id, now_ms)
            else:
                memory.fenced_since_ms.pop(broker.broker_id, None)

    def _let_go(self, plan: TickPlan) -> None:
        for promotion_id, why in plan.let_go.items():
            if promotion_id in self._memory.dropped:
                continue
            self._memory.dropped.add(promotion_id)
            for one in self._memory.state.promotions:
                if one.promotion_id == promotion_id:
                    self._tell(EventKind.DROPPED_FROM_MEMORY, one.broker_id, promotion_id, why)

    def _note_silence(self, silent: dict[int, str]) -> None:
        memory = self._memory
        for number, why in silent.items():
            if memory.silent.get(number) != why:
                self._tell(EventKind.NOT_ALIVE, number, "", why)
        memory.silent = silent

    async def _end(self, ended: Sequence[HeldPromotion]) -> None:
        for one in ended:
            try:
                is_moved = await asyncio.to_thread(
                    self._store.move,
                    one.promotion_id,
                    one.generation,
                    Phase.ENDED,
                    self._now_ms(),
                    lease=self._memory.lease,
                )
            except StoreAway:
                continue
            if is_moved:
                self._memory.said.pop(one.broker_id, None)
                self._tell(EventKind.ENDED, one.broker_id, one.promotion_id)

    def _tell(
        self, kind: EventKind, broker_id: int, promotion_id: str = "", detail: str = ""
    ) -> None:
        event = PromotionEvent(
            self._now_ms(), self._loop_id, broker_id, kind.value, detail, promotion_id
        )
        if len(self._memory.events) < _MOST_EVENTS:
            self._memory.events.append(event)

    def _give_back(self) -> None:
        """Let another loop decide at once, without waiting for the lease to run out."""
        lease = self._memory.lease
        if lease is not None:
            with contextlib.suppress(StoreAway):
                self._store.release_lease(lease)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _said_of(error: Exception) -> str:
    return f"{error.message} {error.hint}" if isinstance(error, ClusterFault) else repr(error)

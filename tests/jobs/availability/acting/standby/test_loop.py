"""Loops in threads of their own, over a quorum that speaks Kafka's bytes: what is away delays nothing."""

import asyncio
import contextlib
import threading
import time
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode

from jobs.availability.acting.standby.broker_watch import BrokerWatch
from jobs.availability.acting.standby.decisions import LoopTiming
from jobs.availability.acting.standby.loop import StandbyLoop
from jobs.availability.acting.standby.promotions import HeldPromotion, LoopHeartbeat, Phase
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.cluster.protocol.transport.timing import LASTING_S
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.jobs.availability.acting.standby.fake_quorum import STANDBY, FakeQuorum
from tests.jobs.cluster.protocol.fake_broker import FETCH, OFFERED, PATIENT
from tests.support import Clock
from tests.waiting import eventually_async

pytestmark = pytest.mark.slow

QUICK = LoopTiming(tick_ms=20, beat_ms=80, lease_ms=400, late_ms=200, sign_ms=800, store_ms=200)
# For a loop whose store answers, however busy the machine is.
NEVER_AWAY = replace(QUICK, store_ms=30_000)
# A busy machine holds up the heartbeat of another loop for longer than QUICK says it can be late.
HELD_UP = replace(QUICK, late_ms=3_000)


def now_ms():
    return int(time.time() * 1000)


def promotion(name="p"):
    return HeldPromotion(name, STANDBY, begun_at_ms=now_ms(), changed_at_ms=now_ms())


@contextlib.asynccontextmanager
async def looping(quorum, store, name="one", timing=QUICK):
    """Run a loop in a thread; gives the events that it writes into the store."""
    stop = threading.Event()
    loop = StandbyLoop(quorum.doors, store, loop_id=name, timing=timing)
    thread = threading.Thread(target=loop.run, args=(stop,))
    thread.start()
    try:
        yield store.events
    finally:
        stop.set()
        while thread.is_alive():
            await asyncio.sleep(0.01)


def kinds(heard):
    return [one.kind for one in heard]


def problem(store):
    return "".join(one.problem for one in store.read().signs)


async def test_a_promotion_is_held_by_heartbeats_and_a_demotion_ends_them():
    store = MemoryStore()
    async with FakeQuorum() as quorum, looping(quorum, store, timing=NEVER_AWAY) as heard:
        assert store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        await eventually_async(lambda: len(quorum.heartbeats) > 5)
        assert store.move("p", 1, Phase.DEMOTING, now_ms())
        await eventually_async(lambda: quorum.is_fenced)
        await eventually_async(lambda: not store.read().promotions)
        said = len(quorum.heartbeats)
        await eventually_async(lambda: store.read().signs[0].at_ms > now_ms() - 50)
        assert len(quorum.heartbeats) == said
        await eventually_async(lambda: "ended" in kinds(heard))
    # Fencing may be said twice before the log tells that it was done.
    told = list(dict.fromkeys(kinds(heard)))
    assert told == ["first_heartbeat", "unfenced", "fence_sent", "fenced", "ended"]


async def test_a_broker_that_falls_out_is_brought_back_at_once():
    store = MemoryStore()
    async with FakeQuorum() as quorum, looping(quorum, store):
        store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        quorum.fence(is_fenced=True)
        await eventually_async(lambda: not quorum.is_fenced)


async def test_while_the_store_is_away_heartbeats_go_on():
    store = MemoryStore()
    async with FakeQuorum() as quorum, looping(quorum, store) as heard:
        store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        store.is_away = True
        said = len(quorum.heartbeats)
        await eventually_async(lambda: len(quorum.heartbeats) > said + 5)
        store.is_away = False
        await eventually_async(lambda: any(e.kind == "gone_on_from_memory" for e in store.events))
    assert "dropped_from_memory" not in kinds(heard)


class Hanging(MemoryStore):
    """A store that does not answer while `hangs` is set."""

    def __init__(self):
        super().__init__()
        self.answers = threading.Event()
        self.answers.set()

    def read(self):
        self.answers.wait(20)
        return super().read()


async def test_a_store_that_hangs_holds_up_no_heartbeat():
    store = Hanging()
    async with FakeQuorum() as quorum, looping(quorum, store):
        store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        store.answers.clear()
        said = len(quorum.heartbeats)
        await eventually_async(lambda: len(quorum.heartbeats) > said + 5)
        store.answers.set()


class Breaking(MemoryStore):
    """A store with a fault of its own kind."""

    breaks = False

    def read(self):
        if self.breaks:
            raise RuntimeError("the table is gone")
        return super().read()


async def test_a_store_that_raises_whatever_it_likes_is_one_that_is_away():
    store = Breaking()
    async with FakeQuorum() as quorum, looping(quorum, store, timing=NEVER_AWAY) as heard:
        store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        store.breaks = True
        said = len(quorum.heartbeats)
        await eventually_async(lambda: len(quorum.heartbeats) > said + 5)
        store.breaks = False
        await eventually_async(lambda: any("the table is gone" in one.detail for one in heard))


async def test_a_loop_without_its_store_gives_in_to_the_demotion_of_another():
    """The one that can read the store demotes; the other one's memory says hold."""
    ours, theirs = MemoryStore(), MemoryStore()
    async with (
        FakeQuorum() as quorum,
        looping(quorum, ours, "one", timing=HELD_UP),
        looping(quorum, theirs, "two", timing=HELD_UP) as heard,
    ):
        for store in (ours, theirs):
            store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        await eventually_async(lambda: any(one.seen for one in theirs.read().signs))
        theirs.is_away = True
        ours.move("p", 1, Phase.DEMOTING, now_ms())
        await eventually_async(lambda: not ours.read().promotions)
        assert quorum.is_fenced
        theirs.is_away = False
        # It let go, or kept silent: its last heartbeat may be too old to tell who fenced.
        silent = {"dropped_from_memory", "not_alive"}
        await eventually_async(lambda: silent & set(kinds(heard)))


async def test_when_the_loop_that_decides_ends_the_other_one_decides():
    store = MemoryStore()
    async with FakeQuorum() as quorum, looping(quorum, store, "two"):
        await eventually_async(lambda: store.read().lease is not None)
        async with looping(quorum, store, "one"):
            await eventually_async(lambda: len(store.read().signs) == 2)
            store.begin(promotion())
            await eventually_async(lambda: not quorum.is_fenced)
        store.move("p", 1, Phase.DEMOTING, now_ms())
        await eventually_async(lambda: not store.read().promotions)
        assert store.read().lease.holder == "two"


async def test_a_demotion_waits_for_a_living_loop_that_has_not_seen_it():
    store = MemoryStore()
    # A sign that a busy machine holds up for a second is one of a living loop still.
    patient = replace(QUICK, sign_ms=60_000)
    async with FakeQuorum() as quorum, looping(quorum, store, timing=patient):
        store.begin(promotion())
        await eventually_async(lambda: not quorum.is_fenced)
        stop = threading.Event()

        def slow_loop():
            while not stop.wait(0.05):
                store.sign(LoopHeartbeat("slow", now_ms(), {"p": 1}))

        slow = threading.Thread(target=slow_loop)
        slow.start()
        await eventually_async(lambda: len(store.read().signs) == 2)
        store.move("p", 1, Phase.DEMOTING, now_ms())
        await eventually_async(lambda: quorum.is_fenced)
        fenced_at = time.monotonic()
        await eventually_async(lambda: time.monotonic() - fenced_at > 2 * QUICK.late_ms / 1000)
        assert store.read().promotions[0].phase is Phase.DEMOTING
        stop.set()
        slow.join()
        store.sign(LoopHeartbeat("slow", now_ms() - 2 * patient.sign_ms, {"p": 1}))
        await eventually_async(lambda: not store.read().promotions)


async def test_nobody_speaks_for_a_broker_that_does_not_read_the_log():
    store = MemoryStore()
    async with FakeQuorum() as quorum:
        quorum.fetched_ago_ms = 60_000
        async with looping(quorum, store) as heard:
            store.begin(promotion())
            await eventually_async(lambda: "not_alive" in kinds(heard))
            await eventually_async(lambda: "metadata log" in problem(store))
            assert quorum.heartbeats == []


async def test_a_missing_right_is_told_in_the_loops_sign():
    store = MemoryStore()
    async with FakeQuorum() as quorum:
        quorum.refuses = ErrorCode.cluster_authorization_failed
        async with looping(quorum, store):
            store.begin(promotion())
            await eventually_async(lambda: "CLUSTER_ACTION" in problem(store))


class OutsideOfEventLoops(MemoryStore):
    """A store that refuses what Django's database refuses: a question in the thread of an event loop."""

    def _answer(self):
        if threading.current_thread() is not threading.main_thread():
            with pytest.raises(RuntimeError, match="no running event loop"):
                asyncio.get_running_loop()
        super()._answer()


async def test_a_store_is_never_asked_in_the_thread_of_the_loop_and_gets_its_lease_back():
    store = OutsideOfEventLoops()
    async with FakeQuorum() as quorum:
        async with looping(quorum, store, timing=NEVER_AWAY):
            assert store.begin(promotion())
            await eventually_async(lambda: not quorum.is_fenced)
            assert store.move("p", 1, Phase.DEMOTING, now_ms())
            await eventually_async(lambda: not store.read().promotions)
        assert store.read().lease.until_ms == 0


async def test_a_loop_that_can_never_read_the_log_ends_with_the_reason():
    clock = Clock()
    async with FakeQuorum() as quorum:
        quorum.offered = OFFERED | {FETCH: (4, 12)}
        doors = replace(quorum.doors, timing=replace(PATIENT, clock=clock))
        async with BrokerWatch.opened(doors, now_ms) as watch:
            following = asyncio.create_task(watch.follow())
            await eventually_async(lambda: "Fetch in versions 4 to 12" in watch.problem)
            assert not following.done()
            clock.now += LASTING_S
            with pytest.raises(VersionNotOffered):
                await following

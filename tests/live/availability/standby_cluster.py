"""A cluster with a standby broker: its ISRs, loops that promote it, and producers whose records are acked."""

import asyncio
import contextlib
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from confluent_kafka import Producer

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.loop import StandbyLoop
from jobs.availability.acting.standby.promotions import HeldPromotion
from jobs.availability.acting.standby.standbys import Standby, read_standbys
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.admin.registrations import RegistrationLog
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.lab.cluster import Cluster
from tests.jobs.availability.acting.memory_store import MemoryStore
from tests.waiting import eventually, eventually_async

STANDBY = 4
SETTINGS = {STANDBY: {"broker.heartbeat.interval.ms": "86400000"}}


@dataclass
class StandbyCluster:
    """A running cluster, the way to it, and a topic with a replica on the standby."""

    cluster: Cluster
    doors: ClusterConnections
    topic: str


def now_ms() -> int:
    return int(time.time() * 1000)


def partitions(doors: ClusterConnections, *topics: str) -> dict[TopicPartition, PartitionReplicas]:
    async def ask() -> dict[TopicPartition, PartitionReplicas]:
        async with doors.cluster() as cluster:
            return await describe_partitions(cluster, topics or None)

    return asyncio.run(ask())


def in_all_isrs(doors: ClusterConnections, broker: int, *topics: str) -> bool:
    return all(broker in one.isr for one in partitions(doors, *topics).values())


def standby(doors: ClusterConnections, broker: int = STANDBY) -> Standby:
    async def ask() -> Standby:
        async with doors.cluster() as cluster, doors.leader(cluster) as controllers:
            return (await read_standbys(cluster, controllers))[broker]

    return asyncio.run(ask())


def wait_until_fenced(doors: ClusterConnections) -> None:
    eventually(lambda: standby(doors).is_fenced, 60, every=0.3)


def is_calm(world: StandbyCluster) -> bool:
    """Say whether every broker is in all its ISRs but the standby, which is fenced and follows."""
    found = standby(world.doors)
    are_in_sync = all(
        set(one.replicas) - {STANDBY} <= set(one.isr) for one in partitions(world.doors).values()
    )
    return are_in_sync and found.is_fenced and found.in_isr == 0 and found.unknown_lag == 0


def promotion(broker: int = STANDBY) -> HeldPromotion:
    return HeldPromotion(
        uuid.uuid4().hex, broker, begun_at_ms=now_ms(), changed_at_ms=now_ms(), asked_by="test"
    )


@contextlib.contextmanager
def looping(doors: ClusterConnections, store: MemoryStore, loop_id: str = "test") -> Iterator[None]:
    """Run a loop in a thread."""
    stop = threading.Event()
    loop = StandbyLoop(doors, store, loop_id=loop_id)
    thread = threading.Thread(target=loop.run, args=(stop,))
    thread.start()
    try:
        eventually(lambda: any(one.loop_id == loop_id for one in store.read().signs), 30)
        yield
    finally:
        stop.set()
        thread.join(30)


class Acked:
    """Writes numbered records with acks=all until it is stopped; keeps those that were acked, and when."""

    def __init__(self, cluster, topic: str, every_s: float = 0.01, size: int = 1000) -> None:
        self.topic = topic
        self.acked: list[int] = []
        self.times: list[float] = []
        self.refused = 0
        self._stop = threading.Event()
        self._every_s = every_s
        self._rest = b"." * size
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Acked":
        self._thread.start()
        eventually(lambda: len(self.acked) > 20, 30)
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(flush_s=0.0)

    def stop(self, flush_s: float = 40.0) -> None:
        self._flush_s = flush_s
        self._stop.set()
        self._thread.join(60)

    @property
    def is_going_on(self) -> bool:
        """Whether a record was acked in the last half second."""
        return time.monotonic() - self.times[-1] < 0.5

    def first_after(self, moment: float) -> float:
        """Return when the first record after a moment of `time.monotonic` was acked."""
        return next(one for one in self.times if one > moment)

    def longest_gap_s(self, since: float = 0.0) -> float:
        """Return the longest time without an acked record, of those after a moment of `time.monotonic`."""
        times = [one for one in self.times if one >= since]
        return max((later - one for one, later in itertools.pairwise(times)), default=0.0)

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            value = b"%d " % number + self._rest
            try:
                self._producer.produce(self.topic, value, on_delivery=self._heard(number))
                number += 1
            except BufferError:
                pass
            self._producer.poll(0)
            self._stop.wait(self._every_s)
        self._producer.flush(self._flush_s)

    def _heard(self, number: int) -> Callable[[object, object], None]:
        def hear(error: object, _message: object) -> None:
            if error is None:
                self.acked.append(number)
                self.times.append(time.monotonic())
            else:
                self.refused += 1

        return hear


class IsrWatch:
    """Looks at an ISR again and again, often enough; keeps every moment at which a broker was not in it."""

    def __init__(self, doors: ClusterConnections, topic: str, broker: int = STANDBY) -> None:
        self.missing: list[float] = []
        self.looks = 0
        self._doors, self._topic, self._broker = doors, topic, broker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch()))

    def __enter__(self) -> "IsrWatch":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:  # a busy machine looks more seldom
                eventually(lambda: self.looks > 100, 60)
        finally:
            self._stop.set()
            self._thread.join(30)

    async def _watch(self) -> None:
        async with self._doors.cluster() as cluster:
            while not self._stop.is_set():
                with contextlib.suppress(ClusterFault):
                    await self._look(cluster)
                await asyncio.to_thread(self._stop.wait, 0.02)

    async def _look(self, cluster: RawCluster) -> None:
        found = await describe_partitions(cluster, [self._topic])
        self.looks += 1
        if not all(self._broker in one.isr for one in found.values()):
            self.missing.append(time.monotonic())


async def has_caught_up(log: RegistrationLog) -> bool:
    """Read a log to its end; returns False while nobody leads it."""
    try:
        await log.catch_up()
    except ClusterFault:
        return False
    return True


def fencings(doors: ClusterConnections, work: Callable[[], None], broker: int = STANDBY) -> int:
    """Return how often a broker was fenced while `work` was done, as the metadata log has it."""

    async def count() -> int:
        async with doors.cluster() as cluster, doors.leader(cluster) as controllers:
            log = RegistrationLog(controllers)
            await log.catch_up()
            before = log.brokers[broker]
            await asyncio.to_thread(work)
            await eventually_async(lambda: has_caught_up(log), 12, every=0.3)
            after = log.brokers[broker]
        assert after.broker_epoch == before.broker_epoch
        return after.fencings - before.fencings

    return asyncio.run(count())

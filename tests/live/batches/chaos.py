"""Things that happen to clusters and copiers, one after the other, chosen by a seeded dice."""

import asyncio
import contextlib
import logging
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from kio.schema.elect_leaders.v2.request import ElectLeadersRequest
from kio.schema.elect_leaders.v2.response import ElectLeadersResponse
from kio.static.primitive import i8, i32Timedelta

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.transport.apis import Api
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.lab.node import Node
from jobs.replication.flow.spec import FlowSpec, Guarantee
from tests.live.copiers import CopierProcess
from tests.live.whole_batches import opened
from tests.waiting import PATIENCE, eventually, lasting, pause

logger = logging.getLogger(__name__)


class Writing(threading.Thread):
    """Two producers, one of them with transactions of which some are aborted, until told to stop.

    After each transaction it rests, for `rest_s` at most.
    """

    def __init__(
        self, connection: Connection, topic: str, partitions: int, seed: int, rest_s: float = 0.05
    ) -> None:
        super().__init__(daemon=True)
        self._rest_s = rest_s
        self._servers = connection.bootstrap_servers
        self._topic = topic
        self._partitions = partitions
        self._chance = random.Random(seed)
        self._ended = threading.Event()
        self.count = 0
        self.failures: Counter[str] = Counter()

    def stop(self) -> None:
        self._ended.set()
        self.join(120)
        assert not self.is_alive(), "the writer does not end"

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                self._write_until_something_breaks()
            except KafkaException as error:
                self.failures[error.args[0].name()] += 1
                self._ended.wait(0.5)

    def _write_until_something_breaks(self) -> None:
        settings = {"bootstrap.servers": self._servers, "linger.ms": 2}
        plain = Producer(settings | {"enable.idempotence": True, "compression.type": "lz4"})
        name = f"writer-{self._topic}"
        sure = Producer(settings | {"transactional.id": name, "transaction.timeout.ms": 20_000})
        sure.init_transactions(30)
        while not self._ended.is_set():
            self._write(plain, self._chance.randrange(1, 400))
            sure.begin_transaction()
            self._write(sure, self._chance.randrange(1, 200))
            sure.flush(20)
            if self._chance.random() < 0.7:
                sure.commit_transaction(30)
            else:
                sure.abort_transaction(30)
            self._ended.wait(self._chance.random() * self._rest_s)
        plain.flush(30)

    def _write(self, producer: Producer, count: int) -> None:
        for _ in range(count):
            self.count += 1
            value = b"%d " % self.count + b"x" * self._chance.randrange(200)
            partition = self._chance.randrange(self._partitions)
            try:
                producer.produce(self._topic, value, b"%d" % (self.count % 97), partition)
            except BufferError:
                producer.poll(0.5)
            producer.poll(0)


class Copier:
    """A worker that is started again whenever it has ended, as a driver does it."""

    def __init__(self, flow: FlowSpec, folder: Path) -> None:
        self._flow = flow
        self._folder = folder
        self._lock = threading.Lock()
        self.lives: list[CopierProcess] = []
        self.zombies: list[CopierProcess] = []
        self.killed = 0
        # Without transactions nobody keeps a zombie from writing, but the end of its driver.
        self.is_fenced = flow.delivery is Guarantee.EXACTLY_ONCE
        self._stop = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self.start()
        self._keeper.start()

    @property
    def worker(self) -> CopierProcess:
        return self.lives[-1]

    def start(self) -> None:
        with self._lock:
            self.lives.append(CopierProcess(self._flow, self._folder))

    def kill(self, chance: random.Random) -> None:
        """Kill the worker while it copies; its keeper starts another one."""
        self.wait_until_copying()
        pause(chance.random(), "it is killed at any moment of its work")
        self.killed += 1
        self.worker.kill()

    def restart(self) -> None:
        """Tell the worker to stop; its keeper starts another one."""
        self.wait_until_copying()
        self.worker.stop()

    def wait_until_copying(self, within_s: float = 20 / PATIENCE) -> None:
        """Give a worker the time to begin; while a cluster is away it cannot."""
        with contextlib.suppress(AssertionError):
            eventually(lambda: self.worker.records() > 0, within_s, every=0.1)

    def pause_and_replace(self) -> None:
        """Pause the worker, start another one beside it, and let the first one go on as a zombie."""
        self.wait_until_copying()
        with self._lock:
            zombie = self.lives[-1]
            zombie.pause()
            self.zombies.append(zombie)
            self.lives.append(CopierProcess(self._flow, self._folder))
        self.wait_until_copying()
        zombie.resume()

    def stop(self) -> None:
        self._stop.set()
        self._keeper.join(60)  # it may be starting one more
        for worker in [*self.lives, *self.zombies]:
            worker.resume() if worker.is_running else None
            worker.stop()

    def _keep(self) -> None:
        while not self._stop.wait(0.5):
            if not self.worker.is_running:
                self.start()


async def elect_preferred(connection: Connection) -> None:
    """Let leaders go back to the preferred replicas; whether there is something to do does not matter."""
    api = Api(ElectLeadersRequest, ElectLeadersResponse, 2)
    request = ElectLeadersRequest(
        election_type=i8(0),
        topic_partitions=None,
        timeout=i32Timedelta.parse(timedelta(seconds=10)),
    )
    with contextlib.suppress(ClusterFault):
        async with opened(connection) as door:
            broker = next(iter((await door.metadata()).brokers))
            await (await door.connection_to(broker, "test")).request(api, request)


def happenings(lab: Lab, source: Cluster, target: Cluster, copier: Copier) -> dict[str, Callable]:
    """Return what may happen, by name; each takes the dice."""

    def node_of(cluster: Cluster, chance: random.Random) -> Node:
        return chance.choice(list(cluster.nodes.values()))

    def kill(cluster: Cluster, chance: random.Random) -> None:
        node = node_of(cluster, chance)
        node.kill()
        pause(chance.random() * 3, "a node is away for so long")
        back(cluster, node)

    def restart(cluster: Cluster, chance: random.Random) -> None:
        node = node_of(cluster, chance)
        node.stop()
        back(cluster, node)

    def hang(cluster: Cluster, chance: random.Random) -> None:
        node = node_of(cluster, chance)
        node.pause()
        pause(2 + chance.random() * 10, "a node hangs for so long")
        node.resume()
        cluster.wait_until_serving()

    def back(cluster: Cluster, node: Node) -> None:
        node.start()
        cluster.wait_until_serving()

    several = (source if len(source.nodes) > 1 else target).connection
    return {
        "kill a source broker": lambda chance: kill(source, chance),
        "kill a target broker": lambda chance: kill(target, chance),
        "restart a source broker": lambda chance: restart(source, chance),
        "restart a target broker": lambda chance: restart(target, chance),
        "hang a source broker": lambda chance: hang(source, chance),
        "hang a target broker": lambda chance: hang(target, chance),
        "elect leaders": lambda _: asyncio.run(elect_preferred(several)),
        "kill the copier": copier.kill,
        "kill the copier again": copier.kill,
        "restart the copier": lambda _: copier.restart(),
        **({"two copiers": lambda _: copier.pause_and_replace()} if copier.is_fenced else {}),
    }


def rage(possible: Mapping[str, Callable], seconds: float, seed: int) -> Counter[str]:
    """Let things happen until the time is over, each of them once before any comes again."""
    chance = random.Random(seed)
    happened: Counter[str] = Counter()
    deck: list[str] = []
    for _ in lasting(seconds):
        if not deck:
            deck = chance.sample(list(possible), len(possible))
        pause(chance.random() * 2, "nothing happens for a moment")
        name = deck.pop()
        logger.warning("%s", name)
        possible[name](chance)
        happened[name] += 1
    return happened


def is_settled(source, topic: str, partitions: int) -> bool:
    """Say whether no transaction hides the end of the source: the last one may have lost its writer."""
    places = [TopicPartition(topic, number) for number in range(partitions)]
    with ClusterClient(source.connection) as client:
        found = read_offset_ranges(client, places, with_timestamps=False).values()
    return all(one.error is None and one.end_offset == one.high_watermark for one in found)

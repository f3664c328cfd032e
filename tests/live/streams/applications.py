"""Orders for the Streams applications of the tests, and when an application has settled."""

from __future__ import annotations

import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.records import Producer
from jobs.lab.cluster import Cluster
from jobs.lab.errors import LabError
from jobs.lab.streams.application import RUNNING, RUNNING_S, StreamsApplication
from jobs.lab.traffic.shop import Shop, ShopRecord
from tests.waiting import PATIENCE, eventually

_TICK_S = 0.1
_FLUSH_S = 30.0
# Enough for an order of each of the first 200 customers, in every partition of every repartition topic.
FIRST_CUSTOMERS = 1000
FIRST_ORDERS = 5000
STORE = "totals-by-customer"
KEYS = [f"customer-{number:04}" for number in range(200)]
# Orders and customers have 6 partitions, and so each task of by-customer; by-product has 4.
STATELESS = {f"0_{partition}" for partition in range(6)}
STATEFUL = {f"1_{partition}" for partition in range(6)} | {f"2_{p}" for p in range(4)}
Inside = dict[str, Any]


class OrderWriter:
    """Writes customers and orders at once, then `rate` orders per second until it is stopped."""

    def __init__(
        self, connection: Connection, *, prefix: str = "", rate: float = 50.0, seed: int = 1
    ) -> None:
        self.client = ClusterClient(connection)
        self.prefix = prefix
        self.rate = rate
        self.shop = Shop(seed)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._keep_on, name="orders", daemon=True)

    def start(self) -> None:
        """Write the first records, then go on in a thread."""
        producer = self._producer()
        for topic, count in (("customers", FIRST_CUSTOMERS), ("orders", FIRST_ORDERS)):
            for _ in range(count):
                self._write(producer, self.shop.next(topic))
        producer.flush(_FLUSH_S)
        self._thread.start()

    def stop(self) -> None:
        """End the thread after what it wrote was acknowledged."""
        self._is_over.set()
        self._thread.join(_FLUSH_S)
        self.client.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def _keep_on(self) -> None:
        producer, due = self._producer(), 0.0
        while not self._is_over.wait(_TICK_S):
            due += self.rate * _TICK_S
            for _ in range(int(due)):
                self._write(producer, self.shop.next("orders"))
            due %= 1
            producer.poll(0)
        producer.flush(_FLUSH_S)

    def _producer(self) -> Producer:
        return self.client.producer({"enable.idempotence": True, "linger.ms": 20})

    def _write(self, producer: Producer, record: ShopRecord) -> None:
        topic = f"{self.prefix}{record.topic}"
        producer.produce(topic, record.value, record.key, headers=record.headers)


def connection_file(cluster: Cluster, folder: Path) -> str:
    """Write the connection to a cluster as the command reads it; returns its path."""
    path = folder / "streams.yaml"
    text = f"alias: streams\nbootstrap_servers: {cluster.bootstrap_servers}\n"
    path.write_text(text, encoding="utf-8")
    return str(path)


def tasks(inside: Inside, kind: str) -> list[str]:
    """The tasks of all threads of an instance; `kind` is active or standby."""
    threads = inside["metadataForLocalThreads"] or ()
    return sorted(task["id"] for thread in threads for task in thread[kind])


def hosts(inside: Inside) -> dict[str, Inside]:
    """The endpoints that an instance knows."""
    return {one["host"]: one for one in inside["metadataForAllStreamsClients"] or ()}


def is_settled(application: StreamsApplication, standbys: int) -> bool:
    """Every task is active once and has its standbys, every endpoint is known, every key is served once."""
    try:
        found = application.inside(KEYS)
    except LabError:  # an instance that starts has no door yet
        return False
    endpoints = {application.instances[name].endpoint for name in found} - {None}
    active = [task for inside in found.values() for task in tasks(inside, "active")]
    standby = [task for inside in found.values() for task in tasks(inside, "standby")]
    served = [key for inside in found.values() for key in inside["localGet"] or ()]
    return (
        all(inside["state"] == RUNNING for inside in found.values())
        and sorted(active) == sorted(STATELESS | STATEFUL)
        and sorted(standby) == sorted(STATEFUL) * standbys
        and sorted(served) == KEYS
        and all(set(hosts(inside)) == endpoints for inside in found.values())
    )


def wait_until_settled(application: StreamsApplication, standbys: int | None = None) -> None:
    """Wait for it; `standbys` None means as many as its settings say."""
    wanted = application.settings.standbys if standbys is None else standbys
    application.wait_until_running(RUNNING_S * PATIENCE)
    eventually(lambda: is_settled(application, wanted), RUNNING_S, every=0.5)

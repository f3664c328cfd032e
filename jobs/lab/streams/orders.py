"""Orders for the shop's totals, as many as its applications need to serve every key."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.records import Producer
from jobs.lab.traffic.shop import Shop, ShopRecord

_TICK_S = 0.1
_FLUSH_S = 30.0
# Enough for an order of each of the first 200 customers, in every partition of every repartition topic.
FIRST_CUSTOMERS = 1000
FIRST_ORDERS = 5000


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
        """Write the first records, then orders in a thread."""
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

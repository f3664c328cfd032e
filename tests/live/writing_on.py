"""A program that writes without a pause while a test looks on."""

import threading
from types import TracebackType
from typing import Self

from confluent_kafka import Message, Producer

_EVERY_S = 0.005


class WritingOn:
    """Writes the numbers 0, 1, 2, ... to each partition in turn; `per_s` records of all partitions together.

    A record's value is its offset, as long as nobody else writes to the topic.
    """

    def __init__(self, cluster, topic: str, partitions: int = 1, *, per_s: float = 400) -> None:
        self._topic = topic
        self._partitions = partitions
        self._each = max(1, round(per_s * _EVERY_S / partitions))
        self._pause_s = self._each * partitions / per_s
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
        )
        self._refused: list[object] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._ends = [0] * partitions

    @property
    def written(self) -> int:
        """The records that every partition has."""
        return min(self._ends)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        self.stop()
        assert kind is not None or not self._refused

    def stop(self) -> None:
        """Write no more, and wait until everything is written."""
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def _work(self) -> None:
        number = 0
        while not self._over.wait(self._pause_s):
            for _ in range(self._each):
                for partition in range(self._partitions):
                    self._producer.produce(
                        self._topic, b"%d" % number, partition=partition, on_delivery=self._hear
                    )
                number += 1
            self._producer.poll(0)

    def _hear(self, error: object, message: Message) -> None:
        if error is not None:
            self._refused.append(error)
        else:
            self._ends[message.partition() or 0] = (message.offset() or 0) + 1

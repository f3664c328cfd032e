"""Filling a topic with known records, for tests and measurements."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.records import Message, Producer
from jobs.lab.errors import LabError
from jobs.lab.traffic.shop import Headers

_FLUSH_S = 120


@dataclass(slots=True)
class FilledRecord:
    """A record as it was written; `offset` is where the broker put it."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Filling:
    """What to write: record i goes to partition i modulo `partitions`.

    Every hundredth record has no key, every hundredth no value (a tombstone), every tenth has headers
    with a repeated name. `first_timestamp_ms` None means now; each record is 1 ms later.
    """

    count: int
    partitions: int = 3
    value_bytes: int = 100
    seed: int = 1
    first_timestamp_ms: int | None = None


def fill(
    connection: Connection,
    topic: str,
    filling: Filling,
    *,
    configs: Mapping[str, str] | None = None,
    client_settings: Mapping[str, object] | None = None,
) -> list[FilledRecord]:
    """Write known records and return them in the order of writing; the topic is made when missing.

    Raises `LabError` when a record was not acknowledged.
    """
    records = make_records(topic, filling)
    with ClusterClient(connection, timeout_s=30) as client:
        fault = create_topics(
            client, {topic: NewTopicSpec(filling.partitions, configs=configs or {})}
        )[topic]
        if fault is not None:
            raise fault
        settings = {"enable.idempotence": True, "linger.ms": 5, **(client_settings or {})}
        _write(client.producer(settings), records)
    lost = sum(record.offset < 0 for record in records)
    if lost:
        raise LabError(f"{lost} of {len(records)} records for {topic} were not acknowledged.")
    return records


def make_records(topic: str, filling: Filling) -> list[FilledRecord]:
    """Return the records of a filling; the same for the same filling with a first timestamp. Pure."""
    source = random.Random(filling.seed)  # noqa: S311  made-up records, no secrets
    first = filling.first_timestamp_ms or int(time.time() * 1000)
    return [_record(topic, number, filling, source, first) for number in range(filling.count)]


def _record(
    topic: str, number: int, filling: Filling, source: random.Random, first: int
) -> FilledRecord:
    key = None if number % 100 == 1 else f"key-{number % 997}".encode()
    value = None if number % 100 == 50 else source.randbytes(filling.value_bytes)  # noqa: PLR2004
    headers: Headers = []
    if number % 10 == 0:
        headers = [("n", str(number).encode()), ("n", b""), ("none", None)]
    return FilledRecord(topic, number % filling.partitions, key, value, headers, first + number)


def _write(producer: Producer, records: list[FilledRecord]) -> None:
    for record in records:
        while True:
            try:
                _produce(producer, record)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(_FLUSH_S)


def _produce(producer: Producer, record: FilledRecord) -> None:
    def acknowledged(error: object, message: Message) -> None:
        if error is None:
            record.offset = message.offset() or 0

    producer.produce(
        record.topic,
        record.value,
        record.key,
        record.partition,
        on_delivery=acknowledged,
        timestamp=record.timestamp_ms,
        headers=record.headers,
    )

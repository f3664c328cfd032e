"""The committed records of a short span of a partition, as fingerprints: content is compared, never kept."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from typing import NamedTuple

from confluent_kafka import Message

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import TimedOut
from jobs.cluster.records import ClientPartition, is_partition_eof

_READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 100,
}
_LOOK_S = 0.1
_BATCH = 500


class RecordFingerprint(NamedTuple):
    """Where a record is, and a hash of its key and value."""

    offset: int
    fingerprint: bytes


def read_fingerprints(
    client: ClusterClient, where: TopicPartition, start: int, end: int | None, most: int
) -> list[RecordFingerprint] | None:
    """Return the records from `start` up to `end`, or to the end of the partition as it is now.

    None when there are more than `most`. Raises `ClusterFault`, also when the span is not in the log any
    more.
    """
    if end is not None and end <= start:
        return []
    consumer = client.consumer(_READER)
    found: list[RecordFingerprint] = []
    try:
        consumer.assign([ClientPartition(where.topic, where.partition, start)])
        give_up_at = time.monotonic() + client.timeout_s
        while time.monotonic() < give_up_at:
            for message in consumer.consume(_BATCH, timeout=_LOOK_S):
                if _is_behind(client, message, end):
                    return found
                found.append(RecordFingerprint(message.offset() or 0, _fingerprint(message)))
                if len(found) > most:
                    return None
    finally:
        consumer.close()
    raise client.fault() or TimedOut(
        f"Reading {where} from offset {start}: not all was read in time.",
        cluster=client.connection.alias,
    )


def _is_behind(client: ClusterClient, message: Message, end: int | None) -> bool:
    error = message.error()
    if is_partition_eof(error):
        return True
    if error is not None:
        raise client.fault_of(error, f"Reading {message.topic()}-{message.partition()}")
    return end is not None and (message.offset() or 0) >= end


def _fingerprint(message: Message) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in _parts(message):
        digest.update(b"\0" if part is None else b"\1" + len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _parts(message: Message) -> Iterator[bytes | None]:
    for part in (message.key(), message.value()):
        yield part.encode() if isinstance(part, str) else part

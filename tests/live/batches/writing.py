"""Topics with everything in them that a producer can write, and more: whole batches of our own making."""

import asyncio
import os
import random
from collections.abc import Iterable, Sequence

from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.data.batch import BatchBytes
from jobs.wire.batches.record_batch import HEADER_BYTES, Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from tests.live.batches.placed import read_placed
from tests.live.cluster_protocol.raw import opened, write
from tests.waiting import PATIENCE, eventually

NOW = 1_750_000_000_000
ANSWER_S = 30 * PATIENCE
DAY = 86_400_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ODD_HEADERS = (
    (b"a", b"1"),
    (b"a", None),
    (b"a", b"1"),
    (b"", b"x"),
    (b"\xff\xfe", b"\x00"),
    (b"trace", b""),
)


def record(
    at: int,
    value: bytes | None = b"value",
    key: bytes | None = b"key",
    *,
    headers: tuple = (),
    timestamp: int | None = None,
) -> PlacedRecord:
    """Return a record for a batch of our own; its offset counts from the batch's first."""
    return PlacedRecord(at, NOW + at if timestamp is None else timestamp, key, value, headers)


def numbered(count: int, size: int = 20, first: int = 0) -> list[PlacedRecord]:
    return [record(n, b"%d " % (first + n) + b"x" * size, b"k%d" % (n % 7)) for n in range(count)]


def write_batches(
    cluster, topic: str, partition: int, batches: Iterable[Sequence[PlacedRecord]], **fields
) -> None:
    """Write batches as they are given, each as one batch of the log."""

    async def go() -> None:
        where = TopicPartition(topic, partition)
        async with opened(cluster.connection) as door:
            for records in batches:
                made = encode_batch(list(records), **fields)
                batch = BatchBytes(made[:HEADER_BYTES], made[HEADER_BYTES:])
                done = await write(door, where, batch)
                assert done.error is None, done

    asyncio.run(go())


class Transactions:
    """A transactional producer that writes numbered values."""

    def __init__(self, cluster, topic: str, **settings) -> None:
        self.topic = topic
        self.name = f"tx-{os.urandom(6).hex()}"
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "transactional.id": self.name,
                "linger.ms": 0,
                # On a busy machine one may be open for longer than the usual minute.
                "transaction.timeout.ms": 600_000,
                **settings,
            }
        )
        self._producer.init_transactions(ANSWER_S)
        self.count = 0

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, count: int, partition: int = 0) -> None:
        for _ in range(count):
            value = f"{self.name} {self.count}".encode()
            self._producer.produce(self.topic, value, b"key", partition=partition)
            self.count += 1
        assert self._producer.flush(ANSWER_S) == 0

    def end(self, *, commit: bool) -> None:
        if commit:
            self._producer.commit_transaction(ANSWER_S)
        else:
            self._producer.abort_transaction(ANSWER_S)


def interleave(cluster, topic: str, partition: int, rounds: int = 12, seed: int = 1, **settings):
    """Write by two transactional producers at the same time, some of whose transactions are aborted."""
    chance = random.Random(seed)
    writers = [Transactions(cluster, topic, **settings) for _ in range(2)]
    is_open = [False, False]
    for _ in range(rounds):
        at = chance.randrange(2)
        if not is_open[at]:
            writers[at].begin()
            is_open[at] = True
        writers[at].write(chance.randrange(1, 30), partition)
        if chance.random() < 0.6:
            writers[at].end(commit=chance.random() < 0.6)
            is_open[at] = False
    for at in range(2):
        if is_open[at]:
            writers[at].end(commit=bool(at))


def make_gaps(cluster, topic: str, rounds: int = 6) -> None:
    """Write to a compacted topic (see `COMPACTED`) and wait until its cleaner has made gaps."""
    written = 0
    for turn in range(rounds):
        # Segments end by the timestamps of their records, so every turn has a segment of its own.
        at = NOW + 1000 * turn
        batches = [
            [
                record(n, b"%d-%d" % (turn, n), b"k%d" % (n * (turn + 1) % 40), timestamp=at)
                for n in range(30)
            ]
            for _ in range(5)
        ]
        write_batches(cluster, topic, 0, batches, codec=Codec.ZSTD if turn % 2 else Codec.NONE)
        written += 150
    write_batches(cluster, topic, 0, [[record(0, None, b"k1", timestamp=NOW + 1000 * rounds)]])

    def is_cleaned() -> bool:
        """Only the last segment, of one record, may repeat a key: a later cleaning finds nothing more."""
        records = read_placed(cluster, topic)[0]
        keys = {record.key for record in records}
        return len(records) < written // 2 and len(records) <= len(keys) + 1

    eventually(is_cleaned, 90, every=0.5)


COMPACTED = {
    "cleanup_policy": "compact",
    "segment_ms": "100",
    "min_cleanable_dirty_ratio": "0.01",
    "max_compaction_lag_ms": "100",
    "delete_retention_ms": "86400000",
}


def set_config(cluster, topic: str, name: str, value: str) -> None:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    )
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(ANSWER_S)


def delete_before(cluster, topic: str, partition: int, offset: int) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.delete_records([ClientPartition(topic, partition, offset)]).values():
        future.result(ANSWER_S)


def delete_topic(cluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for future in admin.delete_topics([topic]).values():
        future.result(ANSWER_S)

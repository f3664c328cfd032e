"""Records: the reader alone on one core, and the kinds of analysis that read topics, in the warm engine.

Topics are filled by Produce requests of batches that were made before, with other times: records of 1 KB in
lz4 for profile and audit (the copy has the same batches), small records of a few hundred thousand keys, one
of them hot, for hot keys. The reader alone runs in this process, which also fetches: its CPU is that of all
threads. Analyses are timed from the handing over to the result, after a small one that has started the
engine; memory is that of all processes of the engine together. The bound of bytes per second is lifted.
"""

import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crc32c import crc32c
from engines import clusters
from metadata import NOTHING, Asking, Say

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.produce import BatchBytes, produce
from jobs.lab.cluster import Cluster
from jobs.lab.lab import Lab
from jobs.spark.analyses.records.ranges import spans_of, topics_named
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.wire.batches.record_batch import HEADER_BYTES, Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch

UNBOUND = {"CROSSLOG_RECORD_READ_MB_PER_S": "100000"}
PARTITIONS = 4
TEMPLATES = 40
HOT_KEY, HOT_SHARE = b"customer-0000007", 0.4
DAY_MS = 86_400_000
# A copy has the times of its source.
BEGAN_MS = time.time_ns() // 1_000_000 - DAY_MS
# Of `PlacedRecord`s made for templates: a batch has the times of its number instead.
FIRST_MS = 1_790_000_000_000
TEXT = b'{"order":"2026-01-01T00:00:00Z","amount":12.50,"currency":"EUR","lines":[' * 200
ALL = {"from": None, "to": None, "from_offset": None, "to_offset": None}
SIZES, CODECS = (100, 1_000, 10_000), (Codec.NONE, Codec.LZ4, Codec.ZSTD)
READ_BYTES = 200_000_000
TIMES = 3


@dataclass(frozen=True)
class Made:
    """Records of a topic: their number, their size (key + value) and how many are in a batch."""

    topic: str
    records: int
    size: int
    per_batch: int
    codec: Codec = Codec.LZ4

    @property
    def batches(self) -> int:
        """How many each partition has."""
        return max(1, self.records // self.per_batch // PARTITIONS)

    @property
    def whole(self) -> int:
        return self.batches * self.per_batch * PARTITIONS

    def templates(self) -> list[bytes]:
        """Return batches with different keys, of which two of five are the hot one."""
        draw = random.Random(self.size)
        return [
            encode_batch([self._record(n, draw) for n in range(self.per_batch)], codec=self.codec)
            for _ in range(TEMPLATES)
        ]

    def _record(self, number: int, draw: random.Random) -> PlacedRecord:
        is_hot = draw.random() < HOT_SHARE
        key = HOT_KEY if is_hot else b"customer-%07d" % draw.randrange(10_000_000)
        size = self.size - len(key)
        value = draw.randbytes((size + 1) // 2) + TEXT[: size // 2]
        return PlacedRecord(number, FIRST_MS, key, value)


PROFILED = Made("profiled", 4_000_000, 1_000, 250)
SMALL = Made("small", 10_000_000, 100, 2_500)
KEYED = Made("keyed", 100_000_000, 24, 10_000)


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure the reader alone and each kind that there is; returns JSON values."""
    os.environ.update(UNBOUND)
    part = 10 if quick else 1
    profiled, small, keyed = (
        Made(one.topic, one.records // part, one.size, one.per_batch, one.codec)
        for one in (PROFILED, SMALL, KEYED)
    )
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        source, target = lab.cluster("source"), lab.cluster("target")
        found: dict[str, object] = {"reader": [*alone(say, source, part)]}
        copied = [(cluster, made) for made in (profiled, small) for cluster in (source, target)]
        for cluster, made in (*copied, (source, keyed)):
            began = time.monotonic()
            fill(cluster, made)
            say(f"{made.whole:,} records of {made.size} B in {time.monotonic() - began:.0f} s")
        asked = {
            "topic-profile": ("topic-profile", profiled, of_topic(profiled)),
            "copy-audit": ("copy-audit", profiled, of_copy(profiled)),
            "copy-audit, 100 B": ("copy-audit", small, of_copy(small)),
            "key-skew": ("key-skew", keyed, of_topic(keyed)),
        }
        for name, (kind, made, arguments) in asked.items():
            found[name] = ask(lab, Path(folder) / f"{kind}-{made.topic}", kind, made, arguments)
            say(f"{name}: {json.dumps(found[name])}")
    return {"partitions": PARTITIONS, "limits": {"peak_mb": 1500, "records_per_s": 1e6}, **found}


def of_topic(made: Made) -> dict[str, str]:
    return {"cluster": "source", "topics": made.topic}


def of_copy(made: Made) -> dict[str, str]:
    sides = {"source": "source", "target": "target", "level": "L2"}
    return {**sides, "source_topic": made.topic, "target_topic": made.topic}


def ask(
    lab: Lab,
    folder: Path,
    kind: str,
    made: Made,
    arguments: dict[str, str],
    extractor: dict[str, object] | None = None,
) -> dict[str, object]:
    """Ask a warm engine of its own; records of both sides of an audit are pairs."""
    sides = {name: one for name, one in arguments.items() if one in {"source", "target"}}
    resources: dict[str, dict[str, object]] = {
        name: {"connection": lab.cluster(one).connection.to_mapping()}
        for name, one in sides.items()
    }
    resources |= {"extractor": extractor} if extractor else {}
    asking = Asking(folder)
    try:
        # Another question, so that nothing that it proved is used again.
        asking.ask_of(kind, {**arguments, "most_records": 1_000}, resources)
        all_of_it = {"most_records": 10 * made.whole, **arguments}
        all_of_it |= {"again": "yes"} if kind == "copy-audit" else NOTHING
        answer = asking.ask_of(kind, all_of_it, resources)
    finally:
        used = asking.end()
    rate = round(made.whole / float(str(answer["wall_s"])))
    return {**answer, "topic_records": made.whole, "topic_records_per_s": rate, **used}


def alone(say: Say, cluster: Cluster, part: int) -> Iterator[dict[str, object]]:
    """Read topics of each size and codec in this process; yields medians."""
    for size in SIZES:
        for codec in CODECS:
            count = max(READ_BYTES // part // size, 4_000)
            made = Made(
                f"r-{size}-{codec.name.lower()}", count, size, max(1, 250_000 // size), codec
            )
            fill(cluster, made)
            for how in ({"hash_keys": True}, {"hash_records": True}, {"only_headers": True}):
                runs = sorted(read(cluster, made, **how) for _ in range(TIMES))
                wall_s, cpu_s = runs[TIMES // 2]
                found: dict[str, object] = {
                    "size": size,
                    "codec": codec.name.lower(),
                    "how": next(iter(how)),
                    "records": made.whole,
                    "records_per_s": round(made.whole / wall_s),
                    "records_per_cpu_s": round(made.whole / cpu_s),
                }
                say(json.dumps(found))
                yield found


def read(cluster: Cluster, made: Made, **how: bool) -> tuple[float, float]:
    """Read a topic once; returns seconds and CPU seconds of this process."""
    with ClusterClient(cluster.connection) as client:
        given = {**ALL, "isolation": "read_committed"}
        spans = spans_of(client, topics_named(client, made.topic), given)
    reading = Reading({"cluster": cluster.connection}, bytes_per_s=1e12, **how)
    began, used = time.perf_counter(), time.process_time()
    with Clusters(reading) as opened:
        readers = [SpanReader(opened, span) for span in spans]
        for reader in readers:
            for _chunk in reader:
                pass
    found = sum(reader.outcome.records for reader in readers)
    if found != made.whole:
        raise RuntimeError(f"{made.topic}: {found:,} records were read, not {made.whole:,}")
    return time.perf_counter() - began, time.process_time() - used


def fill(cluster: Cluster, made: Made) -> None:
    """Write the records of a topic, a batch to each partition with each request, over a day."""
    with ClusterClient(cluster.connection) as client:
        spec = NewTopicSpec(PARTITIONS, 1, {"retention.ms": "-1"})
        create_topics(client, {made.topic: spec})
    asyncio.run(_fill(cluster, made, made.templates()))


async def _fill(cluster: Cluster, made: Made, templates: Sequence[bytes]) -> None:
    async with RawCluster(cluster.connection, client_id="bench") as door:
        for number in range(made.batches):
            at_ms = BEGAN_MS + DAY_MS * number // made.batches
            left = {
                TopicPartition(made.topic, partition): at_time(
                    templates[(number * PARTITIONS + partition) % len(templates)], at_ms
                )
                for partition in range(PARTITIONS)
            }
            while left:
                await door.metadata([made.topic])
                answer = await produce(door, 1, left, transactional_id=None, timeout_ms=30_000)
                for where, one in answer.partitions.items():
                    if one.error is None:
                        del left[where]
                    elif not one.error.retriable:
                        raise one.error
                if left:
                    await asyncio.sleep(0.1)


def at_time(batch: bytes, at_ms: int) -> BatchBytes:
    """Return a batch whose records all have a time."""
    now = at_ms.to_bytes(8, "big")
    body = batch[21:27] + now + now + batch[43:]
    made = batch[:17] + crc32c(body).to_bytes(4, "big") + body
    return BatchBytes(made[:HEADER_BYTES], memoryview(made)[HEADER_BYTES:])

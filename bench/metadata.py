"""The metadata log: decoding beside Kafka's own tool, and ten million records replayed on Spark.

Both read the same bytes: batches of 50 PartitionChangeRecords, as a controller writes them when brokers come
and go. Decoding is timed in this process, on one thread, from bytes in memory to Arrow columns, every CRC
verified; kafka-dump-log writes to the null device, its JVM included. The replay is the job on Spark, from the
start of its keeper to its end, and without that start.
"""

import base64
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from watch import Family

from jobs.lab.install.preparation import kafka_jvm
from jobs.spark import contract, submit
from jobs.spark.contract import JobSpec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns, read_columns
from jobs.wire.metadata.records import encode_metadata_record

Say = Callable[[str], None]
DECODED = 1_000_000
REPLAYED = 10_000_000
PER_BATCH = 50
TOPICS, PARTITIONS = 1000, 100
TEMPLATES = 2000
TASKS = 2
TIMES = 5
LOGGING = '<Configuration status="WARN"><Loggers><Root level="WARN"/></Loggers></Configuration>'
FIRST_MS = 1_790_000_000_000


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure both; returns JSON values."""
    part = 10 if quick else 1
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        say("writing the logs")
        segment = Path(folder) / f"{0:020}.log"
        write_log(segment, changes(0, DECODED // part))
        decoded = decode(segment.read_bytes(), say)
        dumped = dump_log(segment, DECODED // part)
        say(f"kafka-dump-log: {json.dumps(dumped)}")
        replayed = replay(Path(folder), REPLAYED // part)
        say(f"replay: {json.dumps(replayed)}")
    times = round(decoded["records_per_s"] / dumped["records_per_s"], 1)
    return {"decode": decoded, "kafka_dump_log": dumped, "times": times, "replay": replayed}


def uuid(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


def creations() -> Iterator[bytes]:
    """Yield the batches that create all topics: three replicas on six brokers."""
    offset = 0
    for number in range(TOPICS):
        told = {"name": f"topic-{number}", "topicId": uuid(1000 + number)}
        values = [encode_metadata_record("TOPIC_RECORD", 0, told)]
        for partition in range(PARTITIONS):
            brokers = [(partition + step) % 6 + 1 for step in range(3)]
            state = {"partitionId": partition, "topicId": uuid(1000 + number), "leader": brokers[0]}
            values.append(encode_metadata_record(
                "PARTITION_RECORD", 2,
                {**state, "replicas": brokers, "isr": brokers, "leaderEpoch": 0, "partitionEpoch": 0},
            ))  # fmt: skip
        yield batch(offset, values)
        offset += len(values)


def changes(offset: int, count: int) -> Iterator[bytes]:
    """Yield batches of changes: ISRs shrink and grow again, leaders move with every third."""
    chance = np.random.default_rng(7)
    templates = [batch(0, some_changes(chance)) for _ in range(TEMPLATES)]
    for number in range(count // PER_BATCH):
        # The base offset stands outside of the CRC, so batches can be used again.
        at = offset + number * PER_BATCH
        yield at.to_bytes(8, "big") + templates[number % TEMPLATES][8:]


def some_changes(chance: np.random.Generator) -> list[bytes]:
    values = []
    for topic, partition, kind in zip(
        chance.integers(0, TOPICS, PER_BATCH).tolist(),
        chance.integers(0, PARTITIONS, PER_BATCH).tolist(),
        chance.integers(0, 3, PER_BATCH).tolist(),
        strict=True,
    ):
        brokers = [(partition + step) % 6 + 1 for step in range(3)]
        change = {"partitionId": partition, "topicId": uuid(1000 + topic)}
        change |= {
            "isr": brokers if kind == 1 else [one for one in brokers if one != brokers[kind]]
        }
        change |= {"leader": brokers[1]} if kind == 0 else {}
        values.append(encode_metadata_record("PARTITION_CHANGE_RECORD", 2, change))
    return values


def batch(offset: int, values: list[bytes]) -> bytes:
    records = [
        PlacedRecord(offset + index, FIRST_MS, None, value) for index, value in enumerate(values)
    ]
    return encode_batch(records, partition_leader_epoch=1)


def write_log(path: Path, batches: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(batches)


def decode(content: bytes, say: Say) -> dict[str, object]:
    """Decode a log into Arrow columns, all of them; the first time also makes the compiled code ready."""
    took, cpu = [], []
    for _ in range(TIMES + 1):
        began, used = time.perf_counter(), time.process_time()
        count = sum(to_arrow(columns) for columns in read_columns(content))
        took.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    found = {
        "records": count,
        "mb": round(len(content) / 1e6, 1),
        "wall_s": round(float(np.median(took[1:])), 3),
        "cpu_s": round(float(np.median(cpu[1:])), 3),
        "first_time_s": round(took[0], 2),
        "records_per_s": round(count / float(np.median(took[1:]))),
        "records_per_cpu_s": round(count / float(np.median(cpu[1:]))),
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
    }
    say(f"decode: {json.dumps(found)}")
    return found


def to_arrow(columns: MetadataColumns) -> int:
    """Give Arrow every column, which it takes over as it stands in memory; returns the records."""
    tables = columns.tables
    arrays = [pa.array(line) for table in (tables.records, tables.partitions) for line in table]
    for which in range(t.LISTS):
        ends = pa.array(tables.ends[which])
        arrays.append(pa.ListArray.from_arrays(ends, pa.array(tables.values[which])))
        arrays.append(pa.array(tables.valid[which]))
    return len(arrays[0])


def dump_log(segment: Path, records: int) -> dict[str, object]:
    """Run kafka-dump-log over the same file, its output to the null device."""
    logging = segment.parent / "log4j2.xml"
    logging.write_text(LOGGING, encoding="utf-8")
    words = ["--cluster-metadata-decoder", "--files", str(segment)]
    tool = kafka_jvm().command(
        "org.apache.kafka.tools.DumpLogSegments", words, logging=logging, quick_start=False
    )
    took, cpu = [], []
    for _ in range(3):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with Path(os.devnull).open("wb") as nothing:
            subprocess.run(tool, stdout=nothing, check=True)
        took.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    wall = float(np.median(took))
    return {
        "records": records,
        "wall_s": round(wall, 2),
        "cpu_s": round(float(np.median(cpu)), 2),
        "records_per_s": round(records / wall),
    }


def replay(folder: Path, count: int) -> dict[str, object]:
    """Replay so many changes of 100,000 partitions into Parquet by the job on Spark."""
    log = folder / "__cluster_metadata-0"
    log.mkdir()
    created = TOPICS * (PARTITIONS + 1)
    write_log(log / f"{0:020}.log", creations())
    for part in range(10):
        offset = created + part * (count // 10)
        write_log(log / f"{offset:020}.log", changes(offset, count // 10))
    run_dir = folder / "run"
    values = {"folder": str(log), "output": str(folder / "history"), "tasks": TASKS}
    began = time.monotonic()
    keeper = submit.start_run(JobSpec("replay", "replay", values, lease_s=3600.0), run_dir)
    family = Family(keeper)
    family.start()
    while (result := contract.read_result(run_dir)) is None:
        if not submit.is_alive(run_dir):
            raise RuntimeError(submit.read_log_tail(run_dir))
        time.sleep(0.1)
    seconds = time.monotonic() - began
    family.stop()
    if result.error:
        raise RuntimeError(result.error)
    return {
        **{name: result.summary[name] for name in ("records", "rows", "seconds", "anomalies")},
        "tasks": TASKS,
        "seconds_with_start_up": round(seconds, 1),
        "cpu_s": round(family.cpu_seconds(), 1),
        # Two workers share their libraries: the sum of resident memory counts those twice.
        "peak_rss_mb": family.peak_rss // 1_000_000,
        "peak_pss_mb": family.peak_pss // 1_000_000,
        "peak_rss_mb_by_role": {
            role: size // 1_000_000 for role, size in family.peak_by_role.items()
        },
        "parquet_mb": round(
            sum(one.stat().st_size for one in (folder / "history").iterdir()) / 1e6, 1
        ),
    }

"""The metadata log: decoding beside Kafka's own tool, and analyses of ten million records on Spark.

Both read the same bytes: batches of 50 PartitionChangeRecords, as a controller writes them when brokers come
and go. Decoding is timed in this process, on one thread, from bytes in memory to Arrow columns, every CRC
verified; kafka-dump-log writes to the null device, its JVM included. Analyses run in the warm engine: a
small log cold (the engine's start included) and warm, then the history of the large log and every question
about it, from the handing over to the result, with the resident memory of all processes of the engine.
"""

import base64
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

import numpy as np
import pyarrow as pa
from crc32c import crc32c
from watch import Family

from jobs.lab.install.preparation import kafka_jvm
from jobs.spark import contract, submit
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec
from jobs.spark.engine import door
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
# An engine that uses less in a second has nothing to do.
IDLE_CPU_S = 0.15
NOTHING: Mapping[str, object] = MappingProxyType({})
LOGGING = '<Configuration status="WARN"><Loggers><Root level="WARN"/></Loggers></Configuration>'
FIRST_MS = 1_790_000_000_000
# Ten million records are a month.
STEP_MS = 250


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
        answered = analyses(Path(folder), REPLAYED // part, say)
    times = round(decoded["records_per_s"] / dumped["records_per_s"], 1)
    return {"decode": decoded, "kafka_dump_log": dumped, "times": times, "analyses": answered}


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
    made_before = templates()
    for number in range(count // PER_BATCH):
        # Offset and times are written into a batch that was made before.
        at = (offset + number * PER_BATCH).to_bytes(8, "big")
        now = (FIRST_MS + (offset + number * PER_BATCH) * STEP_MS).to_bytes(8, "big")
        made = made_before[number % TEMPLATES]
        body = made[21:27] + now + now + made[43:]
        yield at + made[8:17] + crc32c(body).to_bytes(4, "big") + body


@cache
def templates() -> list[bytes]:
    chance = np.random.default_rng(7)
    return [batch(0, some_changes(chance)) for _ in range(TEMPLATES)]


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
    """Give Arrow every column, which it takes over as it is in memory; returns the records."""
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


def analyses(folder: Path, count: int, say: Say) -> dict[str, object]:
    """Ask the engine about a log of so many changes of 100,000 partitions, and about a small one."""
    large = a_log(folder / "large", count)
    small = a_log(folder / "small", count // 1000)
    cold = Asking(folder / "cold")
    found: dict[str, object] = {"cold": cold.ask("quorum-history", small)}
    found["warm"] = [cold.ask("quorum-history", small)["wall_s"] for _ in range(TIMES)]
    say(f"engine: {json.dumps(found)}")
    cold.end()
    asking = Asking(folder / "runs")
    found["metadata-history"] = asking.ask("metadata-history", large)
    say(f"metadata-history: {json.dumps(found['metadata-history'])}")
    at = {"before-a-moment": {"at": FIRST_MS + count * STEP_MS // 2}}
    about_logs = [one.kind for one in ANALYSES.values() if one.arguments[0].name == "log"]
    for kind in about_logs:
        if kind != "metadata-history":
            found[kind] = asking.ask(kind, large, at.get(kind, {}))
            say(f"{kind}: {json.dumps(found[kind])}")
    found |= asking.end()
    return found


class Asking:
    """Questions to one engine, whose processes are watched.

    `cores` are those that the engine may use (all), `histories` where tables of logs are kept.
    """

    def __init__(
        self,
        runs: Path,
        cores: Iterable[int] = (),
        histories: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        runs.mkdir()
        self.runs, self.cores, self.environment = runs, set(cores), environment
        self.histories = histories or runs / "histories"
        self.family: Family | None = None

    def ask(self, kind: str, log: Path, more: Mapping[str, object] = NOTHING) -> dict[str, object]:
        """Ask about a log, see `ask_of`."""
        return self.ask_of(kind, {"log": str(log), **more}, NOTHING)

    def ask_of(
        self, kind: str, arguments: Mapping[str, object], resources: Mapping[str, object]
    ) -> dict[str, object]:
        """Hand a question over and wait for its answer; the first one starts the engine."""
        run_dir = self.runs / uuid4().hex
        given = checked_arguments(ANALYSES[kind], arguments)
        values = {"arguments": given, "tables": str(run_dir / "tables"), "tasks": TASKS}
        values |= {"histories": str(self.histories), "resources": dict(resources)}
        used, stages = self.cpu_seconds(), dict[str, float]()
        began = at = time.monotonic()
        with bound_to(self.cores):
            spec = JobSpec(run_dir.name, kind, values, lease_s=3600.0)
            keeper = door.start_run(spec, run_dir, self.environment)
        if self.family is None:
            self.family = Family(keeper)
            self.family.start()
        while door.is_alive(run_dir):
            time.sleep(0.02)
            stage = str((door.read_progress(run_dir) or {}).get("message"))
            stages[stage] = stages.get(stage, 0.0) - at + (at := time.monotonic())
        wall = time.monotonic() - began
        result = contract.read_result(run_dir)
        if result is None or result.error:
            raise RuntimeError(result.error if result else door.read_log_tail(run_dir))
        records = result.summary["facts"].get("records")
        told = {"records": records, "records_per_s": round(records / wall)} if records else {}
        rows = {table["name"]: table["rows"] for table in result.summary["tables"]}
        return {
            "wall_s": round(wall, 2),
            "cpu_s": round(self.cpu_seconds() - used, 2),
            "stages_s": {stage: round(seconds, 2) for stage, seconds in stages.items()},
            **told,
            "rows": sum(rows.values()),
            "peak_rss_mb": self.family.peak_rss // 1_000_000,
            "peak_pss_mb": self.family.peak_pss // 1_000_000,
        }

    def cpu_seconds(self) -> float:
        """Return what the engine used so far, 0 before it is started."""
        if self.family is None:
            return 0.0
        self.family.look()
        return self.family.cpu_seconds()

    def settle(self) -> None:
        """Wait until the engine has nothing to do: after its start it warms up."""
        used, before = self.cpu_seconds(), -1.0
        while used - before > IDLE_CPU_S:
            time.sleep(1.0)
            used, before = self.cpu_seconds(), used

    def end(self) -> dict[str, object]:
        """End the engine; returns what all of its processes used."""
        for engine in self.runs.glob("engine-*"):
            submit.request_stop(engine)
            while submit.is_alive(engine):
                time.sleep(0.1)
        assert self.family is not None
        self.family.stop()
        return {
            "cpu_s": round(self.family.cpu_seconds(), 1),
            "peak_rss_mb_by_role": {
                role: size // 1_000_000 for role, size in self.family.peak_by_role.items()
            },
            "largest_task_rss_mb": self.family.largest_task // 1_000_000,
        }


@contextmanager
def bound_to(cores: set[int]) -> Iterator[None]:
    """Start processes on these cores only, where any are given; their children inherit it."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def a_log(folder: Path, count: int) -> Path:
    """Write a log of so many changes, in segments; returns its folder."""
    log = folder / "__cluster_metadata-0"
    log.mkdir(parents=True)
    created = TOPICS * (PARTITIONS + 1)
    write_log(log / f"{0:020}.log", creations())
    for part in range(10):
        offset = created + part * (count // 10)
        write_log(log / f"{offset:020}.log", changes(offset, count // 10))
    return log

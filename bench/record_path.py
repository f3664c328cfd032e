"""The record path between two real clusters: records/s, CPU and memory, without and with Spark."""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import watch
import yaml

from jobs.cluster.client import ClusterClient
from jobs.cluster.topics import NewTopicSpec, create_topics
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port

Say = Callable[[str], None]
HERE = Path(__file__).parent
PARTITIONS = 4


@dataclass(frozen=True)
class Load:
    """Records to copy; `size` is key + value in bytes."""

    topic: str
    records: int
    size: int
    compression: str


LOADS = (
    Load("small", 2_000_000, 100, "none"),
    Load("large", 300_000, 1_000, "lz4"),
)


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every load on fresh clusters; returns JSON values."""
    loads = [Load(**{**asdict(x), "records": x.records // (10 if quick else 1)}) for x in LOADS]
    rows = []
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        for load in loads:
            say(f"producing {load.records:,} records of {load.size} B into {load.topic}")
            fill(lab, load)
            for kind, copy in (("plain process", copy_alone), ("flow on Spark", copy_by_flow)):
                flow = flow_file(lab, load, kind, Path(folder))
                row = {"load": asdict(load), "engine": "record", "run_as": kind, **copy(lab, flow)}
                say(f"{load.topic}, {kind}: {sentence(row)}")
                rows.append(row)
    return {
        "partitions": PARTITIONS,
        "clusters": "1 node each, 1 replica, same machine",
        "rows": rows,
    }


def sentence(row: dict[str, object]) -> str:
    return (
        f"{row['records_per_s']:,.0f} records/s, {row['cpu_s_per_million']:.1f} CPU-s per million, "
        f"{row['peak_rss_mb']:,} MB"
    )


@contextmanager
def clusters(folder: str) -> Iterator[Lab]:
    """Start a source and a target, with one node each."""

    def plans(base: int) -> list[ClusterPlan]:
        return [ClusterPlan("source", 1, base), ClusterPlan("target", 1, base + 100)]

    lab = Lab(Path(folder) / "lab", plans(find_base_port(plans)))
    lab.start()
    try:
        yield lab
    finally:
        lab.stop()


def fill(lab: Lab, load: Load) -> None:
    """Write the records: keys of 8 bytes, values that are random (or half text, for compression)."""
    draw = random.Random(load.size)
    size = load.size - 8
    half = b'{"order":"2026-01-01T00:00:00Z","amount":12.50,"currency":"EUR","lines":[' * 20
    values = [draw.randbytes(size) for _ in range(500)]
    if load.compression != "none":
        values = [value[: size // 2] + half[: size - size // 2] for value in values]
    with ClusterClient(lab.cluster("source").connection) as client:
        spec = NewTopicSpec(partitions=PARTITIONS, replication_factor=1, configs={})
        create_topics(client, {load.topic: spec})
        producer = client.producer(
            {"linger.ms": 20, "batch.num.messages": 10_000, "compression.type": load.compression}
        )
        for number in range(load.records):
            key = number.to_bytes(8, "big")
            while True:
                try:
                    producer.produce(load.topic, values[number % 500], key, number % PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        producer.flush()


def flow_file(lab: Lab, load: Load, kind: str, folder: Path) -> Path:
    """Write a flow whose source alias is new, so that remote topic and positions are new too."""
    alias = f"{load.topic}-{kind.split(maxsplit=1)[0]}"
    source, target = lab.cluster("source"), lab.cluster("target")
    values = {
        "name": alias,
        "source": {"alias": alias, "bootstrap_servers": source.bootstrap_servers},
        "target": {"alias": "target", "bootstrap_servers": target.bootstrap_servers},
        "topics": [load.topic],
        "tasks": 1,
    }
    path = folder / f"{alias}.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def copy_alone(lab: Lab, flow: Path) -> dict[str, object]:
    """Run the engine in a process of its own."""
    brokers = Brokers(lab)
    answer = subprocess.run(
        [sys.executable, str(HERE / "copy_alone.py"), str(flow)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    got = json.loads(answer.stdout)
    return result(got["records"], got["seconds"], got["cpu_s"], got["peak_rss_bytes"], brokers)


def copy_by_flow(lab: Lab, flow: Path) -> dict[str, object]:
    """Run `crosslog replicate --until-caught-up`; the rate counts from the first copied record."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs", "replicate", str(flow), "--until-caught-up", "--json",
         "--run-dir", str(flow.with_suffix(".run"))],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    family = watch.Family(process.pid)
    family.start()
    progress = flow.with_suffix(".run") / "progress.json"
    start = wait_for_records(progress, process)
    cpu_at_start = family.cpu_seconds()
    brokers = Brokers(lab)
    code = process.wait()
    family.stop()
    if code != 0:
        raise RuntimeError(f"crosslog replicate ended with exit code {code}; see {progress.parent}")
    end = read_progress(progress)
    copied = end["records"] - start["records"]
    seconds = (end["at_ms"] - start["at_ms"]) / 1000
    row = result(copied, seconds, family.cpu_seconds() - cpu_at_start, family.peak_rss, brokers)
    return row | {
        "records": end["records"],
        "seconds_with_start_up": round(time.monotonic() - began, 1),
        "cpu_s_with_start_up": round(family.cpu_seconds(), 1),
        "peak_rss_mb_by_role": {k: v // 1_000_000 for k, v in sorted(family.peak_by_role.items())},
    }


def wait_for_records(progress: Path, process: subprocess.Popen[bytes]) -> dict[str, int]:
    """Return the first progress that tells of copied records."""
    while process.poll() is None:
        now = read_progress(progress)
        if now["records"]:
            return now
        time.sleep(0.1)
    return {"records": 0, "at_ms": 0}


def read_progress(path: Path) -> dict[str, int]:
    if not path.exists():
        return {"records": 0, "at_ms": 0}
    values = json.loads(path.read_text("utf-8"))
    return {
        "records": sum(row["records"] for row in values["partitions"]),
        "at_ms": values["at_ms"],
    }


class Brokers:
    """The CPU that both clusters use from now on."""

    def __init__(self, lab: Lab) -> None:
        self.pids = {alias: lab.cluster(alias).node(1).pid or 0 for alias in ("source", "target")}
        self.before = {alias: watch.cpu_s(pid) or 0.0 for alias, pid in self.pids.items()}

    def used_s(self, alias: str) -> float:
        return (watch.cpu_s(self.pids[alias]) or 0.0) - self.before[alias]


def result(
    records: int, seconds: float, cpu_s: float, peak_rss: int, brokers: Brokers
) -> dict[str, object]:
    """Return the numbers of one run; CPU is that of crosslog alone, the brokers' stands beside it."""
    millions = max(records, 1) / 1_000_000
    return {
        "records": records,
        "seconds": round(seconds, 2),
        "records_per_s": round(records / max(seconds, 0.001)),
        "cpu_s_per_million": round(cpu_s / millions, 2),
        "source_broker_cpu_s_per_million": round(brokers.used_s("source") / millions, 2),
        "target_broker_cpu_s_per_million": round(brokers.used_s("target") / millions, 2),
        "peak_rss_mb": peak_rss // 1_000_000,
    }

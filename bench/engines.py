"""crosslog beside MirrorMaker 2: the same brokers, the same records, one engine after the other.

An engine drains a full topic. The result is about the middle part: from 20 to 80 % of the
records, and for MirrorMaker 2 not before its JVM has run for a minute.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType

import watch
import yaml
from loads import PARTITIONS, Load, fill

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import delete_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port

Say = Callable[[str], None]
HERE = Path(__file__).parent
LOOK_S = 0.25
WARM_S = 60.0
LONGEST_S = 420.0

COMPACTED = {
    "cleanup.policy": "compact",
    "segment.bytes": str(16 << 20),
    "min.cleanable.dirty.ratio": "0.01",
}
LOADS = (
    Load("plain-100", 20_000_000, 100),
    Load("lz4-1000", 5_000_000, 1000, "lz4"),
    Load("small-batches", 6_000_000, 100, per_batch=10),
    Load("headers", 8_000_000, 100, headers=3),
    Load("compacted", 12_000_000, 100, configs=COMPACTED, keys=4_000_000),
)
TUNED = {
    "{target}.producer.batch.size": "900000",
    "{target}.producer.linger.ms": "30",
    "{target}.producer.max.in.flight.requests.per.connection": "5",
    "{target}.producer.buffer.memory": "134217728",
    "{target}.producer.max.request.size": "8388608",
    "{target}.producer.compression.type": "{compression}",
    "{source}.consumer.max.partition.fetch.bytes": "10485760",
    "{source}.consumer.fetch.max.bytes": "52428800",
    "{source}.consumer.max.poll.records": "10000",
    "{source}.consumer.receive.buffer.bytes": "-1",
}
ALWAYS = {
    "tasks.max": "2",
    "sync.group.offsets.enabled": "true",
    "refresh.topics.interval.seconds": "10",
}


class Engine:
    """Something that copies a topic while it runs; `alias` is the source's name for this run."""

    name = ""
    warm_s = 0.0

    def __init__(self, lab: Lab, load: Load, alias: str, folder: Path) -> None:
        self.lab = lab
        self.load = load
        self.alias = alias
        self.folder = folder

    def start(self) -> int:
        """Start and return the process id of the root of its processes."""
        raise NotImplementedError

    def stop(self) -> None:
        """End everything that was started."""
        raise NotImplementedError


class _Mm2(Engine):
    warm_s = WARM_S
    settings: Mapping[str, str] = MappingProxyType({})

    def start(self) -> int:
        words = {"source": self.alias, "target": "target", "compression": self.load.compression}
        extra = {k.format(**words): v.format(**words) for k, v in self.settings.items()}
        extra |= {f"{self.alias}->target.topics": self.load.topic, **ALWAYS}
        servers = [self.lab.cluster(one).bootstrap_servers for one in ("source", "target")]
        properties = mirror_properties((self.alias, servers[0]), ("target", servers[1]), extra)
        self.mirror = MirrorMaker(self.folder / self.alias, kafka_jvm(), properties, heap="1g")
        self.mirror.start(quick_start=False)
        return self.mirror.pid or 0

    def stop(self) -> None:
        self.mirror.stop()


class Mm2Default(_Mm2):
    name = "MirrorMaker 2, default"


class Mm2Tuned(_Mm2):
    name = "MirrorMaker 2, tuned"
    settings = TUNED


class CrosslogFlow(Engine):
    name = "crosslog, flow on Spark"
    command = ("-m", "jobs", "replicate")
    options: Sequence[str] = ("--json",)

    def start(self) -> int:
        source, target = self.lab.cluster("source"), self.lab.cluster("target")
        values = {
            "name": self.alias,
            "source": {"alias": self.alias, "bootstrap_servers": source.bootstrap_servers},
            "target": {"alias": "target", "bootstrap_servers": target.bootstrap_servers},
            "topics": [self.load.topic],
        }
        path = self.folder / f"{self.alias}.yaml"
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
        log = (self.folder / f"{self.alias}.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, *self.command, str(path), *self.options], stdout=log, stderr=log
        )
        return self.process.pid

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


class CrosslogPlain(CrosslogFlow):
    name = "crosslog, one process without Spark"
    command = (str(HERE / "copy_alone.py"),)
    options = ()


ENGINES = (Mm2Default, Mm2Tuned, CrosslogPlain, CrosslogFlow)


@dataclass(frozen=True)
class Sample:
    """A look at a drain: seconds since the start, records on the target, CPU seconds used."""

    at_s: float
    records: int
    cpu_s: float
    source_cpu_s: float
    target_cpu_s: float


def measure(say: Say, *, wanted: Load, quick: bool, runs: int = 3) -> dict[str, object]:
    """Drain a load with every engine, in turn; returns JSON values with medians."""
    runs = 1 if quick else runs
    load = replace(wanted, records=wanted.records // (10 if quick else 1))
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        say(f"producing {load.records:,} records of {load.size} B into {load.topic}")
        load = replace(load, records=fill(lab.cluster("source"), load))
        drains: dict[str, list[dict[str, float]]] = {engine.name: [] for engine in ENGINES}
        for number in range(runs):
            for engine in ENGINES:
                drained = drain(lab, load, engine, number, Path(folder))
                say(f"{load.topic}, {engine.name}: {sentence(drained)}")
                drains[engine.name].append(drained)
        rows = [summary(load, name, found) for name, found in drains.items()]
    return {
        "partitions": PARTITIONS,
        "clusters": "1 node each, 1 replica, same machine",
        "mm2": {"version": "4.3.1", "heap": "1g", "tuned": TUNED, "both": ALWAYS},
        "rows": rows,
        "ratios": ratios(rows),
    }


def drain(lab: Lab, load: Load, kind: type[Engine], number: int, folder: Path) -> dict[str, float]:
    """Run one engine until the topic is drained and return the numbers of the middle of it."""
    alias = f"{load.topic}-{ENGINES.index(kind)}-{number}"
    engine = kind(lab, load, alias, folder)
    brokers = [lab.cluster(one).node(1).pid or 0 for one in ("source", "target")]
    began = time.monotonic()
    family = watch.Family(engine.start())
    family.start()
    samples: list[Sample] = []
    try:
        with ClusterClient(lab.cluster("target").connection) as client:
            for records in ends(client, f"{alias}.{load.topic}"):
                used = [watch.cpu_s(pid) or 0.0 for pid in brokers]
                at_s = time.monotonic() - began
                samples.append(Sample(at_s, records, family.cpu_seconds(), *used))
                if records >= load.records or at_s > LONGEST_S:
                    break
    finally:
        engine.stop()
        family.stop()
        remove(lab, f"{alias}.{load.topic}")
    return numbers(samples, load, kind.warm_s, family)


def ends(client: ClusterClient, topic: str) -> Iterator[int]:
    """Yield how many offsets the remote topic has, four times a second; 0 while it is not there."""
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    while True:
        found = read_offset_ranges(client, places, with_timestamps=False)
        yield sum(one.high_watermark or 0 for one in found.values())
        time.sleep(LOOK_S)


def numbers(
    samples: Sequence[Sample], load: Load, warm_s: float, family: watch.Family
) -> dict[str, float]:
    """Return rate and CPU of the stretch from 20 (or the end of warming up) to 80 % (or 95)."""
    low, high = (0.2, 0.8) if not warm_s else (0.0, 0.95)
    middle = [
        s
        for s in samples
        if low * load.records <= s.records <= high * load.records and s.at_s >= warm_s
    ]
    if len(middle) < 3:  # drained before it was warm: the second half is what there is
        middle = [s for s in samples if 0.4 * load.records <= s.records <= 0.95 * load.records]
    if len({s.records for s in middle}) < 2:  # drained between two looks: all of it
        started = max(number for number, s in enumerate(samples) if s.records == samples[0].records)
        middle = list(samples[started:])
    first, last = middle[0], middle[-1]
    millions = (last.records - first.records) / 1e6
    cpu_s = last.cpu_s - first.cpu_s
    return {
        "records_per_s": millions * 1e6 / (last.at_s - first.at_s),
        "cpu_s_per_million": cpu_s / millions,
        "cpu_s_per_gb": cpu_s / (millions * load.size / 1e3),
        "source_broker_cpu_s_per_million": (last.source_cpu_s - first.source_cpu_s) / millions,
        "target_broker_cpu_s_per_million": (last.target_cpu_s - first.target_cpu_s) / millions,
        "peak_rss_mb": family.peak_rss / 1e6,
        "measured_s": last.at_s - first.at_s,
        "warm_s": first.at_s,
        "whole_s": samples[-1].at_s,
        "whole_cpu_s": family.cpu_seconds(),
    }


def summary(load: Load, name: str, found: Sequence[dict[str, float]]) -> dict[str, object]:
    """Return the medians of some runs, and how far they are apart."""
    rates = sorted(run["records_per_s"] for run in found)
    return {
        "load": asdict(load),
        "engine": name,
        "runs": len(found),
        **{key: round(statistics.median(run[key] for run in found), 3) for key in found[0]},
        "records_per_s_range": [round(rates[0]), round(rates[-1])],
    }


def ratios(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Return crosslog's flow against tuned and default MirrorMaker 2, per load."""
    by_key = {(row["load"]["topic"], row["engine"]): row for row in rows}  # type: ignore[index]
    found = []
    for topic in {key[0] for key in by_key}:
        ours = by_key[topic, CrosslogFlow.name]
        for other in (Mm2Tuned.name, Mm2Default.name, CrosslogPlain.name):
            theirs = by_key[topic, other]
            found.append(
                {
                    "load": topic,
                    "against": other,
                    "rate": round(ours["records_per_s"] / theirs["records_per_s"], 2),  # type: ignore[operator]
                    "cpu": round(theirs["cpu_s_per_gb"] / ours["cpu_s_per_gb"], 2),  # type: ignore[operator]
                    "rss": round(ours["peak_rss_mb"] / theirs["peak_rss_mb"], 2),  # type: ignore[operator]
                }
            )
    return found


def sentence(row: dict[str, float]) -> str:
    return (
        f"{row['records_per_s']:,.0f} records/s, {row['cpu_s_per_million']:.2f} CPU-s per million, "
        f"{row['cpu_s_per_gb']:.2f} per GB, {row['peak_rss_mb']:,.0f} MB"
    )


def remove(lab: Lab, topic: str) -> None:
    """Delete a remote topic: the next run shall find an empty disk."""
    with ClusterClient(lab.cluster("target").connection) as client:
        delete_topics(client, [topic])


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

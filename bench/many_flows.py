#!/usr/bin/env python3
"""Many flows in one engine beside MirrorMaker 2: `bench/many_flows.py [PART...] [--quick] [--partitions N]`.

`quiet`: 1, 5, 20 and 50 flows with one topic of three partitions and 25 records/s each; MirrorMaker 2 is one
process with as many aliases of the source. `busy`: one flow drains a full topic, alone and beside 49 quiet
ones. `large`: one flow with topics of ten partitions, 200 records/s in all. Each row has brokers of its own.
"""

import argparse
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import watch
from engines import ALWAYS, LOADS, clusters, ends
from latency import SIZE, STAMP_BYTES, STEP_S, percentile, read
from loads import fill
from reporting import say as print_line
from reporting import write as write_result

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.lab import Lab
from jobs.lab.mirror_maker import MirrorMaker, mirror_properties
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import submit
from jobs.spark.contract import JobSpec
from jobs.spark.engine import door
from jobs.spark.processes import children_of

Say = Callable[[str], None]
Found = dict[str, object]
PER_FLOW_S, PARTITIONS = 25, 3
LARGE_PER_S, LARGE_PARTITIONS, LARGE = 200, 10, 1_000
LONGEST_S = 600.0
LOOK_S = 0.25
# Without it MirrorMaker 2 has a herder for every pair of aliases, too.
NO_PAIRS = {"emit.heartbeats.enabled": "false"}


@dataclass(frozen=True)
class Extent:
    """How much is measured; `seconds` are of warming up and measuring, `share` divides the records."""

    flows: tuple[int, ...] = (1, 5, 20, 50)
    seconds: tuple[float, float] = (60.0, 60.0)
    drain_look_s: float = 15.0
    share: int = 1
    partitions: int = LARGE


QUICK = Extent((1, 5), (20.0, 20.0), 2.0, 10)


class Host:
    """What copies flows: each with an alias of the source, and the topics of a pattern."""

    name = ""

    def __init__(self, lab: Lab, folder: Path, flows: Mapping[str, str]) -> None:
        self.servers = [lab.cluster(one).bootstrap_servers for one in ("source", "target")]
        self.folder = folder
        self.flows = flows

    def start(self) -> set[int]:
        """Start all flows; returns the roots of their processes."""
        raise NotImplementedError

    def stop(self) -> None:
        """End everything that was started."""
        raise NotImplementedError


class Mm2(Host):
    name = "MirrorMaker 2, one process"

    def start(self) -> set[int]:
        extra = {"clusters": ",".join([*self.flows, "target"]), **ALWAYS, **NO_PAIRS}
        for alias, topics in self.flows.items():
            extra |= {
                f"{alias}.bootstrap.servers": self.servers[0],
                f"{alias}->target.enabled": "true",
                f"{alias}->target.topics": topics,
                f"{alias}->target.emit.heartbeats.enabled": "true",
            }
        first = (next(iter(self.flows)), self.servers[0])
        properties = mirror_properties(first, ("target", self.servers[1]), extra)
        self.mirror = MirrorMaker(self.folder / "mm2", kafka_jvm(), properties, heap="1g")
        self.mirror.start(quick_start=False)
        return {self.mirror.pid or 0}

    def stop(self) -> None:
        self.mirror.kill()


class Crosslog(Host):
    name = "crosslog, one engine"

    def __init__(self, lab: Lab, folder: Path, flows: Mapping[str, str]) -> None:
        super().__init__(lab, folder, flows)
        self.runs: list[Path] = []

    def start(self) -> set[int]:
        return {self.add(alias, topics) for alias, topics in self.flows.items()}

    def add(self, alias: str, topics: str) -> int:
        """Hand one flow over; returns the root of its processes."""
        source, target = (
            Connection(one, servers)
            for one, servers in zip((alias, "target"), self.servers, strict=True)
        )
        flow = FlowSpec(alias, source, target, (topics,))
        self.runs.append(self.folder / "runs" / f"run-{alias}")
        spec = JobSpec(alias, "replicate", {"flow": flow.to_mapping()}, lease_s=3_600.0)
        return door.start_run(spec, self.runs[-1])

    def stop(self) -> None:
        """Kill the engine: what is measured next begins with another one."""
        for run_dir in self.runs:
            submit.kill_run(run_dir)
        while any(submit.is_alive(run_dir) for run_dir in self.runs):
            time.sleep(LOOK_S)


def measure(
    say: Say, *, quick: bool, parts: Iterable[str] = (), partitions: int = LARGE
) -> dict[str, object]:
    """Measure the parts named, by default all; returns JSON values."""
    found: Found = {
        "per_flow_s": PER_FLOW_S,
        "partitions": PARTITIONS,
        "mm2": {**ALWAYS, **NO_PAIRS},
    }
    extent = replace(QUICK if quick else Extent(), partitions=partitions)
    for part in parts or PARTS:
        found[part] = PARTS[part](say, extent)
    return found


def quiet(say: Say, extent: Extent) -> list[Found]:
    """Measure so many quiet flows, and MirrorMaker 2 with as many."""
    rows = []
    for count in extent.flows:
        for kind in (Mm2, Crosslog):
            with a_place() as (lab, folder):
                flows = quiet_flows(count)
                topics = dict.fromkeys(flows.values(), PARTITIONS)
                with writing(lab, topics, PER_FLOW_S * count):
                    row = at_rest(lab, kind(lab, folder, flows), topics, extent)
            rows.append({"flows": count, "engine": kind.name, **row})
            say(f"{rows[-1]}")
    return rows


def large(say: Say, extent: Extent) -> list[Found]:
    """Measure one flow with many topics; MirrorMaker 2 beside it up to a thousand partitions."""
    rows = []
    count = extent.partitions // extent.share // LARGE_PARTITIONS
    for kind in (Mm2, Crosslog) if extent.partitions <= LARGE else (Crosslog,):
        with a_place() as (lab, folder):
            names = (f"large-{number}" for number in range(count))
            topics = dict.fromkeys(names, LARGE_PARTITIONS)
            with writing(lab, topics, LARGE_PER_S):
                row = at_rest(lab, kind(lab, folder, {"f0": "large-.*"}), topics, extent)
        rows.append({"partitions": count * LARGE_PARTITIONS, "engine": kind.name, **row})
        say(f"{rows[-1]}")
    return rows


def busy(say: Say, extent: Extent) -> Found:
    """Drain a full topic alone, and beside quiet flows, which are read meanwhile."""
    load = replace(LOADS[0], records=LOADS[0].records // extent.share)
    flows = quiet_flows(extent.flows[-1] - 1)
    topics = dict.fromkeys(flows.values(), PARTITIONS)
    found: Found = {"quiet_flows": len(flows)}
    latencies: dict[str, list[float]] = {}
    with a_place() as (lab, folder), writing(lab, topics, PER_FLOW_S * len(flows)):
        fill(lab.cluster("source"), load)
        for alias, beside in (("alone", {}), ("beside", flows)):
            engine = Crosslog(lab, folder, beside)
            try:
                engine.start()
                wait_for_copies(lab, remote(beside, topics))
                time.sleep(extent.seconds[0] if beside else 0)
                engine.add(alias, load.topic)
                found[f"{alias}_records_per_s"] = drained(
                    lab,
                    f"{alias}.{load.topic}",
                    load.records,
                    (extent.drain_look_s, latencies) if beside else None,
                )
            finally:
                engine.stop()
    values = latencies["read_committed"]
    found["quiet_p50_ms"], found["quiet_p99_ms"] = (
        round(percentile(values, share), 1) for share in (0.5, 0.99)
    )
    say(f"{found}")
    return found


def quiet_flows(count: int) -> dict[str, str]:
    return {f"f{number}": f"quiet-{number}" for number in range(count)}


def at_rest(lab: Lab, host: Host, topics: Mapping[str, int], extent: Extent) -> Found:
    """Start flows, wait until all copies exist, and return what they use and how long records take."""
    began = time.monotonic()
    try:
        roots = host.start()
        wait_for_copies(lab, remote(host.flows, topics))
        start_s = time.monotonic() - began
        warm_s, measured_s = extent.seconds
        found: dict[str, list[float]] = {}
        # librdkafka takes a name with ^ for a pattern: all flows, one reader.
        words = (lab, r"^f[0-9]+\.(quiet|large)-", "read_committed", (warm_s, measured_s), found)
        reader = threading.Thread(target=read, args=words)
        reader.start()
        time.sleep(warm_s)
        before, at = use(roots), time.monotonic()
        time.sleep(measured_s)
        rates = watch.rates(before, use(roots), time.monotonic() - at)
        rss = sum(map(watch.rss_bytes, family(roots)))
        reader.join()
    finally:
        host.stop()
    values = found["read_committed"]
    return {
        "start_s": round(start_s, 1),
        "pss_mb": round(sum(one["pss_mb"] for one in rates.values()), 1),
        "rss_mb": round(rss / 1e6, 1),
        "cpu_percent": round(sum(one["cpu_percent"] for one in rates.values()), 1),
        "committed_p50_ms": round(percentile(values, 0.5), 1),
        "committed_p99_ms": round(percentile(values, 0.99), 1),
        "processes": rates,
    }


def family(roots: Iterable[int]) -> list[int]:
    return [pid for root in roots for pid in (root, *children_of(root))]


def use(roots: Iterable[int]) -> dict[str, watch.Use]:
    return watch.use_by_role(family(roots))


def remote(flows: Mapping[str, str], topics: Mapping[str, int]) -> list[TopicPartition]:
    """Return one partition of each remote topic."""
    alias_of = {topic: alias for alias, topic in flows.items()}
    only = next(iter(flows), "")
    return [TopicPartition(f"{alias_of.get(topic, only)}.{topic}", 0) for topic in topics if flows]


def wait_for_copies(lab: Lab, places: Sequence[TopicPartition]) -> None:
    """Wait until each of these partitions has a record; raises TimeoutError."""
    until = time.monotonic() + LONGEST_S
    with ClusterClient(lab.cluster("target").connection, timeout_s=60) as client:
        left = list(places)
        while left:
            found = read_offset_ranges(client, left, with_timestamps=False)
            left = [one for one in left if not found[one].high_watermark]
            if time.monotonic() > until:
                raise TimeoutError(f"{len(left)} of {len(places)} copies have no record")
            time.sleep(LOOK_S)


def drained(
    lab: Lab, topic: str, records: int, look: tuple[float, dict[str, list[float]]] | None
) -> int:
    """Return records/s from a fifth to four fifths of a topic; meanwhile quiet flows are read."""
    seen: list[tuple[float, int]] = []
    look_s, latencies = look or (0.0, {})
    words = (lab, r"^f[0-9]+\.quiet-", "read_committed", (0.0, look_s), latencies)
    reader = threading.Thread(target=read, args=words)
    with ClusterClient(lab.cluster("target").connection) as client:
        for count in ends(client, topic):
            if count and not seen and look:
                reader.start()
            if count:
                seen.append((time.monotonic(), count))
            if count >= records:
                break
    if look:
        reader.join()
    middle = [one for one in seen if 0.2 * records <= one[1] <= 0.8 * records]
    (began, first), (ended, last) = (
        (middle[0], middle[-1]) if len(middle) > 1 else (seen[0], seen[-1])
    )
    return round((last - first) / (ended - began))


@contextmanager
def a_place() -> Iterator[tuple[Lab, Path]]:
    """Start a source and a target in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as name, clusters(name) as lab:
        yield lab, Path(name)


@contextmanager
def writing(lab: Lab, topics: Mapping[str, int], per_s: int) -> Iterator[None]:
    """Make topics and let one process write to all of them, evenly over the second."""
    source = lab.cluster("source").connection
    with ClusterClient(source, timeout_s=60) as client:
        names = list(topics)
        for at in range(0, len(names), 100):
            some = names[at : at + 100]
            create_topics(client, {name: NewTopicSpec(topics[name], 1, {}) for name in some})
    context = multiprocessing.get_context("spawn")
    over = context.Event()
    writer = context.Process(target=write, args=(source, topics, per_s, over), daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()


def write(source: Connection, topics: Mapping[str, int], per_s: int, over: threading.Event) -> None:
    """Write records that carry the time of their writing to all partitions in turn."""
    places = [(name, number) for name, count in topics.items() for number in range(count)]
    rest = b"x" * (SIZE - STAMP_BYTES)
    with ClusterClient(source) as client:
        producer = client.producer({"linger.ms": 1})
        began, sent = time.monotonic(), 0
        while not over.is_set():
            for _ in range(int((time.monotonic() - began) * per_s) - sent):
                topic, partition = places[sent % len(places)]
                value = time.time_ns().to_bytes(STAMP_BYTES, "big") + rest
                producer.produce(topic, value, partition=partition)
                sent += 1
            producer.poll(0)
            time.sleep(STEP_S)
        producer.flush(10)


PARTS: Mapping[str, Callable[[Say, Extent], object]] = {
    "quiet": quiet,
    "busy": busy,
    "large": large,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[[], *PARTS], help="all of them")
    parser.add_argument("--quick", action="store_true", help="fewer flows, shorter")
    parser.add_argument("--partitions", type=int, default=LARGE, help=f"of `large` ({LARGE:,})")
    given = parser.parse_args()
    measured = measure(print_line, quick=given.quick, parts=given.part, partitions=given.partitions)
    write_result("many-flows", measured, quick=given.quick)

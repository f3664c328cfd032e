"""Offset translation: questions against a million runs, also on Spark, a backfill of ten million syncs, lag.

Questions and the opening of an archive are timed in this process, on one thread. On Spark, the kind
`translate` runs in the engine for a topic of offset syncs, from the handing over of a list (CSV) to the
result, all rows written; the first time starts the engine and reads the topic. The backfill is the job on
Spark, from the start of its keeper to its end, and without that start. The time of writing the syncs to Kafka
does not count. Lag is from the acknowledgement of a sync by Kafka to the first answer that knows it.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from confluent_kafka import Producer
from engines import clusters
from metadata import Asking

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.lab.lab import Lab
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import Increment, SyncArchive
from jobs.replication.offset_syncs.follower import follow, place_of
from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.spark import contract, submit
from jobs.spark.contract import JobSpec
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

Say = Callable[[str], None]
PARTITIONS = 1000
RUNS = 1_000_000
QUESTIONS = 1_000_000
SYNCS = 10_000_000
TRANSLATED = 3_000_000
TIMES = 5
TASKS = 2
TOLD = 50


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure all three; returns JSON values."""
    part = 10 if quick else 1
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        asked = questions(Path(folder) / "archive", RUNS // part, QUESTIONS // part)
        say(f"questions: {json.dumps(asked)}")
        with clusters(folder) as lab:
            list_ = lists(lab, Path(folder), TRANSLATED // part, QUESTIONS // part, say)
            say(f"lists: {json.dumps(list_)}")
            filled = backfill(lab, Path(folder), SYNCS // part, say)
            say(f"backfill: {json.dumps(filled)}")
            lag = follower_lag(lab, Path(folder))
            say(f"follower: {json.dumps(lag)}")
    return {"questions": asked, "lists": list_, "backfill": filled, "follower": lag}


def questions(folder: Path, runs: int, count: int) -> dict[str, object]:
    """Ask in bulk and one by one; a run has three syncs, its difference is one more than before."""
    names = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    per_partition = runs // PARTITIONS
    upstream = np.tile(np.arange(3 * per_partition, dtype=np.int64) * 101, PARTITIONS)
    downstream = upstream + np.tile(np.arange(3 * per_partition) // 3, PARTITIONS)
    partition = np.repeat(np.arange(PARTITIONS), 3 * per_partition)
    rows = SyncRows.without_links(
        partition, upstream, downstream, np.zeros(len(partition), np.int64)
    )
    with SyncArchive(folder) as archive:
        archive.append(Increment(Source("target", "syncs"), names, rows, len(partition)))
        archive.tidy(now=True)
    chance = np.random.default_rng(7)
    which = chance.integers(0, PARTITIONS, count)
    offsets = chance.integers(0, 303 * per_partition, count)
    began = time.perf_counter()
    translator = open_translator(folder)
    opened_s = time.perf_counter() - began
    began, cpu = time.perf_counter(), time.process_time()
    answers = translator.translate_many(names, offsets, which)
    bulk_s, bulk_cpu_s = time.perf_counter() - began, time.process_time() - cpu
    return {
        "runs": runs,
        "syncs": len(partition),
        "partitions": PARTITIONS,
        "questions": count,
        "open_ms": round(opened_s * 1000, 1),
        "bulk_s": round(bulk_s, 3),
        "bulk_cpu_s": round(bulk_cpu_s, 3),
        "questions_per_s": round(count / bulk_s),
        "exact": int(answers.exact.sum()),
        "one_by_one_us": one_by_one(translator, names, which[:5000], offsets[:5000]),
        "first_answer_of_a_new_process_ms": new_process(folder),
    }


def one_by_one(translator, names, which, offsets) -> dict[str, float]:
    """Return how long single answers take, MirrorMaker 2's beside them."""
    took = []
    for number, offset in zip(which.tolist(), offsets.tolist(), strict=True):
        began = time.perf_counter()
        translator.translate(names[number], offset)
        translator.mm2(names[number], offset)
        took.append(time.perf_counter() - began)
    return percentiles(took, 1e6)


def new_process(folder: Path) -> float:
    """Return how long opening and one answer take where nothing was opened before (imports not counted)."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from jobs.cluster.descriptions import TopicPartition\n"
        "from jobs.replication.offset_syncs.archive import open_translator\n"
        "began = time.perf_counter()\n"
        "open_translator(Path(sys.argv[1])).translate(TopicPartition('orders', 7), 12345)\n"
        "print((time.perf_counter() - began) * 1000)"
    )
    root = Path(__file__).parent.parent
    answer = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        capture_output=True, text=True, check=True, cwd=root,
    )  # fmt: skip
    return round(float(answer.stdout), 1)


def flow_of(lab: Lab, name: str) -> FlowSpec:
    """Return a flow whose topic of offset syncs is on the target, made with one partition."""
    source, target = lab.cluster("source"), lab.cluster("target")
    flow = FlowSpec.from_mapping(
        {
            "name": name,
            "source": {"alias": name, "bootstrap_servers": source.bootstrap_servers},
            "target": {"alias": "target", "bootstrap_servers": target.bootstrap_servers},
            "tasks": TASKS,
        }
    )
    place = place_of(flow)
    assert place is not None
    with ClusterClient(target.connection) as client:
        create_topics(client, {place.topic: NewTopicSpec(1, 1, {"cleanup.policy": "compact"})})
    return flow


def lists(lab: Lab, folder: Path, syncs: int, count: int, say: Say) -> dict[str, object]:
    """Ask the warm engine for a list of offsets, and for one of bad rows alone."""
    flow = flow_of(lab, "listed")
    say(f"writing {syncs:,} offset syncs")
    tell(lab, flow, syncs, PARTITIONS)
    chance = np.random.default_rng(7)
    which = chance.integers(0, PARTITIONS, count).tolist()
    offsets = chance.integers(0, 101 * syncs // PARTITIONS, count).tolist()
    found: dict[str, object] = {"syncs": syncs, "partitions": PARTITIONS, "questions": count}
    asking = Asking(folder / "runs")
    topic = place_of(flow).topic
    for name, sign, times in (("good", "", TIMES), ("bad", "-", 1)):
        path = folder / f"{name}.csv"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(
                f"orders,{partition},{sign}{offset}\n"
                for partition, offset in zip(which, offsets, strict=True)
            )
        given = {"cluster": "target", "topic": topic, "offsets": path.name}
        resources = {
            "cluster": {"connection": lab.cluster("target").connection.to_mapping()},
            "offsets": {"path": str(path)},
        }
        found[name] = [asking.ask_of("translate", given, resources) for _ in range(times)]
    return found | asking.end()


def backfill(lab: Lab, folder: Path, count: int, say: Say) -> dict[str, object]:
    """Read a topic of so many syncs of 100 partitions by the job on Spark."""
    flow = flow_of(lab, "backfilled")
    say(f"writing {count:,} offset syncs")
    tell(lab, flow, count)
    run_dir = folder / "run"
    archive = str(folder / "filled")
    values = {
        "arguments": {"flow": flow.name},
        "resources": {"flow": {"flow": flow.to_mapping(), "archive": archive}},
        "tables": str(folder / "tables"),
        "histories": str(folder / "histories"),
        "tasks": TASKS,
    }
    began = time.monotonic()
    submit.start_run(JobSpec("backfill", "backfill", values, lease_s=3600.0), run_dir)
    while (result := contract.read_result(run_dir)) is None:
        if not submit.is_alive(run_dir):
            raise RuntimeError(submit.read_log_tail(run_dir))
        time.sleep(0.1)
    seconds = time.monotonic() - began
    if result.error:
        raise RuntimeError(result.error)
    facts = result.summary["facts"]
    return {
        "syncs": facts["syncs_read"],
        "tasks": TASKS,
        "seconds_with_start_up": round(seconds, 1),
        "seconds": facts["seconds"],
        "syncs_per_s": round(facts["syncs_read"] / facts["seconds"]),
        "parquet_mb": round(size_of(folder / "filled", "*.parquet"), 1),
    }


def size_of(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1_000_000


def tell(lab: Lab, flow: FlowSpec, count: int, partitions: int = 100) -> None:
    """Write syncs as a flow does: one each 101 records of a partition, every tenth with a gap before."""
    producer = Producer(
        {
            "bootstrap.servers": lab.cluster("target").bootstrap_servers,
            "linger.ms": 20,
            "queue.buffering.max.messages": 500_000,
        }
    )
    topic = place_of(flow).topic
    for number in range(count):
        turn = number // partitions
        upstream = 101 * turn
        sync = OffsetSync("orders", number % partitions, upstream, upstream + turn // 10)
        key, value = encode_offset_sync(sync)
        while True:
            try:
                producer.produce(topic, value, key, partition=0)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def follower_lag(lab: Lab, folder: Path) -> dict[str, object]:
    """Tell one sync after the other and wait for the answer that knows it."""
    flow = flow_of(lab, "followed")
    place, stop, archived = place_of(flow), threading.Event(), folder / "followed"

    def run() -> None:
        with SyncArchive(archived) as archive:
            follow(place, archive, stop)

    thread = threading.Thread(target=run)
    thread.start()
    producer = Producer({"bootstrap.servers": lab.cluster("target").bootstrap_servers})
    where, took = TopicPartition("orders", 0), []
    for number in range(TOLD):
        key, value = encode_offset_sync(OffsetSync(*where, 101 * number, 101 * number))
        producer.produce(place.topic, value, key, partition=0)
        producer.flush()
        began = time.perf_counter()
        while True:
            found = open_translator(archived).translate(where, 101 * number)
            if found is not None and found.exact:
                break
            time.sleep(0.005)
        took.append(time.perf_counter() - began)
        time.sleep(0.1 * (number % 7))
    stop.set()
    thread.join()
    return {"syncs": TOLD, "lag_ms": percentiles(took, 1000)}


def percentiles(seconds: list[float], unit: float) -> dict[str, float]:
    found = np.percentile(np.array(seconds) * unit, [50, 95, 99, 100])
    return dict(
        zip(("p50", "p95", "p99", "max"), (round(x, 1) for x in found.tolist()), strict=True)
    )

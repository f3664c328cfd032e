"""What a quiet flow costs beside MirrorMaker 2: `bench/run.py quiet-flow`.

Few records per second, evenly over 15 partitions, exactly once; each engine alone, on brokers of its own:
processor and memory (PSS) by process, of the brokers, too, and how long readers of committed records wait.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import watch
from engines import CrosslogFlow, Engine, Mm2Default, clusters
from latency import STAMP_BYTES, percentile, read, wait_for
from loads import Load

from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.lab.lab import Lab
from jobs.spark.processes import children_of

Say = Callable[[str], None]
RATE, SIZE, PARTITIONS = 200, 200, 15
WARM_S, MEASURED_S = 90.0, 180.0
QUICK_S = 30.0
STEP_S = 0.005


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every engine at rest; returns JSON values."""
    seconds = (QUICK_S, QUICK_S) if quick else (WARM_S, MEASURED_S)
    rows = []
    for kind in (Mm2Default, CrosslogFlow):
        with (
            tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder,
            clusters(folder) as lab,
        ):
            row = quiet(lab, kind, Path(folder), seconds)
        say(f"{kind.name}: {row}")
        rows.append({"engine": kind.name, **row})
    return {"per_s": RATE, "size": SIZE, "partitions": PARTITIONS, "seconds": seconds, "rows": rows}


def quiet(
    lab: Lab, kind: type[Engine], folder: Path, seconds: tuple[float, float]
) -> dict[str, object]:
    """Run one engine at the rate; its processes, the brokers, and the latency of committed records."""
    warm_s, measured_s = seconds
    load = Load("quiet", 0, SIZE)
    with ClusterClient(lab.cluster("source").connection) as client:
        create_topics(client, {load.topic: NewTopicSpec(PARTITIONS, 1, {})})
    engine = kind(lab, load, "quiet-source", folder)
    over = threading.Event()
    writer = threading.Thread(target=write, args=(lab, load.topic, over))
    writer.start()
    root = engine.start()
    try:
        remote = f"{engine.alias}.{load.topic}"
        wait_for(lab, remote)
        found: dict[str, list[float]] = {}
        reader = threading.Thread(
            target=read, args=(lab, remote, "read_committed", (warm_s, measured_s), found)
        )
        reader.start()
        time.sleep(warm_s)
        brokers = [lab.cluster(one).node(1).pid or 0 for one in ("source", "target")]
        before, at = use(root, brokers), time.monotonic()
        time.sleep(measured_s)
        rates = watch.rates(before, use(root, brokers), time.monotonic() - at)
        reader.join()
    finally:
        over.set()
        writer.join()
        engine.stop()
    own = {name: values for name, values in rates.items() if name != "brokers"}
    values = found["read_committed"]
    return {
        "cpu_percent": round(sum(one["cpu_percent"] for one in own.values()), 1),
        "pss_mb": round(sum(one["pss_mb"] for one in own.values()), 1),
        "committed_p50_ms": round(percentile(values, 0.5), 1),
        "committed_p99_ms": round(percentile(values, 0.99), 1),
        "processes": rates,
    }


def use(root: int, brokers: list[int]) -> dict[str, watch.Use]:
    return watch.use_by_role([root, *children_of(root), *brokers])


def write(lab: Lab, topic: str, over: threading.Event) -> None:
    """Write records that carry the time of their writing, evenly over the second and the partitions."""
    with ClusterClient(lab.cluster("source").connection) as client:
        producer = client.producer({"linger.ms": 1})
        rest = b"x" * (SIZE - STAMP_BYTES)
        began, sent = time.monotonic(), 0
        while not over.is_set():
            for _ in range(int((time.monotonic() - began) * RATE) - sent):
                value = time.time_ns().to_bytes(STAMP_BYTES, "big") + rest
                producer.produce(topic, value, partition=sent % PARTITIONS)
                sent += 1
            producer.poll(0)
            time.sleep(STEP_S)
        producer.flush(10)

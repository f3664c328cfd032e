"""How long a record takes from the producer's call to a reader on the target, at a steady rate."""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, Producer
from engines import CrosslogFlow, Engine, Mm2Default, Mm2Tuned, clusters
from loads import PARTITIONS, Load

from jobs.cluster.admin.topics import NewTopicSpec, create_topics, list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.lab.lab import Lab

Say = Callable[[str], None]
RATES = (1_000, 10_000)
WARM_S, MEASURED_S = 60.0, 30.0
STAMP_BYTES = 8
SIZE = 100
STEP_S = 0.005


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every engine at every rate; returns JSON values in ms."""
    warm_s, measured_s = (15.0, 10.0) if quick else (WARM_S, MEASURED_S)
    rows = []
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder, clusters(folder) as lab:
        for rate in RATES:
            for kind in (Mm2Default, Mm2Tuned, CrosslogFlow):
                row = latency(lab, kind, rate, Path(folder), (warm_s, measured_s))
                say(f"{rate:,}/s, {kind.name}: {row}")
                rows.append({"rate": rate, "engine": kind.name, **row})
    return {"partitions": PARTITIONS, "size": SIZE, "warm_s": warm_s, "rows": rows}


def latency(
    lab: Lab, kind: type[Engine], rate: int, folder: Path, seconds: tuple[float, float]
) -> dict[str, float]:
    """Run one engine at one rate; percentiles for readers of committed and of all records."""
    load = Load(f"steady-{rate}-{kind.__name__}".lower(), 0, SIZE)
    with ClusterClient(lab.cluster("source").connection) as client:
        create_topics(client, {load.topic: NewTopicSpec(PARTITIONS, 1, {})})
    engine = kind(lab, load, f"a{rate}{kind.__name__}".lower(), folder)
    over = threading.Event()
    writer = threading.Thread(target=write, args=(lab, load.topic, rate, over))
    writer.start()
    engine.start()
    try:
        remote = f"{engine.alias}.{load.topic}"
        wait_for(lab, remote)
        found: dict[str, list[float]] = {}
        readers = [
            threading.Thread(target=read, args=(lab, remote, level, seconds, found))
            for level in ("read_committed", "read_uncommitted")
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    finally:
        over.set()
        writer.join()
        engine.stop()
    return {
        f"{level}_p{percent}_ms": round(percentile(values, percent / 100), 1)
        for level, values in sorted(found.items())
        for percent in (50, 99)
    }


def write(lab: Lab, topic: str, rate: int, over: threading.Event) -> None:
    """Write records that carry the time of their writing, evenly over the second."""
    producer = Producer(
        {"bootstrap.servers": lab.cluster("source").bootstrap_servers, "linger.ms": 1}
    )
    rest = b"x" * (SIZE - STAMP_BYTES)
    began, sent = time.monotonic(), 0
    while not over.is_set():
        for _ in range(int((time.monotonic() - began) * rate) - sent):
            producer.produce(topic, time.time_ns().to_bytes(STAMP_BYTES, "big") + rest)
            sent += 1
        producer.poll(0)
        time.sleep(STEP_S)
    producer.flush(10)


def wait_for(lab: Lab, topic: str) -> None:
    with ClusterClient(lab.cluster("target").connection) as client:
        while topic not in list_topic_names(client):
            time.sleep(0.5)


def read(
    lab: Lab,
    topic: str,
    level: str,
    seconds: tuple[float, float],
    found: dict[str, list[float]],
) -> None:
    """Read for the time of warming up and measuring; what was written in the latter counts."""
    consumer = Consumer(
        {
            "bootstrap.servers": lab.cluster("target").bootstrap_servers,
            "group.id": f"latency-{level}",
            "auto.offset.reset": "latest",
            "isolation.level": level,
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.subscribe([topic])
    warm_s, measured_s = seconds
    begin_ns = time.time_ns() + int(warm_s * 1e9)
    end_ns = begin_ns + int(measured_s * 1e9)
    values = found[level] = []
    while time.time_ns() < end_ns:
        # Not `consume` with a number: that waits for as many, or for its whole time-out.
        message = consumer.poll(0.05)
        if message is not None:
            now_ns = time.time_ns()
            if message.error() is None and now_ns >= begin_ns:
                stamp = int.from_bytes((message.value() or b"")[:STAMP_BYTES], "big")
                values.append((now_ns - stamp) / 1e6)
    consumer.close()


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else -1.0

"""The state of a cluster at a time, with a million changes stored: the first answer and all that follow.

The log is made here: 50,000 partitions of 1,000 topics, whose ISR shrinks and expands and whose leaders move.
A question is answered as the console asks it: the state at a time, counts of the whole cluster, leaders per
broker, brokers, features, and one page of a hundred partitions; then the history of one partition. The log
was indexed before; how long that took, and how large it is, stands beside.
"""

import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from jobs.quorum.image_index import ImageIndex
from jobs.quorum.index_writer import write_index
from jobs.quorum.moments import Moment
from jobs.wire.metadata_log import LogRecord

Say = Callable[[str], None]
TOPICS = 1000
PARTITIONS_EACH = 50
BROKERS = 30
CHANGES = 1_000_000
QUESTIONS = 300
PAGE = 100
START_MS = 1_700_000_000_000
MS_A_RECORD = 50


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Index a log, ask it at random times; returns JSON values."""
    part = 10 if quick else 1
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        topics, count = TOPICS // part, CHANGES // part
        start = time.perf_counter()
        write_index(Path(folder), records(topics, count))
        indexed_s = time.perf_counter() - start
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        say(f"indexed {count} changes in {indexed_s:.1f} s, {size / 2**20:.0f} MiB")
        asked = questions(Path(folder), topics, count)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    say(f"state at a time: {asked}")
    return {
        "changes": count,
        "partitions": topics * PARTITIONS_EACH,
        "indexing_s": round(indexed_s, 2),
        "index_mib": round(size / 2**20, 1),
        "peak_rss_mib": round(peak),
        **asked,
    }


def questions(folder: Path, topics: int, count: int) -> dict[str, object]:
    """Ask at random times, each time of a cold reader once in ten."""
    chance = random.Random(1)
    end_ms = START_MS + count * MS_A_RECORD
    states, histories = [], []
    index = ImageIndex(folder)
    for number in range(QUESTIONS):
        if number % 10 == 0:
            index = ImageIndex(folder)
        moment = Moment(timestamp_ms=chance.randrange(START_MS + 1_000_000, end_ms))
        start = time.perf_counter()
        answer(index, moment)
        states.append(time.perf_counter() - start)
        start = time.perf_counter()
        list(index.partition_history(f"topic-{chance.randrange(topics)}", chance.randrange(50)))
        histories.append(time.perf_counter() - start)
    return {"state_ms": percentiles(states), "history_ms": percentiles(histories)}


def answer(index: ImageIndex, moment: Moment) -> None:
    then = index.state_at(moment)
    assert then is not None
    then.counts()
    then.leader_counts()
    then.tables("REGISTER_BROKER_RECORD", "FEATURE_LEVEL_RECORD")
    then.changes(0, PAGE)


def percentiles(seconds: list[float]) -> dict[str, float]:
    found = np.percentile(np.array(seconds) * 1000, [50, 95, 100])
    return dict(zip(("p50", "p95", "max"), np.round(found, 1).tolist(), strict=True))


def records(topics: int, count: int) -> Iterator[LogRecord]:
    """Yield the log: brokers, topics, then changes one by one."""
    specs = [*brokers(), *partitions(topics)]
    chance = random.Random(2)
    states = [3] * (topics * PARTITIONS_EACH)
    for offset, (type_, data) in enumerate(specs):
        yield record(offset, type_, data)
    for offset in range(len(specs), len(specs) + count):
        at = chance.randrange(len(states))
        first = at % BROKERS
        replicas = [first, (first + 1) % BROKERS, (first + 2) % BROKERS]
        states[at] = 2 if states[at] == 3 else 3
        data: dict[str, Any] = {"partitionId": at % PARTITIONS_EACH, "topicId": f"{at // 50:022d}"}
        data["isr"] = replicas[: states[at]]
        if offset % 5 == 0:
            data["leader"] = chance.choice(data["isr"])
        yield record(offset, "PARTITION_CHANGE_RECORD", data)


def record(offset: int, type_: str, data: dict[str, Any]) -> LogRecord:
    now_ms = START_MS + offset * MS_A_RECORD
    return LogRecord(
        offset=offset,
        epoch=1,
        timestamp_ms=now_ms,
        batch_offset=offset,
        position=0,
        is_control=False,
        type=type_,
        version=0,
        data=data,
    )


def brokers() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "FEATURE_LEVEL_RECORD", {"name": "metadata.version", "featureLevel": 29}
    for broker in range(BROKERS):
        told = {"brokerId": broker, "incarnationId": f"{broker:022d}", "brokerEpoch": broker}
        yield "REGISTER_BROKER_RECORD", {**told, "rack": f"dc-{broker % 3}", "fenced": False}


def partitions(topics: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for number in range(topics):
        topic_id = f"{number:022d}"
        yield "TOPIC_RECORD", {"name": f"topic-{number}", "topicId": topic_id}
        for partition in range(PARTITIONS_EACH):
            first = (number * PARTITIONS_EACH + partition) % BROKERS
            replicas = [first, (first + 1) % BROKERS, (first + 2) % BROKERS]
            told = {"partitionId": partition, "topicId": topic_id, "replicas": replicas}
            epochs = {"leader": first, "leaderEpoch": 0, "partitionEpoch": 0}
            yield "PARTITION_RECORD", {**told, **epochs, "isr": replicas}

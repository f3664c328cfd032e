"""Page time of availability for 50,000 partitions: what-if, matrix, placements, observers.

Three sites with four brokers each, a replica at each site, leaders in turn, one partition of fifty without
one of its replicas; half of the topics have a placement with observers. The picture and the matrix are kept
by a task after each round of collection, as in the running console; that time is reported, too.
"""

import json
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pages

Say = Callable[[str], None]
TOPICS, PARTITIONS = 1000, 50
RACKS = {number: f"dc-{'abc'[number % 3]}" for number in range(1, 13)}
PLACEMENT = {
    "version": 2,
    "replicas": [{"count": 1, "constraints": {"rack": rack}} for rack in ("dc-a", "dc-b")],
    "observers": [{"count": 1, "constraints": {"rack": "dc-c"}}],
    "observerPromotionPolicy": "under-min-isr",
}
LOST = "/availability/{alias}/what-if/?steps=lose:rack:dc-a"
PAGES = (
    "/availability/{alias}/what-if/",
    LOST,
    "/availability/{alias}/what-if/?steps=lose:broker:5;lose:rack:dc-a",
    f"{LOST}&topic=topic-0777&show=all",
    f"{LOST}&show=all&partitions=300",
    "/availability/{alias}/what-if/matrix/",
    "/availability/{alias}/placements/",
    "/availability/{alias}/observers/",
    "/availability/{alias}/observers/?page=200",
    "/availability/{alias}/designer/",
    "/availability/{alias}/promotion/",
    "/availability/{alias}/drills/",
    "/availability/{alias}/runbooks/?severity=under_min_isr",
    "/api/v1/what-if/?cluster={alias}&steps=lose:rack:dc-a",
    "/api/v1/what-if/matrix/?cluster={alias}",
    "/api/v1/observers/?cluster={alias}",
)


def measure(say: Say, *, quick: bool) -> dict[str, object]:
    """Measure every page for a huge cluster; returns JSON values."""
    requests = 10 if quick else pages.REQUESTS
    topics = TOPICS // 10 if quick else TOPICS
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        took = {alias: register(alias, count) for alias, count in (("large", topics), ("small", 5))}
        judging = judge_observers("large")
        queries = {path: pages.count_queries(path) for path in PAGES}
        with pages.served(Path(folder)) as (visitor, pid):
            rows = [
                {"page": path, **pages.timing(visitor, pid, path, requests), **queries[path]}
                for path in PAGES
            ]
    for row in rows:
        say(
            f"{row['p50_ms']:6.1f} ms p50, {row['p95_ms']:6.1f} ms p95, {row['cpu_ms']:5.1f} ms CPU, "
            f"{row['queries_large']:2} queries  {row['page']}"
        )
    say(f"{took['large']:,} ms CPU to keep picture and matrix after a round that changed something")
    say(f"observers: {judging}")
    return {
        "data": {"partitions": topics * PARTITIONS, "topics": topics, "brokers": len(RACKS)},
        "settings": {
            "server": "gunicorn, 1 process, 8 threads",
            "clients": 1,
            "requests": requests,
        },
        "keeping_picture_and_matrix_cpu_ms": took["large"],
        "judging_observers": judging,
        "rows": rows,
    }


def judge_observers(alias: str) -> dict[str, int]:
    """Measure what a round of advice computes: reading rows, and the rules; Kafka is not asked."""
    from console.availability.advice.evaluation import Remembered, evaluate
    from console.availability.what_if.cluster_models import cluster_model
    from console.clusters.models import Cluster
    from jobs.availability.promotion.live_state import LiveState

    began = time.process_time()
    model = cluster_model(Cluster.objects.get(alias=alias))
    read = time.process_time()
    now_ms = int(time.time() * 1000)
    judged = evaluate(model, (), LiveState(now_ms), Remembered(), now_ms)
    return {
        "reading_cpu_ms": round((read - began) * 1000),
        "judging_cpu_ms": round((time.process_time() - read) * 1000),
        "partitions_with_observers": judged.considered_count,
        "judged_one_by_one": len(judged.advices),
    }


def register(alias: str, topics: int) -> int:
    """Write a cluster as rounds would and keep its picture and matrix; returns ms of CPU of the latter."""
    from console.availability.placements.models import TopicPlacement
    from console.availability.what_if.matrices import keep_picture
    from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic

    now = datetime.now(UTC)
    cluster = Cluster.objects.create(
        alias=alias, bootstrap_servers="127.0.0.1:1", is_enabled=False, created_at=now
    )
    for noun in Noun:
        CollectionRound.objects.create(cluster=cluster, noun=noun, succeeded_at=now, duration_ms=40)
    Broker.objects.bulk_create(
        Broker(cluster=cluster, broker_id=number, rack=rack, changed_at=now, seen_at=now)
        for number, rack in RACKS.items()
    )
    made = Topic.objects.bulk_create(
        Topic(
            cluster=cluster, name=f"topic-{number:04}", partition_count=PARTITIONS,
            replication_factor=3, min_insync_replicas=2, changed_at=now,
        )
        for number in range(topics)
    )  # fmt: skip
    Partition.objects.bulk_create(_partitions(cluster, made, now))
    TopicPlacement.objects.create(
        cluster=cluster, kind="regex", pattern="topic-.*[02468]",
        document=json.loads(json.dumps(PLACEMENT)), created_at=now, changed_at=now,
    )  # fmt: skip
    began = time.process_time()
    keep_picture(cluster, now)
    return round((time.process_time() - began) * 1000)


def _partitions(cluster: Any, topics: list[Any], now: datetime) -> list[Any]:
    from console.clusters.models import Partition

    chance, found = random.Random(4), []
    sites = [
        [n for n, rack in RACKS.items() if rack == site] for site in sorted(set(RACKS.values()))
    ]
    for topic in topics:
        for number in range(PARTITIONS):
            replicas = [chance.choice(site) for site in sites]
            turn = number % len(replicas)
            replicas = replicas[turn:] + replicas[:turn]
            isr = replicas if chance.random() > 1 / 50 else replicas[:2]
            found.append(
                Partition(
                    cluster=cluster, topic=topic, partition=number, leader=isr[0], replicas=replicas,
                    isr=isr, isr_count=len(isr), log_start_offset=0, end_offset=1000, changed_at=now,
                )
            )  # fmt: skip
    return found

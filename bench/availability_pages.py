"""Availability of 50,000 partitions: what rounds cost, and the pages over real HTTP.

`rounds`: a first poll, one that finds nothing new, and the loss of a broker, once by a poll and once by the
metadata log (changes stored before, as its follower does). `rows`: the pages while that broker is away.
"""

import resource
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pages

TOPICS, PARTITIONS, BROKERS, LOST = 1000, 50, 9, 9
RACKS = ("dc-a", "dc-b", "dc-c")
PAGES = (
    "/availability/",
    "/availability/polled/",
    "/availability/polled/?range=24h",
    "/availability/polled/partitions/",
    "/availability/polled/partitions/?severity=at_min_isr",
    "/availability/polled/partitions/?missing=9&rack=dc-a",
    "/availability/polled/partitions/?q=topic-00&sort=since",
    "/availability/polled/partitions/topic-0001/8/",
    "/availability/followed/partitions/topic-0001/8/",
    "/availability/polled/brokers/",
    "/",
    "/api/v1/availability/",
    "/api/v1/availability/partitions/?cluster=polled&is_wrong=true",
    "/api/v1/availability/polled/series/?range=24h",
)


def measure(say: pages.Say, *, quick: bool) -> dict[str, object]:
    """Measure rounds and pages; returns JSON values."""
    topics = TOPICS // 10 if quick else TOPICS
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        now = datetime.now(UTC)
        rounds = [*polled_rounds(say, topics, now), *followed_rounds(say, topics, now)]
        queries = {path: pages.count_queries(path, ("any",))["queries_any"] for path in PAGES}
        with pages.served(Path(folder)) as (visitor, pid):
            rows = [
                {
                    "page": path,
                    **pages.timing(visitor, pid, path, 10 if quick else pages.REQUESTS),
                    "queries": queries[path],
                }
                for path in PAGES
            ]
    for row in rows:
        say(
            f"{row['p50_ms']:6.1f} ms p50, {row['p95_ms']:6.1f} ms p95, {row['cpu_ms']:5.1f} ms CPU, "
            f"{row['queries']:2} queries  {row['page']}"
        )
    return {
        "data": {"partitions": topics * PARTITIONS, "topics": topics, "database": "SQLite (WAL)"},
        "settings": {"server": "gunicorn, 1 process, 8 threads", "clients": 1},
        "rounds": rounds,
        "rows": rows,
    }


def polled_rounds(say: pages.Say, topics: int, now: datetime) -> list[dict[str, object]]:
    """Measure rounds that compare the cluster's own rounds."""
    from console.availability.collection import collect

    cluster = register("polled", now)
    add_partitions(cluster, topics, now)
    found = []
    for number, name in enumerate(("first poll", "nothing new", "broker lost, polled")):
        at = now - timedelta(seconds=600 - 10 * number)
        if name.startswith("broker lost"):
            lose(cluster, at)
        seen(cluster, at)
        found.append(timed(say, name, lambda at=at: collect.take_in(cluster.pk, lambda: at)))
    return found


def followed_rounds(say: pages.Say, topics: int, now: datetime) -> list[dict[str, object]]:
    """Measure rounds that read the changes of the metadata log."""
    from console.availability.collection import collect
    from console.quorum.models import MetadataLog

    cluster = register("followed", now)
    log = MetadataLog.objects.create(
        cluster=cluster,
        name=cluster.alias,
        created_at=now,
        start_offset=0,
        heard_at=now,
        last_at=now,
    )
    subjects = write_history(log, topics, now - timedelta(hours=2))
    found = []

    def run(name: str) -> None:
        found.append(timed(say, name, lambda: read_all(collect, cluster, now)))

    run("first reading of the log")
    run("nothing new, followed")
    lose_in_log(log, subjects, now - timedelta(seconds=30))
    run("broker lost, followed")
    return found


def read_all(collect: Any, cluster: Any, now: datetime) -> None:
    """Take in until the end of the log is reached."""
    from console.availability.status.models import AvailabilityRound

    while True:
        collect.take_in(cluster.pk, lambda: now)
        row = AvailabilityRound.objects.get(cluster=cluster, noun="status")
        if row.error:
            raise RuntimeError(row.error)
        if row.succeeded_at is not None:
            return


def timed(say: pages.Say, name: str, run: Any) -> dict[str, object]:
    cpu_s, began = time.process_time(), time.monotonic()
    run()
    row = {
        "round": name,
        "wall_s": round(time.monotonic() - began, 2),
        "cpu_s": round(time.process_time() - cpu_s, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
    }
    say(f"{name}: {row['wall_s']} s, {row['cpu_s']} s CPU")
    return row


def register(alias: str, now: datetime) -> Any:
    from console.clusters.models import Broker, Cluster

    cluster = Cluster.objects.create(alias=alias, bootstrap_servers="127.0.0.1:1", created_at=now)
    Broker.objects.bulk_create(
        Broker(
            cluster=cluster, broker_id=i, host="127.0.0.1", port=1, changed_at=now, seen_at=now,
            rack=RACKS[i % 3],
        )
        for i in range(1, BROKERS + 1)
    )  # fmt: skip
    return cluster


def replicas_of(number: int) -> list[int]:
    """Return one broker of each rack."""
    return [1 + (number + step) % BROKERS for step in range(3)]


def add_partitions(cluster: Any, topics: int, now: datetime) -> None:
    from console.clusters.models import Partition, Topic

    made = Topic.objects.bulk_create(
        [
            Topic(
                cluster=cluster, name=f"topic-{i:04}", topic_id=f"id-{i:04}",
                partition_count=PARTITIONS, min_insync_replicas=2, configs_read_at=now,
                min_isr_source="STATIC_BROKER_CONFIG", changed_at=now,
            )
            for i in range(topics)
        ],
        batch_size=500,
    )  # fmt: skip
    Partition.objects.bulk_create(
        [
            Partition(
                cluster=cluster, topic=topic, partition=number, leader=replicas_of(number)[0],
                replicas=replicas_of(number), isr=replicas_of(number), isr_count=3,
                log_start_offset=0, end_offset=number * 1000, changed_at=now,
            )
            for topic in made
            for number in range(PARTITIONS)
        ],
        batch_size=500,
    )  # fmt: skip


def seen(cluster: Any, at: datetime) -> None:
    from console.clusters.models import CollectionRound, Noun

    for noun in Noun:
        CollectionRound.objects.update_or_create(
            cluster=cluster, noun=noun, defaults={"succeeded_at": at, "finished_at": at}
        )


def lose(cluster: Any, at: datetime) -> None:
    """Let a broker leave the ISR of every partition that it has a replica of."""
    from console.clusters.collection.rows import update
    from console.clusters.models import Partition

    changed = []
    for row in Partition.objects.filter(cluster=cluster):
        if LOST in row.isr:
            row.isr = [one for one in row.isr if one != LOST]
            row.isr_count, row.leader, row.changed_at = 2, row.isr[0], at
            changed.append(row)
    update(Partition, changed, ("isr", "isr_count", "leader", "changed_at"))
    cluster.brokers.filter(broker_id=LOST).update(is_live=False, changed_at=at)


def write_history(log: Any, topics: int, at: datetime) -> list[Any]:
    """Write brokers and the creation of every partition, as the follower of the log stores them."""
    from console.quorum.models import Kind, MetadataSubject

    brokers = [
        MetadataSubject(
            log=log, kind=Kind.BROKER, key=str(i), name=f"broker {i}", broker=i, first_offset=i
        )
        for i in range(1, BROKERS + 1)
    ]
    partitions = [
        MetadataSubject(
            log=log, kind=Kind.PARTITION, key=f"id-{i:04}:{number}", topic=f"topic-{i:04}",
            topic_id=f"id-{i:04}", partition=number, name=f"topic-{i:04}-{number}",
            first_offset=100,
        )
        for i in range(topics)
        for number in range(PARTITIONS)
    ]  # fmt: skip
    made = MetadataSubject.objects.bulk_create([*brokers, *partitions], batch_size=500)
    write(log, [(one, broker_state(one)) for one in made[:BROKERS]], 10, at)
    states = [(one, partition_state(one, replicas_of(one.partition))) for one in made[BROKERS:]]
    write(log, states, 100, at, cause="topic_created")
    return made[BROKERS:]


def lose_in_log(log: Any, subjects: list[Any], at: datetime) -> None:
    gone = [
        (one, partition_state(one, [i for i in replicas_of(one.partition) if i != LOST]))
        for one in subjects
        if LOST in replicas_of(one.partition)
    ]
    write(log, gone, 1_000_000, at, cause="broker_fenced", broker=LOST)


def broker_state(one: Any) -> dict[str, object]:
    return {"is_fenced": False, "rack": RACKS[one.broker % 3], "incarnation_id": str(one.broker)}


def partition_state(one: Any, isr: list[int]) -> dict[str, object]:
    return {
        "leader": isr[0], "leader_epoch": 1, "partition_epoch": 1, "isr": isr, "elr": [],
        "replicas": replicas_of(one.partition),
    }  # fmt: skip


def write(log: Any, states: list[Any], offset: int, at: datetime, **values: Any) -> None:
    from console.quorum.models import MetadataChange, MetadataLog

    MetadataChange.objects.bulk_create(
        [
            MetadataChange(
                log=log, subject=one, offset=offset + place, effective_offset=offset + place,
                kind=one.kind, type="RECORD", epoch=1, at=at, topic=one.topic,
                topic_id=one.topic_id, partition=one.partition, state=state,
                **{"broker": one.broker, **values},
            )
            for place, (one, state) in enumerate(states)
        ],
        batch_size=500,
    )  # fmt: skip
    MetadataLog.objects.filter(pk=log.pk).update(next_offset=offset + len(states))

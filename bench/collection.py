"""One round of collection of a real cluster with many partitions and groups: each question, time and memory.

Three brokers, partitions with one replica, groups without members, each with a commit on every partition of
one topic. What is measured is asking a cluster and reading its answers, without the rows of the console. The
second round shows what connections that are kept save.
"""

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.groups import (
    alter_group_offsets,
    describe_groups,
    list_groups,
    read_group_offsets,
)
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.lab.install.preparation import kafka_jvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port

PARTITIONS, GROUPS, PER_TOPIC, ROUNDS = 50_000, 5_000, 10, 2
HEAP = "-Xmx3g"
PAUSE_S, READY_WITHIN_S = 5.0, 900.0


def measure(say: Callable[[str], None], *, quick: bool) -> dict[str, object]:
    """Fill a cluster and ask it as a round does; returns JSON values."""
    share = 10 if quick else 1
    partitions, groups = PARTITIONS // share, GROUPS // share
    with running_lab() as connection:
        fill(say, connection, partitions, groups)
        rounds = [one_round(say, connection) for _ in range(ROUNDS)]
    return {"data": {"partitions": partitions, "groups": groups}, "rounds": rounds}


@contextmanager
def running_lab() -> Iterator[Connection]:
    """Start three brokers with room for many partitions."""

    def plans(base: int) -> list[ClusterPlan]:
        # The default is 10 MB for each index, all of it mapped.
        small = {"log.index.size.max.bytes": "4096"}
        return [ClusterPlan("many", 3, base, racks=("a", "b", "c"), overrides=small)]

    jvm = kafka_jvm()
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        lab = Lab(
            Path(folder) / "lab",
            plans(find_base_port(plans)),
            jvm=replace(jvm, options=[*jvm.options, HEAP]),
        )
        lab.start()
        try:
            yield lab.cluster("many").connection
        finally:
            lab.kill()


def fill(say: Callable[[str], None], connection: Connection, partitions: int, groups: int) -> None:
    """Make topics and groups, and wait until every partition has a leader."""
    names = [f"t{number:05}" for number in range(partitions // PER_TOPIC)]
    with ClusterClient(connection, timeout_s=120) as client:
        faults = create_topics(client, dict.fromkeys(names, NewTopicSpec(PER_TOPIC, 1)))
        for fault in filter(None, faults.values()):
            raise fault
        say(f"{partitions} partitions made")
        for number in range(groups):
            topic = names[number % len(names)]
            places = [TopicPartition(topic, p) for p in range(PER_TOPIC)]
            commit(client, f"group-{number:05}", dict.fromkeys(places, CommittedOffset(0)))
        say(f"{groups} groups made")


def commit(
    client: ClusterClient, group: str, offsets: dict[TopicPartition, CommittedOffset]
) -> None:
    """Commit as soon as the coordinator is there: brokers make the logs for some minutes."""
    give_up_at = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            found = alter_group_offsets(client, group, offsets)
            if not any(found.values()):
                return
        except ClusterFault:
            if time.monotonic() > give_up_at:
                raise
        time.sleep(PAUSE_S)


def one_round(say: Callable[[str], None], connection: Connection) -> dict[str, object]:
    """Ask everything that a round asks, all keys of all settings instead of the few that it shows."""
    found: dict[str, object] = {}

    def timed(name: str, ask: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        answer = ask()
        row = {
            "wall_s": round(time.perf_counter() - wall, 2),
            "cpu_s": round(time.process_time() - cpu, 2),
        }
        found[name] = row
        say(f"{name:18} {row['wall_s']:6.2f} s wall {row['cpu_s']:6.2f} s CPU")
        return answer

    def everything() -> None:
        timed("cluster", lambda: describe_cluster(client))
        topics = timed("topics", lambda: describe_topics(client))
        places = [TopicPartition(t.name, p.partition) for t in topics for p in t.partitions]
        timed("settings", lambda: describe_topic_configs(client, [t.name for t in topics]))
        ranges = timed("offsets", lambda: read_offset_ranges(client, places, with_timestamps=True))
        found["unread_partitions"] = sum(one.error is not None for one in ranges.values())
        ids = [one.group_id for one in timed("groups", lambda: list_groups(client)).groups]
        timed("members", lambda: describe_groups(client, ids))
        timed("committed", lambda: read_group_offsets(client, ids))

    with ClusterClient(connection, timeout_s=60) as client:
        timed("round", everything)
    found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found

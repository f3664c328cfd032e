"""Checkpoints of 5,000 groups with 10 partitions each: a round of the console, and its pages.

`rounds`: what it costs to judge every group again, with the clusters' answers given from memory; `rows`: the
pages over real HTTP. The translator holds a million offset syncs.
"""

import random
import resource
import tempfile
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pages
from group_plan import GivenClusters

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.topic import GroupPartition
from jobs.replication.translation.translator import SourceEnd, Translator

GROUPS, PARTITIONS, TOPICS, RECORDS, SYNC_EVERY = 5000, 10, 10, 1_000_000, 100
PLACES = [TopicPartition(f"t{t}", p) for t in range(TOPICS) for p in range(PARTITIONS)]
PAGES = (
    "/replication/{flow}/checkpoints/",
    "/replication/{flow}/checkpoints/?sort=behind&dir=desc",
    "/replication/{flow}/checkpoints/?q=group-01",
    "/replication/{flow}/checkpoints/group-00001/",
    "/replication/{flow}/",
    "/replication/{flow}/failover/{plan}/",
    "/",
    "/api/v1/flows/{flow}/checkpoints/",
    "/api/v1/flows/{flow}/readiness/",
)


class GivenAnswers:
    """What both clusters would say: a checkpoint for every partition of every group, some of them coarse."""

    def __init__(self, at_ms: int) -> None:
        self._lot = random.Random(7)
        self.kept = {}
        for number in range(GROUPS):
            for partition in range(PARTITIONS):
                remote = TopicPartition(f"east.t{number % TOPICS}", partition)
                upstream = self._lot.randrange(RECORDS)
                seen = SeenCheckpoint(upstream, upstream, at_ms - self._lot.randrange(100_000))
                self.kept[GroupPartition(f"group-{number:05}", remote)] = seen

    def move(self) -> None:
        """Let every checkpoint be written again."""
        self.kept = {
            key: SeenCheckpoint(seen.upstream + 1, seen.downstream + 1, seen.at_ms + 30_000)
            for key, seen in self.kept.items()
        }

    def checkpoints(self, flow: Any, before: CheckpointsRead) -> CheckpointsRead:
        """Return all checkpoints."""
        return CheckpointsRead(self.kept, 7, "topic-id")

    def ends(self, flow: Any, remote: Any) -> dict[TopicPartition, SourceEnd]:
        """Return where both sides of a partition end."""
        return {where: SourceEnd(RECORDS, RECORDS + RECORDS // 50) for where in remote}


def measure(say: pages.Say, *, quick: bool) -> dict[str, object]:
    """Measure rounds and pages; returns JSON values."""
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        now = datetime.now().astimezone()
        flow = register(now)
        known = translator()
        rounds = measure_rounds(say, flow, now, known)
        names = {"flow": flow.pk, "plan": make_plan(say, flow, now, known)}
        paths = [path.format(**names) for path in PAGES]
        queries = {path: pages.count_queries(path, ("any",))["queries_any"] for path in paths}
        with pages.served(Path(folder)) as (visitor, pid):
            rows = [
                {
                    "page": path,
                    **pages.timing(visitor, pid, path, 10 if quick else pages.REQUESTS),
                    "queries": queries[path],
                }
                for path in paths
            ]
    for row in rows:
        say(
            f"{row['p50_ms']:6.1f} ms p50, {row['p95_ms']:6.1f} ms p95, {row['cpu_ms']:5.1f} ms CPU, "
            f"{row['queries']:2} queries  {row['page']}"
        )
    return {
        "data": {"groups": GROUPS, "partitions_of_each": PARTITIONS, "database": "SQLite (WAL)"},
        "settings": {"server": "gunicorn, 1 process, 8 threads", "clients": 1},
        "rounds": rounds,
        "rows": rows,
    }


def register(now: datetime) -> Any:
    """Write two clusters, a flow between them, and groups on both sides, as rounds would leave them."""
    from console.clusters.models import Cluster, CollectionRound, Noun
    from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow

    sides = [
        Cluster.objects.create(
            alias=alias, bootstrap_servers="127.0.0.1:1", is_enabled=False, created_at=now
        )
        for alias in ("east", "west")
    ]
    flow = ReplicationFlow.objects.create(
        name="large", source=sides[0], target=sides[1], topics=["t.*"], groups=[".*"],
        measured_at=now, created_at=now,
    )  # fmt: skip
    for side in sides:
        CollectionRound.objects.create(cluster=side, noun=Noun.GROUPS, succeeded_at=now)
        add_groups(side, "east." if side.alias == "west" else "", now)
    for noun in FlowRound.Noun:
        FlowRound.objects.create(flow=flow, noun=noun, succeeded_at=now)
    FlowPartition.objects.bulk_create(
        FlowPartition(
            flow=flow, topic=topic, partition=partition, remote_topic=f"east.{topic}",
            position=RECORDS, log_start_offset=0, end_offset=RECORDS, lag=0, lag_ms=0, since=now,
            updated_at=now,
        )
        for topic, partition in PLACES
    )  # fmt: skip
    return flow


def add_groups(cluster: Any, prefix: str, now: datetime) -> None:
    from console.clusters.models import Group, GroupOffset

    lot = random.Random(prefix)
    groups = Group.objects.bulk_create(
        [
            Group(
                cluster=cluster, group_id=f"group-{number:05}", member_count=0, changed_at=now,
                state="Empty" if prefix else "Stable",
            )
            for number in range(GROUPS)
        ],
        batch_size=500,
    )  # fmt: skip
    GroupOffset.objects.bulk_create(
        [
            GroupOffset(
                group=group, topic=f"{prefix}t{number % TOPICS}", partition=partition,
                committed_offset=lot.randrange(RECORDS // (2 if prefix else 1)), changed_at=now,
            )
            for number, group in enumerate(groups)
            for partition in range(PARTITIONS)
        ],
        batch_size=500,
    )  # fmt: skip


def translator() -> Translator:
    """Return a million offset syncs: a gap of one behind every fiftieth record, as markers leave."""
    made = Translator()
    for where in PLACES:
        for upstream in range(0, RECORDS + 1, SYNC_EVERY):
            made.add(where, upstream, upstream + upstream // 50)
    return made


def make_plan(say: pages.Say, flow: Any, now: datetime, known: Translator) -> int:
    """Plan the failover of all groups; returns the plan's id."""
    from console.replication.failover import work as failover_work
    from console.replication.failover.models import FailoverPlan

    plan = FailoverPlan.objects.create(
        flow=flow, name="everything", groups=[".*"], topics=[".*"], created_at=now
    )
    cpu_s = time.process_time()
    failover_work.read_plan(plan.pk, now, GivenClusters(known, GROUPS, PARTITIONS, TOPICS, RECORDS))
    plan.refresh_from_db()
    if plan.group_count != GROUPS:
        raise RuntimeError(f"The plan has {plan.group_count} groups: {plan.error}")
    say(f"plan of {plan.item_count:,} offsets: {time.process_time() - cpu_s:.1f} s CPU")
    return int(plan.pk)


def measure_rounds(
    say: pages.Say, flow: Any, now: datetime, known: Translator
) -> list[dict[str, object]]:
    """Run a first round, one that finds nothing new, and one for which everything has moved."""
    from django.db.models import F

    from console.clusters.models import GroupOffset

    door, found = GivenAnswers(int(now.timestamp() * 1000)), []
    for number, name in enumerate(("first", "nothing new", "all moved")):
        if name == "all moved":
            door.move()
            GroupOffset.objects.filter(group__cluster=flow.source).update(
                committed_offset=F("committed_offset") + 5
            )
        row = measure_round(flow, now + timedelta(seconds=120 * number), door, known)
        say(f"round of {GROUPS:,} groups, {name}: {row['wall_s']} s, {row['cpu_s']} s CPU")
        found.append({"round": name, **row})
    return found


def measure_round(
    flow: Any, now: datetime, door: GivenAnswers, known: Translator
) -> dict[str, object]:
    from console.replication.checkpoints.rounds.collect import KAFKA, collect_readiness

    queries = replace(
        KAFKA, checkpoints=door.checkpoints, ends=door.ends, translator=lambda _: known
    )
    cpu_s, began = time.process_time(), time.monotonic()
    if not collect_readiness(flow.pk, lambda: now, queries):
        raise RuntimeError("The round did not run.")
    return {
        "wall_s": round(time.monotonic() - began, 2),
        "cpu_s": round(time.process_time() - cpu_s, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000,
    }

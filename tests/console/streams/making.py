"""A small world of Kafka Streams: a shop with two instances, one of which has no endpoint if asked."""

from __future__ import annotations

from datetime import datetime, timedelta

from console.findings.models import Finding
from console.streams.collection.rows import save_application
from console.streams.models import StreamsApplication, StreamsRound
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.group_members import (
    StreamsGroup,
    StreamsMember,
    StreamsSubtopology,
    StreamsTasks,
)
from jobs.severity import Severity
from jobs.streams.collection.capture import read_capture
from jobs.streams.observation import Observation, TopicFacts
from tests.console.making import NOW
from tests.support import REPORTED

SHOP = "shop"
CHANGELOG = f"{SHOP}-totals-changelog"
DESCRIPTION = """Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0 (topics: [orders])
      --> KSTREAM-AGGREGATE-1
    Processor: KSTREAM-AGGREGATE-1 (stores: [totals])
      --> KSTREAM-SINK-2
      <-- KSTREAM-SOURCE-0
    Sink: KSTREAM-SINK-2 (topic: totals)
      <-- KSTREAM-AGGREGATE-1
"""


def member(number: int, active=(), standby=(), **fields) -> StreamsMember:
    values = {
        "member_id": f"member-{number}",
        "member_epoch": 5,
        "instance_id": None,
        "rack": "dc-a",
        "client_id": f"{SHOP}-{number}-StreamThread-1",
        "client_host": f"/10.0.0.{number}",
        "topology_epoch": 0,
        "process_id": f"process-{number}",
        "endpoint": f"shop-{number}.example:8080",
        "tags": {"zone": "a"},
        "assignment": StreamsTasks({"0": tuple(active)}, {"0": tuple(standby)}, {}),
        "target": StreamsTasks({"0": tuple(active)}, {"0": tuple(standby)}, {}),
        "offsets": {},
        "end_offsets": {},
        "is_classic": False,
    } | fields
    return StreamsMember(**values)


def group(*members: StreamsMember, group_id: str = SHOP, state: str = "Stable", **fields):
    values = {
        "group_epoch": 5,
        "assignment_epoch": 5,
        "topology_epoch": 0,
        "subtopologies": (
            StreamsSubtopology("0", ("orders",), (), (), (f"{group_id}-totals-changelog",)),
        ),
    } | fields
    return StreamsGroup(group_id, state, members=members, **values)


def topic(partitions: int, end: int = 100, now: datetime = NOW) -> TopicFacts:
    numbers = range(partitions)
    newest_ms = int(now.timestamp() * 1000) - 1000
    return TopicFacts(
        partitions,
        dict.fromkeys(numbers, 0),
        dict.fromkeys(numbers, end),
        dict.fromkeys(numbers, newest_ms),
        dict.fromkeys(numbers, 4096),
        {"cleanup.policy": "compact"},
    )


def observation(found: StreamsGroup, now: datetime = NOW, partitions: int = 4, **fields):
    name = found.group_id
    values = {
        "topics": {
            "orders": topic(partitions, now=now),
            f"{name}-totals-changelog": topic(partitions, 40, now),
        },
        "committed": {
            TopicPartition("orders", number): CommittedOffset(90 - number)
            for number in range(partitions)
        },
        "group_ids": frozenset({name}),
    } | fields
    return Observation(found, int(now.timestamp() * 1000), **values)


def two_instances(**fields) -> StreamsGroup:
    return group(member(1, (0, 1), (2, 3)), member(2, (2, 3), (0, 1)), **fields)


def without_endpoint(**fields) -> StreamsGroup:
    """Keys of partitions 2 and 3 are served by an instance that has no name."""
    return group(member(1, (0, 1), (2, 3)), member(2, (2, 3), (0, 1), endpoint=None), **fields)


def make_finding(row, code: str = "streams_endpoint_missing", severity: str = "critical", **fields):
    """Keep an open finding of the round of checks about an application."""
    values = {
        "kind": "checks",
        "subject": row.application_id,
        "sentence": f"Kafka Streams application {row.application_id} of east has a fault.",
        "todo": "Set application.server.",
        "opened_at": NOW,
        "last_seen_at": NOW,
    } | fields
    return Finding.objects.create(
        cluster=row.cluster, code=code, severity=severity, rank=Severity(severity).rank, **values
    )


def make_round(cluster, now: datetime = NOW, **fields) -> StreamsRound:
    values = {"succeeded_at": now, "finished_at": now, "duration_ms": 80, "row_count": 1} | fields
    return StreamsRound.objects.create(cluster=cluster, **values)


def make_farm(cluster, now: datetime = NOW) -> StreamsApplication:
    """Keep the application of a reported capture with its description, as a round and a person would."""
    folder = REPORTED / "streams_topics_of_different_sizes"
    (seen,) = read_capture(folder / "capture.json")
    make_round(cluster, now)
    save_application(cluster, None, seen, now)
    row = StreamsApplication.objects.get(cluster=cluster)
    row.description = (folder / "describe.txt").read_text("utf-8")
    row.save()
    return row


def make_streams(cluster, found: StreamsGroup | None = None, now: datetime = NOW, **fields):
    """Keep an application as a round would, with a fresh round beside it."""
    StreamsRound.objects.filter(cluster=cluster).exists() or make_round(cluster, now)
    found = found or two_instances()
    save_application(cluster, None, observation(found, now, **fields), now)
    return StreamsApplication.objects.get(cluster=cluster, application_id=found.group_id)


def make_rebalances(cluster, now: datetime, last: StreamsGroup | None = None) -> StreamsApplication:
    """Two instances ran for six minutes; after two minutes without a round one of them had left."""
    alone, two = group(member(1, (0, 1, 2, 3)), group_epoch=6), two_instances()
    make_round(cluster, now)
    for minutes, found in ((10, two), (4, two), (2, alone), (1, alone), (0, last or alone)):
        at = now - timedelta(minutes=minutes)
        row = StreamsApplication.objects.filter(cluster=cluster, application_id=SHOP).first()
        save_application(cluster, row, observation(found, at), at)
    return StreamsApplication.objects.get(cluster=cluster, application_id=SHOP)

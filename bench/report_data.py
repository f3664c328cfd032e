"""Two months of 50 flows and 50,000 partitions in the database, as the rounds would have left them.

Of lag a week of raw samples (`LAG_RETENTION_H`), of its topics the newest six hours; of checkpoint lag hours,
and minutes at the end.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import availability_pages as partitions
from report_clusters import CLUSTERS, MONTH, MONTHS, Size, fill_cluster, insert, stored

GROUPS = 10
TOPICS = 10
GROUP_PARTITIONS = 100
LAG_KEPT = timedelta(hours=168)
TOPIC_LAG = timedelta(hours=6)
MINUTES = timedelta(hours=3)
CHANGES = 20
ENTRIES = 20_000


FULL = Size(50, 500, 300_000, 5)
QUICK = Size(5, 50, 30_000, 60)


def fill(size: Size, end: datetime, now: datetime) -> dict[str, int]:
    """Write everything that ends at a time; return how many rows there are of the large tables."""
    chance = random.Random(7)
    start = end - MONTHS * MONTH
    clusters = [partitions.register(alias, start - timedelta(days=5)) for alias in CLUSTERS]
    for cluster in clusters:
        partitions.add_partitions(cluster, size.topics, now)
        partitions.seen(cluster, now)
        fill_cluster(cluster, size, end, now, chance)
    flows = [add_flow(number, clusters, start) for number in range(size.flows)]
    for flow in flows:
        fill_flow(flow, size, end, chance)
    fill_trail(flows, end, chance)
    return counted()


def counted() -> dict[str, int]:
    from console.accounts.models import AuditEntry
    from console.availability.status.models import OutOfSyncSpan, PartitionStatus, SeveritySpan
    from console.quorum.models import MetadataChange
    from console.replication.flows.models import CheckpointSample, LagSample

    tables = (
        PartitionStatus, SeveritySpan, OutOfSyncSpan, MetadataChange, LagSample, CheckpointSample,
        AuditEntry,
    )  # fmt: skip
    return {table._meta.db_table: table.objects.count() for table in tables}


def add_flow(number: int, clusters: Sequence[Any], start: datetime) -> Any:
    """Register a flow with its topics."""
    from console.replication.flows.models import FlowTopic, ReplicationFlow

    source, target = clusters[:: 1 if number % 2 else -1]
    topics = [f"topic-{TOPICS * (number // 2) + place:04}" for place in range(TOPICS)]
    flow = ReplicationFlow.objects.create(
        name=f"flow-{number:02}", source=source, target=target, topics=topics, is_wanted=True,
        created_at=start - timedelta(days=1),
        counted={"total": {"records": 10**9 + number, "bytes": 10**12}},
    )  # fmt: skip
    FlowTopic.objects.bulk_create(
        FlowTopic(
            flow=flow, topic=topic, remote_topic=f"{source.alias}.{topic}", partition_count=50,
            updated_at=start,
        )
        for topic in topics
    )  # fmt: skip
    return flow


def fill_flow(flow: Any, size: Size, end: datetime, chance: Any) -> None:
    """Write lag, checkpoint lag, answers, findings and runs of a flow."""
    add_lag(flow, size.step_s, end, chance)
    add_lag_hours(flow, end, chance)
    groups = [f"group-{flow.pk:02}-{number}" for number in range(GROUPS)]
    add_checkpoints(flow, ["", *groups], end, chance)
    add_answers(flow, groups, end, chance)
    add_findings(flow, end, chance)
    add_runs(flow, end)


def add_lag(flow: Any, step_s: int, end: datetime, chance: Any) -> None:
    from console.replication.flows.models import LagSample

    until = int(end.timestamp())
    spans = [("", LAG_KEPT), *((topic, TOPIC_LAG) for topic in flow.topics)]
    insert(
        LagSample,
        ("flow_id", "topic", "at_s", "lag", "lag_ms", "rate_per_s"),
        (
            (flow.pk, topic, at_s, int(2000 * some * some), int(9000 * some), 1000 * some)
            for topic, span in spans
            for at_s in range(until - int(span.total_seconds()), until, step_s)
            for some in (chance.random(),)
        ),
    )


def add_lag_hours(flow: Any, end: datetime, chance: Any) -> None:
    """Write what is kept of lag for longer than its samples."""
    from console.replication.measurement.models import LagHour

    last = int(end.timestamp()) // 3600 * 3600
    insert(
        LagHour,
        ("flow_id", "topic", "at_s", "samples", "first_s", "last_s", "lag", "lag_at_s", "lag_ms",
         "lag_ms_at_s", "rate_per_s"),
        (
            (flow.pk, topic, at_s, 60, at_s, at_s + 3540, int(2000 * some), at_s + 60, int(9000 * some),
             at_s + 60, 1000 * some)
            for topic in ("", *flow.topics)
            for at_s in range(last - int((MONTHS * MONTH).total_seconds()), last, 3600)
            for some in (chance.random(),)
        ),
    )  # fmt: skip


def add_checkpoints(flow: Any, names: Sequence[str], end: datetime, chance: Any) -> None:
    from console.replication.flows.models import CheckpointSample, CheckpointSeries

    series = CheckpointSeries.objects.bulk_create(
        CheckpointSeries(flow=flow, group=name) for name in names
    )
    until = int(end.timestamp())
    spans = ((3600, MONTHS * MONTH), (60, MINUTES))
    insert(
        CheckpointSample,
        ("series_id", "step_s", "at_s", "age_ms", "behind", "reread", "at_risk", "at_risk_ms"),
        (
            (one.pk, step, at_s, int(60_000 * some), int(50 * some), int(900 * some),
             int(700 * some), int(8000 * some))
            for one in series
            for step, span in spans
            for at_s in range(until - int(span.total_seconds()), until, step)
            for some in (chance.random(),)
        ),
    )  # fmt: skip


def add_answers(flow: Any, groups: Sequence[str], end: datetime, chance: Any) -> None:
    """Write how ready groups are, and when that changed."""
    from console.replication.flows.models import FlowReadiness, GroupReadiness, ReadinessChange

    at_ms = int(end.timestamp()) * 1000
    common = {"flow": flow, "since": end, "updated_at": end, "readiness": "ready", "rank": 1}
    FlowReadiness.objects.create(**common, checkpoints_read_at=end)
    places = [
        {"topic": flow.topics[number % TOPICS], "partition": number, "checkpoint_at_ms": at_ms}
        for number in range(GROUP_PARTITIONS)
    ]
    GroupReadiness.objects.bulk_create(
        GroupReadiness(**common, group=name, checkpoint_count=GROUP_PARTITIONS, partitions=places)
        for name in groups
    )
    start = end - MONTHS * MONTH
    words = ("ready", "warning", "blocked")
    ReadinessChange.objects.bulk_create(
        ReadinessChange(
            flow=flow, group=name, readiness=words[step % 3],
            at=start + timedelta(seconds=step * MONTHS * MONTH.total_seconds() / (MONTHS * CHANGES)),
        )
        for name in ("", *groups)
        for step in range(MONTHS * CHANGES)
    )  # fmt: skip


def add_findings(flow: Any, end: datetime, chance: Any) -> None:
    from console.findings.models import Finding, Kind

    codes = (("retention_loss", "critical", 4), ("config_differs", "warning", 3))
    rows = []
    for number in range(MONTHS * CHANGES):
        code, severity, rank = codes[number % 2]
        at = end - timedelta(seconds=chance.uniform(3600, MONTHS * MONTH.total_seconds()))
        sentence = f"{flow.topics[number % TOPICS]} differs on the target."
        rows.append(
            Finding(
                kind=Kind.FLOW, flow=flow, code=code, severity=severity, rank=rank, opened_at=at,
                last_seen_at=at,
                subject=f"{flow.topics[number % TOPICS]}-{number}", sentence=sentence,
                topic=flow.topics[number % TOPICS],
                closed_at=at + timedelta(minutes=50) if number % 10 else None,
            )
        )  # fmt: skip
    Finding.objects.bulk_create(rows)


def add_runs(flow: Any, end: datetime) -> None:
    """Write a restart each three days of the last two weeks, which is how long runs are kept."""
    from console.runs.models import Run

    begins = [end - timedelta(days=days) for days in range(13, 0, -3)]
    Run.objects.bulk_create(
        Run(
            kind="replicate", subject=flow.subject, title="Replicate", created_at=at, started_at=at,
            finished_at=over, state="CRASHED" if over else "RUNNING", error="Killed." if over else "",
        )
        for at, over in zip(begins, [*begins[1:], None], strict=True)
    )  # fmt: skip


def fill_trail(flows: Sequence[Any], end: datetime, chance: Any) -> None:
    """Write the audit trail: what 40 people did to flows and topics, some of it pauses."""
    insert_trail(list(trail(flows, end, chance)))


def trail(flows: Sequence[Any], end: datetime, chance: Any) -> Iterator[tuple[Any, ...]]:
    start = end - MONTHS * MONTH
    for number in range(MONTHS * ENTRIES):
        at = start + number * MONTH / ENTRIES
        name = f"person-{chance.randrange(40)}"
        if number % 10:
            subject = f"topic:topic-{chance.randrange(500):04}"
            yield stored(at), name, "topic.config", "done", subject
        else:
            action = "flow.resume" if number % 20 else "flow.pause"
            yield stored(at), name, action, "done", f"flow:{chance.choice(flows).name}"


def insert_trail(rows: list[tuple[Any, ...]]) -> None:
    from console.accounts.models import AuditEntry

    insert(AuditEntry, ("at", "actor_name", "action", "outcome", "subject"), rows)

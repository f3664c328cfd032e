"""Rounds of all checks over 50,000 partitions, 5,000 groups and 50 flows, on one core.

The data is what collection rounds would have left; a broker is lost in between. A round reads all of
it, applies every check, writes findings, makes incidents of them, and writes their notifications.
"""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import availability_pages as partitions
import pages
import report_data

MOST_S, MOST_MB = 5, 400
TOPICS, GROUPS, GROUP_PARTITIONS, FLOWS = 1000, 5000, 10, 50
ALIASES = ("east", "west")


def measure(say: pages.Say, *, quick: bool) -> dict[str, object]:
    """Run rounds before and after a broker of each cluster is lost and all groups are late."""
    share = 10 if quick else 1
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        now = datetime.now(UTC)
        clusters = fill(now, TOPICS // share // len(ALIASES), GROUPS // share // len(ALIASES))
        add_flows(clusters, FLOWS // share, now)
        add_route(now)
        rows = [check(say, "first round", now), check(say, "second round", now, 5)]
        for cluster in clusters:
            partitions.lose(cluster, now + timedelta(seconds=6))
        take_in(clusters, now + timedelta(seconds=8))
        rows += [check(say, f"broker lost, round {one}", now, 5 + 5 * one) for one in (1, 2, 3)]
        delay_groups()
        rows += [
            check(say, f"every group late, round {one}", now, 20 + 5 * one) for one in (1, 2, 3)
        ]
        return {
            "data": {
                "partitions": TOPICS // share * partitions.PARTITIONS,
                "groups": GROUPS // share,
                "partitions_per_group": GROUP_PARTITIONS,
                "flows": FLOWS // share,
                "database": "SQLite (WAL)",
                **counted(),
            },
            "limits": {"cpu_s": MOST_S, "peak_mb": MOST_MB},
            "rows": rows,
        }


def fill(now: datetime, topics: int, groups: int) -> list[Any]:
    """Write two clusters with their partitions and groups, as rounds have collected them."""
    clusters = [partitions.register(alias, now) for alias in ALIASES]
    for cluster in clusters:
        partitions.add_partitions(cluster, topics, now)
        add_groups(cluster, groups, topics, now)
    take_in(clusters, now)
    return clusters


def take_in(clusters: list[Any], at: datetime) -> None:
    """Let the rooms take in what was collected."""
    from console.availability.collection import collect

    for cluster in clusters:
        partitions.seen(cluster, at)
        collect.take_in(cluster.pk, lambda: at)


def add_groups(cluster: Any, groups: int, topics: int, now: datetime) -> None:
    from console.clusters.models import Group, GroupOffset

    made = Group.objects.bulk_create(
        Group(
            cluster=cluster, group_id=f"group-{number:05}", state="STABLE", type="Consumer",
            protocol="consumer", member_count=2, topic_count=1, partition_count=GROUP_PARTITIONS,
            lag=number * GROUP_PARTITIONS, lag_ms=number, changed_at=now,
        )
        for number in range(groups)
    )  # fmt: skip
    GroupOffset.objects.bulk_create(
        (
            GroupOffset(
                group=group, topic=f"topic-{number % topics:04}", partition=partition,
                is_assigned=True, committed_offset=1000, log_start_offset=0, end_offset=1000 + number,
                high_watermark=1000 + number, lag=number, lag_status="ok", changed_at=now,
            )
            for number, group in enumerate(made)
            for partition in range(GROUP_PARTITIONS)
        ),
        batch_size=500,
    )  # fmt: skip


def delay_groups() -> None:
    """Let every group be ten minutes behind: each gets findings and an incident."""
    from console.clusters.models import Group, GroupOffset

    Group.objects.update(lag_ms=600_000)
    GroupOffset.objects.update(lag_ms=600_000)


def add_flows(clusters: list[Any], count: int, now: datetime) -> None:
    """Write flows with an hour of samples of their lag."""
    from console.replication.flows.models import LagSample

    flows = [report_data.add_flow(number, clusters, now) for number in range(count)]
    until = int(now.timestamp())
    report_data.insert(
        LagSample,
        ("flow_id", "topic", "at_s", "lag", "lag_ms", "rate_per_s"),
        (
            (flow.pk, topic, at_s, 2000, 9000, 1000)
            for flow in flows
            for topic in ("", *flow.topics)
            for at_s in range(until - 3600, until, 5)
        ),
    )


def add_route(now: datetime) -> None:
    """Let a route send everything to a channel: rounds write notices and deliveries."""
    from console.notifications.models import NotificationChannel, NotificationRoute

    told = {"name": "bench", "changed_at": now}
    channel = NotificationChannel.objects.create(**told, kind="email", address="ops@example.org")
    route = NotificationRoute.objects.create(**told, severity="info", wait_s=0)
    route.channels.add(channel)


def check(say: pages.Say, name: str, now: datetime, after_s: int = 0) -> dict[str, object]:
    """Run a round of all checks; its row says whether it was within the limits."""
    from console.checks.models import CheckRound
    from console.checks.round import due_checks, run_checks

    at = now + timedelta(seconds=after_s)
    due_checks(at)
    CheckRound.objects.update(claimed_until=None)
    row = partitions.timed(say, name, lambda: run_checks(1, lambda: at))
    if error := CheckRound.objects.get().error:
        raise RuntimeError(error)
    row["is_within"] = float(str(row["cpu_s"])) <= MOST_S and int(str(row["peak_mb"])) <= MOST_MB
    return row


def counted() -> dict[str, int]:
    from console.findings.models import Finding, Incident

    return {"open_findings": Finding.objects.filter(closed_at=None).count(),
            "incidents": Incident.objects.count()}  # fmt: skip

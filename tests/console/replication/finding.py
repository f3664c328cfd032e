"""Findings as rows, and two clusters that say what a test wants."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from console.clusters.models import Group, GroupOffset
from console.findings.models import Finding
from console.replication.findings.snapshot import FlowQueries
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Unreachable
from jobs.replication.findings.reading import WireAnswers
from jobs.replication.topics.drift import DriftReport
from jobs.severity import Severity
from tests.console.making import NOW

ORDERS = TopicPartition("orders", 0)


def make_finding(flow, code: str = "retention_loss", severity: str = "critical", **fields: Any):
    values = {
        "subject": "orders-0",
        "topic": "orders",
        "partition": 0,
        "sentence": "orders-0: up to 7 records were deleted.",
        "todo": "Raise retention.ms.",
        "evidence": {"offsets_lost_at_most": 7},
        "opened_at": NOW - timedelta(minutes=9),
        "last_seen_at": NOW,
    } | fields
    return Finding.objects.create(
        kind="flow", flow=flow, code=code, severity=severity, rank=Severity(severity).rank, **values
    )


def make_group_offset(cluster, group_id: str, topic: str, offset: int) -> None:
    group = Group.objects.get_or_create(
        cluster=cluster, group_id=group_id, defaults={"changed_at": NOW}
    )[0]
    GroupOffset.objects.create(
        group=group, topic=topic, partition=0, committed_offset=offset, changed_at=NOW
    )


def clusters_that_answer(wire=None, groups=(), drift=DriftReport("f"), asked=None):  # noqa: B008  frozen
    """Return queries with these answers, noted in `asked`; None instead of one is a cluster that is away."""
    asked = [] if asked is None else asked

    def answer(name, value, flow):
        asked.append(name)
        if value is None:
            raise Unreachable("no broker answered", cluster=flow.target.alias)
        return value

    return FlowQueries(
        wire=lambda flow, partitions, known, budget_s: replace(
            answer(("wire", known), wire or WireAnswers(), flow)
        ),
        groups=lambda flow, names: list(answer(("groups", *names), groups, flow)),
        drift=lambda flow: answer(("drift",), drift, flow),
    )

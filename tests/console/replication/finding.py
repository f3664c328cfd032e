"""Findings as rows, and two clusters that say what a test wants."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from console.clusters.models import Group, GroupOffset
from console.findings.models import Finding
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


class StubFindingDoor:
    """None instead of an answer is a cluster that is away."""

    def __init__(self, wire=None, groups=(), drift=DriftReport("f")) -> None:  # noqa: B008  frozen
        self._wire = WireAnswers() if wire is None else wire
        self._groups, self._drift = groups, drift
        self.asked: list[str] = []
        self.known: Any = None

    def wire(self, flow, partitions, known, budget_s):
        self.asked.append("wire")
        self.known = known
        return replace(self._wire)

    def groups(self, flow, groups):
        self.asked.append(f"groups {' '.join(groups)}")
        return list(self._answer(self._groups, flow))

    def drift(self, flow):
        self.asked.append("drift")
        return self._answer(self._drift, flow)

    def _answer(self, value, flow):
        if value is None:
            raise Unreachable("no broker answered", cluster=flow.target.alias)
        return value

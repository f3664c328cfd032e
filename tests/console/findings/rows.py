"""Rows of the table of findings: about a cluster, a quorum, a flow."""

from datetime import timedelta
from typing import Any

from console.clusters.models import Cluster
from console.findings.models import Finding, Kind
from console.quorum.models import MetadataLog
from console.replication.flows.models import ReplicationFlow
from jobs.severity import Severity
from tests.console.making import NOW

CODES = {Kind.FLOW: "retention_loss", Kind.QUORUM: "no_leader", Kind.OBSERVERS: "promotion_wanted"}


def make_row(scope: Cluster | MetadataLog | ReplicationFlow, severity="critical", **fields: Any):
    kind, name = {
        Cluster: (Kind.OBSERVERS, "cluster"),
        MetadataLog: (Kind.QUORUM, "log"),
        ReplicationFlow: (Kind.FLOW, "flow"),
    }[type(scope)]
    values = {
        "kind": kind,
        name: scope,
        "code": CODES[kind],
        "subject": "orders-0",
        "sentence": f"It is about {scope}.",
        "todo": "Read the log.",
        "evidence": {"records": 7},
        "opened_at": NOW - timedelta(minutes=9),
        "last_seen_at": NOW,
    } | fields
    return Finding.objects.create(severity=severity, rank=Severity(severity).rank, **values)


def make_import(name: str = "_old") -> MetadataLog:
    return MetadataLog.objects.create(cluster=None, name=name, source="import", created_at=NOW)

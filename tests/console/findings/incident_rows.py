"""Rows of incidents: about a cluster, a broker, partitions, a quorum, a flow, a group, crosslog itself."""

from datetime import timedelta
from typing import Any

from console.findings.incidents.models import Incident, IncidentEvent, Subject
from jobs.severity import Severity
from tests.console.making import NOW


def make_incident(
    kind: str = Subject.BROKER, subject: str = "3", severity: str = "critical", **fields: Any
) -> Incident:
    """Make an incident that is open since nine minutes, with the first event of its timeline."""
    values = {
        "key": f"{kind}:{subject}",
        "check_id": "broker_down",
        "title": f"{Subject(kind).label} {subject} is wrong",
        "sentence": f"{Subject(kind).label} {subject} is wrong: 2 partitions offline.",
        "todo": "Start the broker.",
        "effects": [{"check": "offline", "text": "2 partitions offline", "findings": 1}],
        "brokers": [3] if kind == Subject.BROKER else [],
        "began_at": NOW - timedelta(minutes=9),
        "opened_at": NOW - timedelta(minutes=8),
        "last_seen_at": NOW,
    } | fields
    row = Incident.objects.create(
        subject_kind=kind,
        subject=subject,
        severity=severity,
        rank=Severity(severity).rank,
        **values,
    )
    IncidentEvent.objects.create(incident=row, at=row.opened_at, kind="opened", text=row.sentence)
    return row


def resolved(minutes: int = 1) -> dict[str, Any]:
    """Return the fields of an incident that was resolved so long ago."""
    return {"state": "resolved", "ended_at": NOW - timedelta(minutes=minutes)}

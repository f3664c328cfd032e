"""Incidents, and many clusters and flows, for the tests of the overview."""

from datetime import datetime, timedelta

from console.clusters.models import Broker, Cluster, CollectionRound, Noun
from console.findings.incidents.models import Incident
from jobs.severity import Severity
from tests.console.making import NOW, make_cluster, make_flow


def make_rounds(cluster: Cluster, **fields) -> None:
    for noun in Noun:
        CollectionRound.objects.create(
            cluster=cluster, noun=noun, **({"succeeded_at": NOW} | fields)
        )


def make_incident(title: str = "Broker 3 of east is down", **fields) -> Incident:
    severity = fields.pop("severity", Severity.CRITICAL)
    began_at: datetime = fields.pop("began_at", NOW - timedelta(minutes=5))
    values = {
        "key": title,
        "subject_kind": "broker",
        "subject": "3",
        "check_id": "broker_down",
        "severity": severity.value,
        "rank": severity.rank,
        "title": title,
        "sentence": f"{title}: 2 partitions offline.",
        "todo": "Start broker 3.",
        "effects": [{"check": "at_min_isr", "text": "91 at min ISR", "findings": 1}],
        "brokers": [3],
        "began_at": began_at,
        "opened_at": began_at + timedelta(seconds=10),
        "last_seen_at": NOW,
    } | fields
    return Incident.objects.create(**values)


def make_brokers(cluster: Cluster, count: int = 3, down: tuple[int, ...] = ()) -> None:
    Broker.objects.bulk_create(
        Broker(
            cluster=cluster,
            broker_id=number,
            rack=f"dc-{'abc'[number % 3]}",
            is_live=number not in down,
            replica_count=60,
            changed_at=NOW,
        )
        for number in range(1, count + 1)
    )


def make_many(clusters: int, flows: int, incidents: int) -> None:
    """Make clusters `c00`... with three brokers each, flows between them, and incidents of them."""
    made = [make_cluster(f"c{number:02}") for number in range(clusters)]
    for cluster in made:
        make_rounds(cluster)
        make_brokers(cluster)
    for number in range(flows):
        ends = number % clusters, (number * 7 + 3) % clusters
        make_flow(f"flow-{number:02}", source=made[ends[0]].alias, target=made[ends[1]].alias)
    for number in range(incidents):
        severity = Severity.CRITICAL if number % 3 else Severity.WARNING
        make_incident(f"Incident {number}", cluster=made[number % clusters], severity=severity)

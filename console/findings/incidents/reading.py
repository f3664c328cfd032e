"""What a round of incidents reads: open findings, names, maintenance windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from console.clusters.models import Cluster
from console.findings.incidents.models import MaintenanceWindow
from console.findings.models import Finding
from jobs.checks.maintenance import Window
from jobs.checks.open_findings import Names, OpenFinding
from jobs.severity import Severity

_COLUMNS = (
    "id", "kind", "code", "severity", "sentence", "todo", "subject", "topic", "partition", "brokers",
    "evidence", "opened_at", "cluster_id", "flow_id", "log_id", "incident_id",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scopes:
    """Clusters, flows and metadata logs: their names, and the clusters of each."""

    names: Names
    enabled: frozenset[int]
    of_flow: dict[int, tuple[int, ...]] = field(default_factory=dict)
    of_log: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def clusters(self, cluster: int | None, flow: int | None, log: int | None) -> tuple[int, ...]:
        """Return the clusters of a scope; none for crosslog itself, and of an imported log."""
        if cluster is not None:
            return (cluster,)
        return self.of_flow.get(flow or 0, ()) or self.of_log.get(log or 0, ())


def read_scopes() -> Scopes:
    """Read all clusters, flows and logs; three queries."""
    clusters = list(Cluster.objects.values_list("pk", "alias", "is_enabled"))
    flows = list(_model("flow").objects.values_list("pk", "name", "source_id", "target_id"))
    logs = list(_model("log").objects.values_list("pk", "name", "cluster_id"))
    flows_of: dict[int, set[int]] = {}
    for pk, _, *ends in flows:
        for end in ends:
            flows_of.setdefault(end, set()).add(pk)
    names = Names(
        {pk: alias for pk, alias, _ in clusters},
        {pk: name for pk, name, *_ in flows},
        {pk: name for pk, name, _ in logs},
        {pk: frozenset(found) for pk, found in flows_of.items()},
    )
    return Scopes(
        names,
        frozenset(pk for pk, _, is_enabled in clusters if is_enabled),
        {pk: (source, target) for pk, _, source, target in flows},
        {pk: () if cluster is None else (cluster,) for pk, _, cluster in logs},
    )


def _model(scope: str) -> Any:
    """Return what a finding's scope leads to; rooms may not import each other."""
    return Finding._meta.get_field(scope).related_model


def read_open(scopes: Scopes, keys: dict[int, str]) -> tuple[list[OpenFinding], dict[int, int]]:
    """Return open findings of enabled clusters, and the incident that each has; `keys` are by incident.

    Findings of imported logs are left out: they are about the past.
    """
    found, incidents = list[OpenFinding](), dict[int, int]()
    rows = Finding.objects.filter(closed_at=None).order_by().values_list(*_COLUMNS)
    row: Sequence[Any]
    for row in rows.iterator(2_000):
        pk = row[0]
        cluster, flow, log, incident = row[12:]
        clusters = scopes.clusters(cluster, flow, log)
        if (log is not None and not clusters) or (
            flow is None and not scopes.enabled.issuperset(clusters)
        ):
            continue
        if incident is not None:
            incidents[pk] = incident
        found.append(
            OpenFinding(
                pk, row[1], row[2], Severity(row[3]), row[4], row[5], row[6], row[7], row[8],
                tuple(row[9]), row[10], row[11],
                cluster, flow, log, clusters, keys.get(incident, ""),
            )
        )  # fmt: skip
    return found, incidents


def read_windows() -> list[Window]:
    """Return all maintenance windows; one query."""
    columns = ("title", "starts_at", "duration_s", "cluster_id", "rrule", "time_zone")
    return [Window(*row) for row in MaintenanceWindow.objects.values_list(*columns)]

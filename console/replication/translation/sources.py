"""The flows that analyses can ask about."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from console.frame.security.access import visible
from console.replication.flows.models import ReplicationFlow
from console.replication.translation.translator import archive_of
from console.runs.analyses.sources import Source


def list_sources(user: Any) -> list[Source]:
    """Return the flows that a person may see, by name."""
    return [_source(flow) for flow in visible(user, _flows().order_by("name"))]


def get_source(name: str) -> Source | None:
    """Return a flow by its name; None when there is none."""
    flow = _flows().filter(name=name).first()
    return None if flow is None else _source(flow)


def subject_of(flow: ReplicationFlow) -> str:
    """Return what analyses of a flow's offset syncs are about."""
    return f"syncs:{flow.pk}"


def _flows() -> QuerySet[ReplicationFlow]:
    found = ReplicationFlow.objects.filter(deletion_asked_at=None)
    return found.select_related("source", "target")


def _source(flow: ReplicationFlow) -> Source:
    folder = archive_of(flow)

    def resource() -> dict[str, Any]:
        return {"flow": flow.spec().to_mapping(), "archive": str(folder)}

    clusters = (flow.source_id, flow.target_id)
    label = f"{flow.name} ({flow.source.alias} \N{RIGHTWARDS ARROW} {flow.target.alias})"
    return Source(flow.name, label, subject_of(flow), clusters, folder, resource)

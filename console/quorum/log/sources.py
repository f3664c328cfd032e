"""The metadata logs that analyses can ask about."""

from __future__ import annotations

from typing import Any

from console.frame.security.access import visible
from console.quorum.log.archives import archive_of
from console.quorum.models import MetadataLog
from console.runs.analyses.sources import Source


def list_sources(user: Any) -> list[Source]:
    """Return the logs that a person may see, by name."""
    return [_source(log) for log in visible(user, MetadataLog.objects.order_by("name"))]


def get_source(name: str) -> Source | None:
    """Return a log by its name; None when none is kept."""
    log = MetadataLog.objects.filter(name=name).first()
    return None if log is None else _source(log)


def _source(log: MetadataLog) -> Source:
    clusters = () if log.cluster_id is None else (log.cluster_id,)
    return Source(log.name, log.label, f"log:{log.pk}", clusters, archive_of(log))

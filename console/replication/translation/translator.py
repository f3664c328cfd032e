"""The translator of a flow from its archived offset syncs: only this file knows where the archive is."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from console.frame.errors import ActionRefused
from console.frame.security.access import visible
from console.replication.flows.models import ReplicationFlow
from console.runs.analyses.sources import Source
from jobs.archives import BadArchive
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.offset_syncs.archive_manifest import Manifest, read_manifest
from jobs.replication.translation.translator import Translator

LOOK_EVERY_S = 0.1


def archive_of(flow: ReplicationFlow) -> Path:
    """Return the folder of a flow's archived offset syncs; it may not be there yet."""
    return Path(settings.CROSSLOG_ARCHIVE) / "syncs" / str(flow.pk)


def open_flow_translator(flow: ReplicationFlow) -> Translator:
    """Return what the archive of a flow answers; without one, a translator that knows nothing.

    Raises `ActionRefused` when the archive is damaged.
    """
    try:
        return open_translator(archive_of(flow))
    except BadArchive as problem:
        text = f"The archive of offset syncs of flow {flow.name} cannot be read: {problem}"
        raise ActionRefused("bad_archive", text) from problem


def has_reached(flow: ReplicationFlow, topic: str, end: int, wait_s: float) -> bool:
    """Return whether the archive of a flow has everything before an offset of a topic, after a short wait."""
    ends_at = time.monotonic() + wait_s
    while True:
        with suppress(BadArchive):
            known = read_manifest(archive_of(flow)) or Manifest()
            is_same = known.source is not None and known.source.topic == topic
            if is_same and (known.next_offset or 0) >= end:
                return True
        if time.monotonic() > ends_at:
            return False
        time.sleep(LOOK_EVERY_S)


def archive_read_at_ms(flow: ReplicationFlow) -> int | None:
    """Return when the end of a flow's offset syncs was last reached (ms since 1970); None: never."""
    try:
        manifest = read_manifest(archive_of(flow))
    except BadArchive:
        return None
    return None if manifest is None else manifest.read_at_ms


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

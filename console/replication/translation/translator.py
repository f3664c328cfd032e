"""The translator of a flow from its archived offset syncs: only this file knows where the archive is."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from console.frame.errors import ActionRefused
from console.replication.flows.models import ReplicationFlow
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

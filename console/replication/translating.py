"""The translator of a flow from its archived offset syncs: only this file knows where the archive is."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from console.frame.errors import ActionRefused
from console.replication.models import ReplicationFlow
from jobs.archives import BadArchive
from jobs.replication.archive_manifest import read_manifest
from jobs.replication.sync_archive import open_translator
from jobs.replication.translator import Translator


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


def archive_read_at_ms(flow: ReplicationFlow) -> int | None:
    """Return when the end of a flow's offset syncs was last reached (ms since 1970); None: never."""
    try:
        manifest = read_manifest(archive_of(flow))
    except BadArchive:
        return None
    return None if manifest is None else manifest.read_at_ms

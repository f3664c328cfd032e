"""Where the archives of metadata logs are: for reading what was appended, and for analyses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings

from console.frame.security.access import visible
from console.quorum.models import MetadataLog
from console.runs.analyses.sources import Source
from jobs.quorum.history.histories import LogItem
from jobs.quorum.log.archive_manifest import Manifest, segment_name
from jobs.quorum.log.possible_times import with_possible_times
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord, read_log


def archive_of(log: MetadataLog) -> Path:
    """Return the folder of a log; it may not be there yet."""
    return Path(settings.CROSSLOG_ARCHIVE) / "metadata" / str(log.pk)


class Tail:
    """Reads what is appended to an archive's segments, from where it stopped; never a byte twice."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base: int | None = None
        self._position = 0

    def skip(self, manifest: Manifest) -> None:
        """Begin at the end of what the archive has now."""
        if manifest.segments:
            last = manifest.segments[-1]
            self._base, self._position = last.base_offset, last.size_bytes

    def read(self, manifest: Manifest) -> Iterator[LogItem]:
        """Yield the records of what was appended since, whole batches, and what is damaged of it."""
        return with_possible_times(self._read(manifest))

    def _read(self, manifest: Manifest) -> Iterator[LogRecord | LogDamage]:
        for segment in manifest.segments:
            if self._base is not None and segment.base_offset < self._base:
                continue
            start = self._position if segment.base_offset == self._base else 0
            if segment.size_bytes > start:
                with (self._folder / segment_name(segment.base_offset)).open("rb") as file:
                    file.seek(start)
                    content = file.read(segment.size_bytes - start)
                for item in read_log(content):
                    if isinstance(item, LogDamage):
                        yield replace(item, position=item.position + start, file=segment.file)
                    else:
                        yield item
            self._base, self._position = segment.base_offset, segment.size_bytes


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

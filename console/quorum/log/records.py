"""Raw records of the archive at an offset, and their changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from console.quorum.history import queries as history
from console.quorum.log import log_fold
from console.quorum.log.archives import archive_of
from console.quorum.log.gaps import gap_sentence, ranges
from console.quorum.models import MetadataChange, MetadataLog
from jobs.quorum.log.folder import BadFolder, read_folder
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord

MOST_CHANGES = 200
# Behind the offset nothing is looked for but a damage just before it.
_MOST_READ = 3


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record of the archive; `text` is its data as JSON."""

    offset: int
    epoch: int
    at: datetime | None
    batch_offset: int
    position: int
    is_control: bool
    type: str
    version: int
    data: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """What there is at an offset; `problem` says why there is none. `changes` are those that are stored."""

    records: list[RawRecord]
    changes: list[MetadataChange]
    before: int
    after: int
    problem: str = ""


def read_records(log: MetadataLog, offset: int) -> FoundRecords:
    """Return the records at an offset, and the stored changes."""
    rows = history.list_changes(log).filter(offset=offset).order_by("number")
    changes = list(rows[:MOST_CHANGES])
    history.with_previous(changes)
    records, problem = _raw(log, offset)
    neighbours = max(offset - 1, 0), min(offset + 1, 2**63 - 1)
    return FoundRecords(records, changes, *neighbours, problem)


def _raw(log: MetadataLog, offset: int) -> tuple[list[RawRecord], str]:
    """Return the record of an offset, or why there is none."""
    try:
        found = list(_at(log, offset))
    except (BadFolder, OSError):
        found = []
    records = [_record(one) for one in found if isinstance(one, LogRecord)]
    damage = [one.problem for one in found if isinstance(one, LogDamage)]
    if records:
        return records, ""
    return [], damage[0] if damage else _problem(log, offset)


def _at(log: MetadataLog, offset: int) -> Iterator[LogRecord | LogDamage]:
    if log.pk is None:
        return
    for item in islice(read_folder(archive_of(log)).records(offset), _MOST_READ):
        if isinstance(item, LogRecord) and item.offset == offset:
            yield item
            return
        if isinstance(item, LogDamage):
            yield item


def _record(one: LogRecord) -> RawRecord:
    return RawRecord(
        one.offset,
        one.epoch,
        log_fold.at(one.timestamp_ms),
        one.batch_offset,
        one.position,
        one.is_control,
        one.type,
        one.version,
        one.data,
        json.dumps(one.data, indent=2, ensure_ascii=False, default=str),
    )


def _problem(log: MetadataLog, offset: int) -> str:
    for gap, (start, end) in zip(log.gaps, ranges(log.gaps), strict=True):
        if start <= offset < end:
            return f"The record is missing in the archive. {gap_sentence(gap)}"
    if log.start_offset is None or offset < log.start_offset or offset >= log.next_offset:
        return f"The archive of {log.label} has no record at offset {offset:,}."
    return (
        f"The archive of {log.label} has no record at offset {offset:,} any more; a snapshot may have its "
        "result."
    )

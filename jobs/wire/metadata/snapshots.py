"""Snapshots of the metadata log: their names, the frame from header to footer, and how one is written.

Source: KIP-630, KIP-853; Snapshots, RecordsSnapshotReader and RecordsSnapshotWriter of
org.apache.kafka.snapshot. A snapshot's id is the offset behind its last record, and that record's epoch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.wire.batches.batch_search import ByteSource
from jobs.wire.batches.log_batches import BatchAt, LogDamage, scan_batches
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata.log import LogRecord, batch_records

_DIGITS, _EPOCH_DIGITS = 20, 10
_SNAPSHOT = re.compile(
    rf"([0-9]{{{_DIGITS}}})-([0-9]{{{_EPOCH_DIGITS}}})(?:-[^/]*)?\.checkpoint(\.part|\.deleted)?",
    re.ASCII,
)
_SEGMENT = re.compile(rf"([0-9]{{{_DIGITS}}})\.log", re.ASCII)
_LARGEST_OFFSET, _LARGEST_EPOCH = (1 << 63) - 1, (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class SnapshotName:
    """What a file's name says: it holds all before `offset`, the last of it from `epoch`.

    `is_partial` files were never finished, `is_deleted` ones wait for their removal: neither is to be read.
    """

    offset: int
    epoch: int
    is_partial: bool = False
    is_deleted: bool = False


def parse_snapshot_name(name: str) -> SnapshotName | None:
    """Return what the name of a snapshot says, None for any other file, `bootstrap.checkpoint` too."""
    found = _SNAPSHOT.fullmatch(name)
    if found is None:
        return None
    offset, epoch = int(found[1]), int(found[2])
    if offset > _LARGEST_OFFSET or epoch > _LARGEST_EPOCH:
        return None
    return SnapshotName(offset, epoch, found[3] == ".part", found[3] == ".deleted")


def parse_segment_name(name: str) -> int | None:
    """Return the base offset that a segment's name says, None for any other file."""
    found = _SEGMENT.fullmatch(name)
    return int(found[1]) if found and int(found[1]) <= _LARGEST_OFFSET else None


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """Whether a snapshot can be read, and the one time that it has.

    `problem` is None for a whole one. `last_contained_log_timestamp_ms` is that of the last record which it
    contains, None when there is no header. `batches` counts the sound ones.
    """

    problem: str | None
    last_contained_log_timestamp_ms: int | None = None
    batches: int = 0

    @property
    def contained_ms(self) -> int:
        """The time of all that is in it; 0 where it has none."""
        return max(0, self.last_contained_log_timestamp_ms or 0)


def check_snapshot(source: ByteSource) -> SnapshotCheck:
    """Say whether a snapshot is whole: a header first, a footer last, every batch sound in between.

    Reads the file once and keeps nothing. Raises nothing for what is in the bytes.
    """
    first: LogRecord | None = None
    last: LogRecord | None = None
    count = 0
    for found in scan_batches(source, expected_offset=0):
        if isinstance(found, LogDamage):
            return SnapshotCheck(f"at byte {found.position}: {found.problem}", _time(first), count)
        if last is not None and last.type == "SNAPSHOT_FOOTER":
            return SnapshotCheck("there are batches behind the footer", _time(first), count)
        count += 1
        ends = _ends(found) if found.header.is_control else (None, None)
        first, last = (ends[0] if count == 1 else first), ends[1]
        if first is None or first.type != "SNAPSHOT_HEADER":
            return SnapshotCheck("it does not begin with a snapshot header", None, count)
    if last is None or last.type != "SNAPSHOT_FOOTER":
        return SnapshotCheck("it has no footer: it was never finished", _time(first), count)
    return SnapshotCheck(None, _time(first), count)


def _ends(batch: BatchAt) -> tuple[LogRecord | None, LogRecord | None]:
    records = [found for found in batch_records(batch) if isinstance(found, LogRecord)]
    return (records[0], records[-1]) if records else (None, None)


def _time(header: LogRecord | None) -> int | None:
    return None if header is None else header.data.get("lastContainedLogTimestamp")


def read_bootstrap_features(records: Sequence[LogRecord | LogDamage]) -> dict[str, int]:
    """Return the feature levels of a `bootstrap.checkpoint`; raises `RecordFormatError` for damage."""
    features: dict[str, int] = {}
    for record in records:
        if isinstance(record, LogDamage):
            raise RecordFormatError("bootstrap.checkpoint", record.problem)
        if record.type == "FEATURE_LEVEL_RECORD":
            features[record.data["name"]] = record.data["featureLevel"]
    return features

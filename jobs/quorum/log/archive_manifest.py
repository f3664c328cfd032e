"""Manifest of an archive of a metadata log: its files, range and gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jobs.archives import load_manifest, values_of, write_manifest
from jobs.wire.batches.log_batches import DamageKind, LogDamage

VERSION = 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of whole batches without a hole: offsets from `base_offset` up to, not including, `end_offset`.

    Epochs are those of its first and last batch.
    """

    base_offset: int
    end_offset: int
    size_bytes: int
    first_epoch: int
    last_epoch: int

    @property
    def file(self) -> str:
        """The name that Kafka would give it."""
        return segment_name(self.base_offset)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of everything below `end_offset`; `epoch` is that of the last record in it."""

    end_offset: int
    epoch: int
    size_bytes: int

    @property
    def file(self) -> str:
        """The name that Kafka gives it."""
        return snapshot_name(self.end_offset, self.epoch)


@dataclass(frozen=True, slots=True)
class MissingRange:
    """Offsets from `from_offset` up to, not including, `to_offset` that are lost.

    `at_ms` is when that was seen (ms since 1970), `reason` a sentence.
    """

    from_offset: int
    to_offset: int
    reason: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """Bytes of an imported file that could not be read; none of them are in the archive.

    `position` is the byte of the file as it came. Offsets from `from_offset` up to, not including,
    `to_offset` are lost with them; None: not known, which at the end of the last file means that nothing
    behind it is. `kind` is a `DamageKind`, `problem` a part of a sentence.
    """

    file: str
    position: int
    kind: str
    problem: str
    from_offset: int | None
    to_offset: int | None

    @property
    def damage(self) -> LogDamage:
        """What a reader of the archive is to say of it."""
        kind, expected = DamageKind(self.kind), self.from_offset
        return LogDamage(self.position, None, kind, self.problem, self.file, expected)


@dataclass(frozen=True, slots=True)
class DroppedTail:
    """Offsets that were in the archive uncommitted, and that the quorum gave up: others stand there now."""

    from_offset: int
    to_offset: int
    last_epoch: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of an archive; every change replaces it whole.

    `identity` is another one when the archive was removed and begun again. Everything below `high_watermark`
    is committed for ever; None: not known, as for an imported folder. `leader_id` and `leader_epoch` are
    those that the log was last read from (None, 0: never). Times are ms since 1970: `newest_at_ms` of the
    newest batch, `read_at_ms` when the end of the log was last reached. `finding`: why nothing more can be
    appended. `damaged` is what could not be read of imported files, in the order of offsets.
    """

    identity: str = ""
    cluster_id: str | None = None
    segments: tuple[Segment, ...] = ()
    snapshots: tuple[Snapshot, ...] = ()
    missing: tuple[MissingRange, ...] = ()
    dropped: tuple[DroppedTail, ...] = ()
    high_watermark: int | None = None
    leader_id: int | None = None
    leader_epoch: int = 0
    newest_at_ms: int | None = None
    read_at_ms: int | None = None
    finding: str | None = None
    damaged: tuple[DamagedPlace, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the archive has no segment and no snapshot."""
        return not self.segments and not self.snapshots

    @property
    def log_start_offset(self) -> int | None:
        """The first offset that is known, by its record or by a snapshot of what was before it."""
        starts = [one.base_offset for one in self.segments[:1]]
        return min(starts + [one.end_offset for one in self.snapshots[:1]], default=None)

    @property
    def next_offset(self) -> int:
        """The offset to read next; 0 for an empty archive."""
        log_end = self.segments[-1].end_offset if self.segments else 0
        return max([log_end] + [one.end_offset for one in self.snapshots[-1:]])

    @property
    def last_epoch(self) -> int | None:
        """The epoch of the record before `next_offset`; None for an empty archive."""
        newest = self.snapshots[-1] if self.snapshots else None
        if newest and newest.end_offset == self.next_offset and not self._ends_with_log:
            return newest.epoch
        return self.segments[-1].last_epoch if self.segments else None

    @property
    def size_bytes(self) -> int:
        """The bytes of all segments and snapshots."""
        snapshots = sum(one.size_bytes for one in self.snapshots)
        return snapshots + sum(one.size_bytes for one in self.segments)

    @property
    def _ends_with_log(self) -> bool:
        return bool(self.segments) and self.segments[-1].end_offset == self.next_offset

    def save(self, folder: Path) -> None:
        """Put it into the folder of the archive."""
        # What readers in other languages would otherwise have to compute.
        computed = {"log_start_offset": self.log_start_offset, "next_offset": self.next_offset}
        write_manifest(folder, VERSION, values_of(self) | computed)


def segment_name(base_offset: int) -> str:
    """Return the name of a segment's file."""
    return f"{base_offset:020}.log"


def snapshot_name(end_offset: int, epoch: int) -> str:
    """Return the name of a snapshot's file."""
    return f"{end_offset:020}-{epoch:010}.checkpoint"


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of an archive; None where there is none yet. Raises `BadArchive`."""
    return load_manifest(folder, VERSION, _manifest)


def _manifest(values: dict[str, Any]) -> Manifest:
    for computed in ("log_start_offset", "next_offset"):
        values.pop(computed)
    return replace(
        Manifest(**values),
        segments=tuple(Segment(**one) for one in values["segments"]),
        snapshots=tuple(Snapshot(**one) for one in values["snapshots"]),
        missing=tuple(MissingRange(**one) for one in values["missing"]),
        dropped=tuple(DroppedTail(**one) for one in values["dropped"]),
        # Archives of earlier releases say nothing of it.
        damaged=tuple(DamagedPlace(**one) for one in values.get("damaged", ())),
    )

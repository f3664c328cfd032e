"""The folder of a metadata log: its files, and one history out of its segments and snapshots.

Source: KafkaMetadataLog, Snapshots and LogManager for the names of files; KIP-630 for which snapshot a
history begins with. Nothing is written; a running node may write to the folder meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from jobs.archives import MANIFEST, BadArchive
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.folder_records import FolderRecords, LogItem
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata import log_folder_files as small
from jobs.wire.metadata.log import read_log
from jobs.wire.metadata.snapshots import (
    parse_segment_name,
    parse_snapshot_name,
    read_bootstrap_features,
)

TOPIC_FOLDER = "__cluster_metadata-0"
BOOTSTRAP = "bootstrap.checkpoint"

_T = TypeVar("_T")


class BadFolder(ValueError):
    """A path that is no folder of a metadata log; the message is for people."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """A small file that cannot be read, or is left over; `problem` is for people."""

    file: str
    problem: str


@dataclass(frozen=True, slots=True)
class LogFolder:
    """The files of one replica's metadata log, as they were when the folder was listed.

    `segments` are in the order of their base offsets, `snapshots` are the finished ones in the order of
    theirs. `log_start_offset` is the first that the node itself still serves; segments may begin earlier.
    Small files are None or empty where they are absent or damaged; `findings` tells of the damage. `noted` is
    what an archive says was damaged where its files come from.
    """

    path: Path
    segments: tuple[SegmentFile, ...]
    snapshots: tuple[SnapshotFile, ...]
    log_start_offset: int
    quorum_state: small.QuorumState | None
    meta_properties: small.MetaProperties | None
    leader_epochs: tuple[small.EpochStart, ...]
    topic_id: str | None
    bootstrap_features: dict[str, int]
    findings: tuple[FileFinding, ...]
    noted: tuple[LogDamage, ...] = ()

    def records(self, from_offset: int | None = None) -> Iterator[LogItem]:
        """Yield one history: records in order, damage where it is met, gaps where offsets are missing.

        Without `from_offset` it begins with the oldest usable snapshot where the log does not begin at 0
        (with the one of offset 0 where it does). Behind a gap the next usable snapshot is yielded, too: it
        has the state there again. All records of a snapshot, from SNAPSHOT_HEADER to SNAPSHOT_FOOTER,
        have the offset before the snapshot's own, its epoch, and the time of the last record it contains.

        With `from_offset` it begins at that offset, with a gap if that is no longer there. What is not whole
        at the end of the last segment is yielded with `is_tail`: the node was writing it. Damage comes
        before the gap that it makes.
        """
        return FolderRecords(self.segments, self.snapshots, self.noted).read(from_offset)


def read_folder(path: Path) -> LogFolder:
    """Return what a folder holds: a `__cluster_metadata-0` folder or the log directory that it lies in.

    Reads names and small files only. Raises `BadFolder` where neither a segment nor a snapshot lies.
    """
    folder = path / TOPIC_FOLDER if (path / TOPIC_FOLDER).is_dir() else path
    try:
        names = sorted(entry for entry in folder.iterdir() if entry.is_file())
        segments, snapshots = _segments(names), _snapshots(names)
    except OSError as error:
        raise BadFolder(f"{path}: it cannot be listed: {error.strerror}") from None
    if not segments and not snapshots:
        raise BadFolder(
            f"{path}: there is neither a segment (20 digits and .log) nor a snapshot of a metadata log"
        )
    findings: list[FileFinding] = []
    epochs = _small(folder / "leader-epoch-checkpoint", small.decode_leader_epochs, findings) or ()
    topic = _small(folder / "partition.metadata", small.decode_partition_metadata, findings)
    beside = folder.parent if folder.name == TOPIC_FOLDER else folder
    return LogFolder(
        path=folder,
        segments=segments,
        snapshots=snapshots,
        log_start_offset=_log_start(segments, snapshots, epochs),
        quorum_state=_small(folder / "quorum-state", small.decode_quorum_state, findings),
        meta_properties=_small(beside / "meta.properties", small.decode_meta_properties, findings),
        leader_epochs=epochs,
        topic_id=None if topic is None else topic.topic_id,
        bootstrap_features=_small(beside / BOOTSTRAP, _features, findings) or {},
        noted=_noted(folder, findings),
        findings=(*findings, *_left_over(names)),
    )


def _noted(folder: Path, findings: list[FileFinding]) -> tuple[LogDamage, ...]:
    """Return what the manifest of an archive says was damaged; a node's folder has none."""
    try:
        manifest = read_manifest(folder)
    except (BadArchive, OSError) as error:
        findings.append(FileFinding(MANIFEST, str(error)))
        return ()
    return () if manifest is None else tuple(one.damage for one in manifest.damaged)


def _segments(names: list[Path]) -> tuple[SegmentFile, ...]:
    found = []
    for path in names:
        base_offset = parse_segment_name(path.name)
        if base_offset is not None:
            found.append(SegmentFile(path, base_offset, path.stat().st_size))
    return tuple(found)


def _snapshots(names: list[Path]) -> tuple[SnapshotFile, ...]:
    # Two of one offset are there after a divergence: the later epoch is the one that was agreed on.
    found: dict[int, SnapshotFile] = {}
    for path in names:
        name = parse_snapshot_name(path.name)
        if name is not None and not name.is_partial and not name.is_deleted:
            found[name.offset] = SnapshotFile(path, name.offset, name.epoch)
    return tuple(found[offset] for offset in sorted(found))


def _left_over(names: list[Path]) -> Iterator[FileFinding]:
    for path in names:
        name = parse_snapshot_name(path.name)
        if name is not None and name.is_partial:
            yield FileFinding(path.name, "a snapshot that was never finished; it is not read")


def _log_start(
    segments: tuple[SegmentFile, ...],
    snapshots: tuple[SnapshotFile, ...],
    epochs: tuple[small.EpochStart, ...],
) -> int:
    first = segments[0].base_offset if segments else snapshots[-1].offset
    if epochs:
        return max(first, epochs[0].start_offset)
    # A log that does not begin at 0 is served from the oldest snapshot on.
    behind = [snapshot.offset for snapshot in snapshots if snapshot.offset >= first]
    return behind[0] if behind and first > 0 else first


def _small(path: Path, decode: Callable[[bytes], _T], findings: list[FileFinding]) -> _T | None:
    """Read a small file; an absent one is None, a damaged one None and a finding."""
    try:
        with path.open("rb") as file:
            return decode(file.read(small.LARGEST_BYTES + 1))
    except FileNotFoundError:
        return None
    except OSError as error:
        findings.append(FileFinding(path.name, f"it cannot be read: {error.strerror}"))
    except RecordFormatError as error:
        findings.append(FileFinding(path.name, error.problem))
    return None


def _features(content: bytes) -> dict[str, int]:
    return read_bootstrap_features(list(read_log(content)))

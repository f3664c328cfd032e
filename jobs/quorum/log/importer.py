"""Takes a node's log folder into an archive, mounted, copied or unpacked; it may overlap or fill gaps.

A file does not say what of it was committed: only what a snapshot contains is sure. Whatever comes later may
be cut off again when the cluster is followed. What is damaged is left out and named in the manifest; what
is behind it is taken.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.archive_manifest import DamagedPlace, Manifest, MissingRange, Segment
from jobs.quorum.log.batches import Batch, LogBroken, Run, check_snapshot, hole_before_empty, mapped
from jobs.quorum.log.uploads import LOG_FOLDER
from jobs.wire.batches.log_batches import BytesSource, DamageKind, LogDamage, scan_batches

_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_NOWHERE = "No folder that was imported has these records, and they were not read from the cluster."
_CHUNK = 1 << 20
_MOST_PROBLEMS = 50
_OTHER = DamageKind.WRONG_EPOCH
# So many damaged places are kept one by one.
MOST_DAMAGED = 1_000


class NotALogFolder(ValueError):
    """A folder without a metadata log, or of another cluster than the archive; the message says which."""


class Imported(NamedTuple):
    """What an import brought: batches, their bytes, names of snapshots.

    `problems` are sentences about what could not be taken; `conflicts` counts batches that differ from those
    of the archive: normal above the high watermark, below it a replica of the log is corrupt. `tail` is a
    sentence about the unfinished end of the last segment, empty where there is none.
    """

    batches: int
    size_bytes: int
    snapshots: tuple[str, ...]
    problems: tuple[str, ...]
    conflicts: int
    tail: str = ""


def import_folder(source: Path, archive: LogArchive, *, now_ms: int) -> Imported:
    """Take what the archive lacks from a folder like a node's `__cluster_metadata-0`, or its parent.

    Raises `NotALogFolder`, also when nothing of it can be read and the archive is empty, and OSError when
    something cannot be read or written.
    """
    folder = _folder_of(source)
    _check_cluster(folder, archive)
    taking = _Import(archive, was_empty=archive.manifest.is_empty)
    for path, follower in pairwise([*_named(folder, _SEGMENT), None]):
        if path is not None:
            taking.take_segment(path, follower)
    snapshots = taking.take_snapshots(_named(folder, _SNAPSHOT))
    problems = tuple(taking.problems[:_MOST_PROBLEMS])
    if archive.manifest.is_empty:
        raise NotALogFolder(
            f"{source} has no record that can be read. {' '.join(problems[:1])}".strip()
        )
    archive.note(damaged=still_damaged(archive.manifest, taking.places))
    archive.note(missing=still_missing(archive.manifest, now_ms))
    archive.save()
    counts = taking.batches, taking.size_bytes, snapshots, problems, taking.conflicts
    return Imported(*counts, taking.tail)


def still_damaged(manifest: Manifest, new: Iterable[DamagedPlace]) -> tuple[DamagedPlace, ...]:
    """Return the damaged places whose offsets no segment has, and those that are not of offsets.

    Of too many, the last one kept is for all behind it.
    """
    places = {(one.file, one.position, one.kind): one for one in (*manifest.damaged, *new)}
    left = [one for one in places.values() if not _is_filled(one, manifest)]
    left.sort(key=lambda one: (-1 if one.from_offset is None else one.from_offset, one.position))
    if len(left) <= MOST_DAMAGED:
        return tuple(left)
    last, more = left[MOST_DAMAGED - 1], left[MOST_DAMAGED:]
    problem = f"{last.problem}; {len(more):,} more places behind it are damaged"
    return (*left[: MOST_DAMAGED - 1], replace(last, problem=problem, to_offset=more[-1].to_offset))


def _is_filled(place: DamagedPlace, manifest: Manifest) -> bool:
    """Whether another replica brought what was damaged; an unfinished end is over with later records."""
    start, end = place.from_offset, place.to_offset
    if place.kind == DamageKind.UNUSABLE_SNAPSHOT:
        return any(one.end_offset == start for one in manifest.snapshots)
    if start is None or (end is not None and end <= start):
        return False
    if end is None:
        return any(start < one.end_offset for one in manifest.segments[-1:])
    hole = MissingRange(start, end, "", 0)
    return not any(True for _ in _without(hole, manifest.segments))


def still_missing(manifest: Manifest, now_ms: int) -> tuple[MissingRange, ...]:
    """Return what is missing now: what was before without what has come, and the holes between segments."""
    known = manifest.segments
    left = [part for one in manifest.missing for part in _without(one, known)]
    for before, after in pairwise(known):
        reason = next(
            (
                f"{one.damage.sentence}."
                for one in manifest.damaged
                if one.from_offset is not None
                and before.end_offset <= one.from_offset < after.base_offset
            ),
            _NOWHERE,
        )
        hole = MissingRange(before.end_offset, after.base_offset, reason, now_ms)
        if hole.from_offset < hole.to_offset and not any(_overlap(hole, one) for one in left):
            left.append(hole)
    return tuple(sorted(left, key=lambda one: one.from_offset))


@dataclass(slots=True)
class _Import:
    """One folder on its way into an archive."""

    archive: LogArchive
    was_empty: bool
    batches: int = 0
    size_bytes: int = 0
    conflicts: int = 0
    problems: list[str] = field(default_factory=list)
    places: list[DamagedPlace] = field(default_factory=list)
    tail: str = ""
    _next_offset: int = 0
    _open: list[LogDamage] = field(default_factory=list)

    def take_segment(self, path: Path, follower: Path | None) -> None:
        """Take the batches of a segment that the archive lacks, in as few files as possible.

        `follower` is the segment behind it, None for the last.
        """
        content = mapped(path)
        run: Run | None = None
        for batch, end in self._lacking(path, follower, content):
            if run is not None and self._continues(run, batch, end):
                run.add(batch, end)
                continue
            self._put(path, run, content)
            run = Run.of(batch, end)
        self._put(path, run, content)

    def _continues(self, run: Run, batch: Batch, end: int) -> bool:
        is_behind = run.end == end - len(batch.content)
        follows = is_behind and run.last.next_offset == batch.header.base_offset
        # Where the epoch falls another history begins, which `_put` judges by itself.
        follows = follows and run.last.partition_leader_epoch <= batch.epoch
        return follows and end - run.start <= self.archive.segment_bytes

    def take_snapshots(self, paths: list[Path]) -> tuple[str, ...]:
        """Take the snapshots with which stretches of the log begin, and one that is ahead of it.

        What snapshots contain is committed, also where they are not needed.
        """
        found, taken = [], []
        for path in paths:
            end, epoch = _snapshot_of(path)
            try:
                check_snapshot(path)
            except LogBroken as error:
                problem, kind = str(error).rstrip("."), DamageKind.UNUSABLE_SNAPSHOT
                self._note(LogDamage(0, None, kind, problem, path.name, end), None)
                continue
            found.append(end)
            if self._needs(end, path == paths[-1]):
                self.archive.add_snapshot(end, epoch, _pieces(path))
                taken.append(path.name)
        mark = self.archive.manifest.high_watermark
        self.archive.note(high_watermark=max([*found, *([mark] if mark else [])], default=mark))
        return tuple(taken)

    def _needs(self, end_offset: int, is_newest: bool) -> bool:  # noqa: FBT001  named by its only caller
        known = self.archive.manifest
        if any(one.end_offset == end_offset for one in known.snapshots):
            return False
        if not known.segments or end_offset > known.segments[-1].end_offset:
            return is_newest
        start, end = _stretch(known.segments, end_offset)
        return not any(start <= one.end_offset <= end for one in known.snapshots)

    def _lacking(
        self, path: Path, follower: Path | None, content: memoryview
    ) -> Iterator[tuple[Batch, int]]:
        """Yield the batches that the archive does not have, and where they end.

        What differs from the archive is a conflict, and not taken; what is damaged is noted.
        """
        covered, begin = _Covered(self.archive), int(path.stem)
        after = None if follower is None else int(follower.stem)
        self._next_offset = begin
        for found in scan_batches(BytesSource(content), expected_offset=begin):
            if isinstance(found, LogDamage):
                self._damaged(replace(found, file=path.name), after)
                continue
            self._close(found.header.base_offset)
            self._next_offset = found.header.next_offset
            batch = Batch(found.header, found.content)
            same = covered.has(batch)
            if same is None:
                yield batch, found.position + found.header.size_bytes
            elif not same:
                self._conflict(path, batch, found.position)
        if not self._open and after is not None and after > self._next_offset:
            self._open += hole_before_empty(path, follower, self._next_offset)
        self._close(after)

    def _damaged(self, found: LogDamage, follower: int | None) -> None:
        """Take note of damage; how far it reaches shows the next batch."""
        found = replace(found, expected=self._next_offset)
        if not found.is_tail:
            self._open.append(found)
        elif follower is None or follower <= self._next_offset:
            self.tail = found.sentence
            self.places.append(_place(found, None))
        else:
            self._open.append(replace(found, kind=DamageKind.CUT_OFF))

    def _close(self, to_offset: int | None) -> None:
        """Say up to where the damage reached that was met."""
        for one in self._open:
            self._note(one, to_offset)
        self._open.clear()

    def _note(self, damage: LogDamage, to_offset: int | None) -> None:
        self.places.append(_place(damage, to_offset))
        self.problems.append(f"{damage.sentence}.")

    def _conflict(self, path: Path, batch: Batch, position: int) -> None:
        self.conflicts += 1
        offset, mark = batch.header.base_offset, self.archive.manifest.high_watermark
        if self.was_empty:
            problem = (
                f"the batch at offset {offset} is another one in a segment before, and left out"
            )
            self._note(
                LogDamage(position, offset, DamageKind.WRONG_OFFSET, problem, path.name), None
            )
        if mark is not None and offset < mark:
            self.problems.append(
                f"{path.name}: the batch at offset {offset} is another one in the archive, below the high "
                f"watermark {mark}: one of the two replicas is corrupt, or the folder is of another cluster."
            )

    def _put(self, path: Path, run: Run | None, content: memoryview) -> None:
        if run is None:
            return
        known, part = self.archive.manifest, content[run.start : run.end]
        if not _fits(run, known.segments):
            self.conflicts += run.batches
            start, end = run.first.base_offset, run.last.next_offset
            problem = (
                f"Offsets {start} to {end - 1} have epochs that do not fit "
                "those around them in the archive: they are of another history, and left out"
            )
            self._note(LogDamage(run.start, start, _OTHER, problem, path.name, start), end)
            return
        if known.is_empty or run.first.base_offset == known.next_offset:
            self.archive.append(part, high_watermark=None)
        else:
            self.archive.insert_segment(run, part)
        self.batches += run.batches
        self.size_bytes += run.size_bytes


class _Covered:
    """The batches of an archive beside those of a segment: both are in order, each is looked at once."""

    def __init__(self, archive: LogArchive) -> None:
        self._archive = archive
        self._segments = deque(archive.manifest.segments)
        self._batches: Iterator[Batch] = iter(())
        self._segment: Segment | None = None
        self._batch: Batch | None = None

    def has(self, batch: Batch) -> bool | None:
        """Return whether the archive has this very batch; None: nothing at its offsets."""
        start = batch.header.base_offset
        while self._segments and self._segments[0].end_offset <= start:
            self._segments.popleft()
        if not self._segments or self._segments[0].base_offset >= batch.end_offset:
            return None
        if self._segments[0] is not self._segment:
            self._segment, self._batch = self._segments[0], None
            self._batches = iter(self._archive.batches(self._segment))
        while self._batch is None or self._batch.header.base_offset < start:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return False
        return self._batch.header == batch.header


def _folder_of(source: Path) -> Path:
    for folder in (source / LOG_FOLDER, source):
        if folder.is_dir() and (_named(folder, _SEGMENT) or _named(folder, _SNAPSHOT)):
            return folder
    raise NotALogFolder(
        f"{source} has no segment (20 digits and .log) and no snapshot (.checkpoint) of a metadata log: "
        f"give the folder {LOG_FOLDER} of a node's metadata.log.dir."
    )


def _check_cluster(folder: Path, archive: LogArchive) -> None:
    """Refuse another cluster's folder, as far as `meta.properties` tells whose it is."""
    found = cluster_id_of(folder)
    known = archive.manifest.cluster_id
    if found and known and found != known:
        raise NotALogFolder(f"{folder} belongs to cluster {found}, and the archive to {known}.")
    if found:
        archive.note(cluster_id=found)


def cluster_id_of(folder: Path) -> str | None:
    """Return the id in the `meta.properties` beside or above a log folder; None where there is none."""
    for path in (folder.parent / "meta.properties", folder / "meta.properties"):
        try:
            lines = path.read_text(encoding="utf-8")[:_CHUNK].splitlines()
        except (OSError, UnicodeDecodeError):
            continue
        found = next((line[11:].strip() for line in lines if line.startswith("cluster.id=")), None)
        if found:
            return found
    return None


def _named(folder: Path, form: re.Pattern[str]) -> list[Path]:
    return sorted(path for path in folder.iterdir() if form.fullmatch(path.name) and path.is_file())


def _snapshot_of(path: Path) -> tuple[int, int]:
    end, epoch = path.name.removesuffix(".checkpoint").split("-")
    return int(end), int(epoch)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            yield piece


def _place(damage: LogDamage, to_offset: int | None) -> DamagedPlace:
    where = damage.file or "", damage.position
    return DamagedPlace(*where, damage.kind.value, damage.problem, damage.expected, to_offset)


def _stretch(segments: Iterable[Segment], offset: int) -> tuple[int, int]:
    """Return the unbroken range of offsets around an offset; only the offset itself where there is none."""
    start = end = -1
    for segment in segments:
        if segment.base_offset != end:
            if start <= offset <= end:
                break
            start = segment.base_offset
        end = segment.end_offset
    return (start, end) if start <= offset <= end else (offset, offset)


def _without(missing: MissingRange, segments: Iterable[Segment]) -> Iterator[MissingRange]:
    """Yield what is left of a missing range when these segments are there."""
    start, end = missing.from_offset, missing.to_offset
    for segment in segments:
        if segment.end_offset <= start or segment.base_offset >= end:
            continue
        if start < segment.base_offset:
            yield MissingRange(start, segment.base_offset, missing.reason, missing.at_ms)
        start = segment.end_offset
    if start < end:
        yield MissingRange(start, end, missing.reason, missing.at_ms)


def _fits(run: Run, segments: Iterable[Segment]) -> bool:
    """Return whether epochs never fall from the archive to a run and back."""
    before, after = run.first.partition_leader_epoch, run.last.partition_leader_epoch
    return all(
        segment.last_epoch <= before
        if segment.end_offset <= run.first.base_offset
        else segment.first_epoch >= after
        for segment in segments
    )


def _overlap(one: MissingRange, other: MissingRange) -> bool:
    return one.from_offset < other.to_offset and other.from_offset < one.to_offset

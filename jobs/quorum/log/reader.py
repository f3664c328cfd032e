"""Reads the metadata log of a live cluster into an archive, one request at a time, wherever it begins.

Uncommitted records are held back: they are fetched again until they are committed, or another leader has
others at their offsets. Where the controllers deleted records before they were read, a snapshot has their
result, and the archive notes the gap.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from jobs.cluster.admin.controllers import Controllers
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.cluster.protocol.data.fetch import EpochEnd
from jobs.cluster.protocol.data.metadata_log import (
    LogAnswer,
    LogPosition,
    SnapshotGone,
    SnapshotId,
    SnapshotPiece,
    fetch_log,
    fetch_snapshot,
)
from jobs.quorum.log.archive import CommittedCut, LogArchive
from jobs.quorum.log.archive_manifest import MissingRange
from jobs.quorum.log.batches import LogBroken, whole_batches

# Measured: a batch is committed 33 ms after it was appended.
COMMIT_S = 0.03
WAIT_MS = 500
# A snapshot's epoch is that of the record before it: the one of the log's first batch, or a few less.
_EPOCHS_TRIED = 8
# Who folds an archive begins with its newest snapshot: a quiet cluster writes as much as this in six days.
SNAPSHOT_EVERY = 1_000_000
# Controllers take snapshots on their own schedule: crosslog checks for a new one at this interval.
_ASK_SNAPSHOT_S = 600.0
_DELETED = (
    "The controllers had deleted these records (metadata.max.retention.*) before they were read."
)
_UNSERVED = "Controllers do not serve offset 0 any more once there is a snapshot."


class LogDiverged(ClusterFault):
    """The cluster's log has other records, or none, where the archive has committed ones."""

    code = "log_diverged"
    remedy = Remedy.FINAL
    hint = (
        "Committed records were lost: a majority of voters lost its disks, or it is another cluster. "
        "Keep this archive as evidence, and start a new one in another folder."
    )


class LogDamaged(ClusterFault):
    """The leader served bytes that cannot be the log's; nothing of them is kept."""

    code = "log_damaged"
    remedy = Remedy.RETRY
    hint = "crosslog fetches it again. If it lasts, the disk of the leader or the network to it is damaged."


class Step(NamedTuple):
    """What a request brought: batches and their bytes, a snapshot, missing offsets; or nothing.

    `is_at_end`: everything that was committed is in the archive.
    """

    is_at_end: bool
    batches: int = 0
    size_bytes: int = 0
    snapshot: SnapshotId | None = None
    missing: MissingRange | None = None
    dropped_from: int | None = None


class LogReader:
    """Reads from the end of the archive."""

    def __init__(
        self,
        controllers: Controllers,
        archive: LogArchive,
        *,
        now_s: Callable[[], float] = time.time,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self._controllers = controllers
        self._archive = archive
        self._now_s = now_s
        self._snapshot_every = snapshot_every
        self._asked_snapshot_s = -_ASK_SNAPSHOT_S
        controllers.know_epoch(archive.manifest.last_epoch or 0)

    async def step(self, *, wait_ms: int = WAIT_MS) -> Step:
        """Fetch once (at the start and after a loss several times) and keep the answer.

        Raises `ClusterFault`, retriable without a leader, `LogDiverged` when committed records were lost,
        and OSError when the archive cannot be written.
        """
        known = self._archive.manifest
        answer = await self._ask(LogPosition(known.next_offset, known.last_epoch), wait_ms)
        if known.is_empty and answer.snapshot is not None:
            # Controllers name a snapshot for offset 0 even where they still have it.
            answer = await self._ask(LogPosition(1), wait_ms)
        if answer.diverging is not None and not known.is_empty:
            return self._cut(answer.diverging)
        if answer.snapshot is not None:
            return await self._start_over(answer, answer.snapshot)
        step = await self._keep(answer)
        if step.is_at_end and self._is_snapshot_due():
            return step._replace(snapshot=await self._take_newest())
        return step

    def _is_snapshot_due(self) -> bool:
        known = self._archive.manifest
        begins = known.log_start_offset or 0
        newest = max((one.end_offset for one in known.snapshots), default=begins)
        is_long = known.next_offset - newest >= self._snapshot_every
        return is_long and self._now_s() - self._asked_snapshot_s >= _ASK_SNAPSHOT_S

    async def _take_newest(self) -> SnapshotId | None:
        """Put the quorum's newest snapshot beside what the archive has; None when there is no new one."""
        self._asked_snapshot_s = self._now_s()
        # Controllers name it in the answer to a fetch at offset 0.
        newest = (await self._ask(LogPosition(0), 0)).snapshot
        known = self._archive.manifest
        has = {one.end_offset for one in known.snapshots}
        if newest is None or newest.end_offset in has or newest.end_offset > known.next_offset:
            return None
        try:
            await self._take(newest)
        except SnapshotGone:
            return None
        return newest

    async def _ask(self, position: LogPosition, wait_ms: int = WAIT_MS) -> LogAnswer:
        cluster_id = self._controllers.connection.cluster_id
        return await self._controllers.ask(
            lambda connection: fetch_log(
                connection,
                position,
                self._controllers.leader_epoch,
                cluster_id=cluster_id,
                max_wait_ms=wait_ms,
            )
        )

    async def _keep(self, answer: LogAnswer) -> Step:
        """Append what is committed; where nothing is yet, leave the quorum the time for it."""
        was_empty = self._archive.manifest.is_empty
        try:
            appended = self._archive.append(
                answer.records, high_watermark=answer.high_watermark or 0
            )
        except LogBroken as error:
            raise self._damaged(str(error)) from None
        missing = self._note_beginning() if was_empty else None
        self._note(answer.high_watermark, answer.leader_id)
        if appended.is_held_back and not appended.batches:
            await asyncio.sleep(COMMIT_S)
        committed = answer.high_watermark
        is_at_end = committed is not None and self._archive.manifest.next_offset >= committed
        if is_at_end:
            self._archive.note(read_at_ms=self._now_ms())
        return Step(is_at_end, appended.batches, appended.size_bytes, missing=missing)

    def _note(self, high_watermark: int | None, leader_id: int | None) -> None:
        """Note what the leader said; a new one may know a lower high watermark, but it never falls."""
        known = self._archive.manifest
        marks = [mark for mark in (known.high_watermark, high_watermark) if mark is not None]
        self._archive.note(
            high_watermark=max(marks, default=None),
            leader_id=leader_id,
            leader_epoch=self._controllers.leader_epoch,
        )

    def _note_beginning(self) -> MissingRange | None:
        """Say that offset 0 could not be had, as in a quorum whose first batch is a single record."""
        start = self._archive.manifest.log_start_offset
        return self._miss(0, start, _UNSERVED) if start else None

    async def _start_over(self, answer: LogAnswer, newest: SnapshotId) -> Step:
        """Take a snapshot where the log begins now: the one right there, else the newest."""
        known = self._archive.manifest
        found = await self._snapshot_at(answer.log_start_offset, newest)
        if found is None:
            found = newest
            await self._take(newest)
        self._note(found.end_offset, answer.leader_id)
        missing = None
        if not known.is_empty and found.end_offset > known.next_offset:
            missing = self._miss(known.next_offset, found.end_offset, _DELETED)
        self._archive.save()
        return Step(is_at_end=False, snapshot=found, missing=missing)

    async def _snapshot_at(self, start: int, newest: SnapshotId) -> SnapshotId | None:
        """Return the snapshot at the start of the log when it could be taken.

        From there on the log has more than the newest snapshot. No answer has its epoch.
        """
        if not self._archive.manifest.next_offset < start < newest.end_offset:
            return None
        # Right at its start a log is served to those alone who know the snapshot's epoch.
        answer = await self._ask(LogPosition(start + 1), 0)
        first = next(whole_batches(answer.records), None)
        if first is None:
            return None
        for epoch in range(first.epoch, max(-1, first.epoch - _EPOCHS_TRIED), -1):
            try:
                await self._take(SnapshotId(start, epoch))
            except SnapshotGone:
                continue
            return SnapshotId(start, epoch)
        return None

    async def _take(self, snapshot: SnapshotId) -> None:
        """Put a snapshot into the archive once all its pieces are there."""
        with tempfile.TemporaryFile(dir=self._archive.folder) as pieces:
            await self._download(snapshot, pieces)
            pieces.seek(0)
            try:
                self._archive.add_snapshot(*snapshot, _pieces(pieces))
            except LogBroken as error:
                raise self._damaged(str(error)) from None

    async def _download(self, snapshot: SnapshotId, pieces: IO[bytes]) -> None:
        position, size = 0, 1
        while position < size:
            piece = await self._piece(snapshot, position)
            if not piece.content:
                raise self._damaged(f"The snapshot {snapshot} ends at byte {position}.")
            position, size = position + pieces.write(piece.content), piece.size

    async def _piece(self, snapshot: SnapshotId, position: int) -> SnapshotPiece:
        cluster_id = self._controllers.connection.cluster_id
        return await self._controllers.ask(
            lambda connection: fetch_snapshot(
                connection,
                snapshot,
                self._controllers.leader_epoch,
                position,
                cluster_id=cluster_id,
            )
        )

    def _cut(self, diverging: EpochEnd) -> Step:
        """Cut off what the quorum gave up; raises `LogDiverged` when that was committed."""
        known = self._archive.manifest
        agreed = self._archive.end_of_epoch(diverging.leader_epoch)
        end = min(diverging.end_offset, agreed)
        try:
            self._archive.truncate(end, at_ms=self._now_ms())
        except CommittedCut as error:
            self._archive.note(finding=str(error))
            raise LogDiverged(str(error), cluster=self._cluster) from None
        return Step(is_at_end=False, dropped_from=min(end, known.next_offset))

    def _miss(self, from_offset: int, to_offset: int, reason: str) -> MissingRange:
        missing = MissingRange(from_offset, to_offset, reason, self._now_ms())
        self._archive.note_missing(missing)
        return missing

    def _damaged(self, why: str) -> LogDamaged:
        return LogDamaged(f"The leader's answer is refused: {why}", cluster=self._cluster)

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)

    @property
    def _cluster(self) -> str:
        return self._controllers.connection.alias


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(1 << 20):
        yield piece

"""Reads the records of a metadata log, one by one, into the parts of a voter timeline. Pure.

This file is about places: which record follows which, what is missing, what was overwritten, and whose
epoch it is. What the control records say is read in `controls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.quorum.timeline.clock import LogClock, Tick
from jobs.quorum.timeline.controls import LEADER_CHANGE, TimelineControls
from jobs.quorum.timeline.parts import AnomalyCode, ControllerGap, EpochSpan
from jobs.quorum.voters.control_scan import ControlItem
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch

Placed = LogRecord | PassedBatch

SNAPSHOT_HEADER, SNAPSHOT_FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"


@dataclass(slots=True)
class _OpenEpoch:
    """The epoch that records are read of."""

    epoch: int
    leader_id: int | None
    first: tuple[int, int]
    last: tuple[int, int]

    def closed(self) -> EpochSpan:
        return EpochSpan(
            self.epoch, self.leader_id, self.first[0], self.last[0], self.first[1], self.last[1]
        )


class TimelineReader(TimelineControls):
    """Takes records in the order of the log; its lists are the parts of a timeline."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[EpochSpan] = []
        self.silences: list[ControllerGap] = []
        self.unknown: list[tuple[int, int]] = []
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        # Whether what is behind the last record that was read is damaged.
        self.is_cut_short = False
        self._clock = LogClock()
        self._open: _OpenEpoch | None = None
        # Of the snapshot that is being read: its control records, and its last record so far.
        self._snapshot: list[LogRecord] | None = None
        self._in_snapshot: LogRecord | None = None

    def take(self, item: ControlItem) -> None:
        """Take the next record, damage or gap."""
        if isinstance(item, Gap):
            self._miss(item.from_offset, item.to_offset)
        elif isinstance(item, LogDamage):
            self.anomalies.damage(item)
            is_behind = item.expected is None or item.expected >= (self.next_offset or 0)
            self.is_cut_short |= item.may_lose_records and is_behind
        elif isinstance(item, PassedBatch):
            self._end_snapshot()
            self._take(item)
        elif item.is_control and item.type == SNAPSHOT_HEADER:
            self._end_snapshot()
            self._snapshot, self._in_snapshot = [item], item
        elif self._snapshot is not None and not self._is_behind_snapshot(item):
            self._in_snapshot = item
            self._snapshot += [item] if item.is_control else []
        else:
            self._end_snapshot()
            self._take(item)

    def finish(self) -> None:
        """Say that there is no more."""
        self._end_snapshot()
        self._settle_static()
        self._close_epoch()
        # The first silences were judged before the usual distance was known.
        self.silences = [one for one in self.silences if self._clock.is_long(one.gap_ms)]

    def _take(self, record: Placed) -> None:
        if not self._is_next(record):
            return
        tick = self._clock.tick(record.offset, record.epoch, record.timestamp_ms, record.type)
        self._judge(record, tick)
        previous = self._open.leader_id if self._open else None
        skipped = self._follow_epoch(record)
        self._settle_static(unless_in=record.batch_offset)
        if isinstance(record, LogRecord) and record.is_control:
            self.control(record, gap_ms=tick.gap_ms, previous=previous, skipped=skipped)
        if record.type == LEADER_CHANGE and self._open and self.elections:
            self._open.leader_id = self.elections[-1].leader_id
        if isinstance(record, PassedBatch) and record.end_ms is not None and self._open:
            self._clock.move_to(record.end_offset - 1, record.end_ms)
            self._open.last = (record.end_offset - 1, record.end_ms)

    def _is_behind_snapshot(self, item: LogRecord) -> bool:
        """Say whether a record is no longer one of the snapshot's, which all have one offset."""
        last = self._in_snapshot
        return last is None or last.type == SNAPSHOT_FOOTER or item.offset != last.offset

    def _end_snapshot(self) -> None:
        """Take a snapshot that was read; the log continues after the offset of its records."""
        records, self._snapshot = self._snapshot, None
        if records is None:
            return
        end = records[0].offset + 1
        if self.next_offset is not None:
            self._miss(self.next_offset, end)
        self._settle_static()
        self.snapshot(records)
        self.next_offset, self.is_cut_short = max(self.next_offset or 0, end), False
        self._clock.forget()

    def _is_next(self, record: Placed) -> bool:
        """Say whether a record belongs here, after reporting what is wrong with its place."""
        expected = self.next_offset
        if self.first_offset is None:
            self.first_offset = record.offset
        if expected is None:
            self.knows_beginning = record.offset == 0
        elif record.offset > expected:
            self._miss(expected, record.offset)
        elif record.offset < expected and not self._overwrites(record, expected):
            return False
        self.next_offset, self.is_cut_short = _end(record), False
        return True

    def _miss(self, start: int, end: int) -> None:
        """Remember missing records; a repeated gap counts once."""
        start = start if self.next_offset is None else max(start, self.next_offset)
        if end <= start:
            return
        self.unknown.append((start, end))
        self.anomalies.add(
            AnomalyCode.UNKNOWN_RANGE,
            None,
            f"The records from offset {start} to {end - 1} are missing: their changes are unknown.",
            from_offset=start,
            to_offset=end,
        )
        self._settle_static()
        self._close_epoch()
        self._clock.forget()
        self.is_after_gap = True
        self.next_offset = end
        if self.first_offset is None:
            self.first_offset = end

    def _overwrites(self, record: Placed, expected: int) -> bool:
        """Cut off records that a later epoch overwrote; other records that go backwards are skipped."""
        epoch = self._last_epoch()
        if epoch is None or record.epoch <= epoch:
            self.anomalies.add(
                AnomalyCode.WRONG_ORDER,
                record,
                f"The record at offset {record.offset} (epoch {record.epoch}) follows offset "
                f"{expected - 1} (epoch {epoch}): it is skipped.",
                expected=expected,
            )
            return False
        self.anomalies.add(
            AnomalyCode.TAIL_OVERWRITTEN,
            record,
            f"Epoch {record.epoch} overwrote the records from offset {record.offset} to {expected - 1}: the "
            "old ones were never committed.",
            from_offset=record.offset,
            to_offset=expected,
        )
        self._cut(record.offset)
        return True

    def _cut(self, offset: int) -> None:
        self._settle_static()
        self._close_epoch()
        self.cut(offset)
        while self.epochs and self.epochs[-1].first_offset >= offset:
            self.epochs.pop()
        if self.epochs and self.epochs[-1].last_offset >= offset:
            last = self.epochs.pop()
            first = (last.first_offset, last.first_ms)
            cut = _OpenEpoch(last.epoch, last.leader_id, first, (offset - 1, last.last_ms))
            self.epochs.append(cut.closed())
        self.silences = [silence for silence in self.silences if silence.to_offset < offset]

    def _last_epoch(self) -> int | None:
        if self._open:
            return self._open.epoch
        return self.epochs[-1].epoch if self.epochs else None

    def _judge(self, record: Placed, tick: Tick) -> None:
        before = tick.before
        if before is None:
            return
        if tick.is_silence:
            here, at_ms = record.offset, record.timestamp_ms
            is_election = before.epoch != record.epoch
            self.silences.append(
                ControllerGap(before.offset, here, before.at_ms, at_ms, is_election)
            )
        if tick.is_backwards:
            back_ms = before.at_ms - record.timestamp_ms
            whose = "the leader's own clock was set back" if before.epoch == record.epoch else (
                "the clocks of the two leaders differ by at least that"
            )  # fmt: skip
            self.anomalies.add(
                AnomalyCode.CLOCK_BACKWARDS,
                record,
                f"The record is dated {back_ms} ms before the one in front of it: {whose}.",
                back_ms=back_ms,
                before_epoch=before.epoch,
            )

    def _follow_epoch(self, record: Placed) -> int:
        """Begin or continue an epoch; returns how many were skipped."""
        here = (record.offset, record.timestamp_ms)
        last_here = (_end(record) - 1, record.timestamp_ms)
        if self._open and self._open.epoch == record.epoch:
            self._open.last = last_here
            if record.type == LEADER_CHANGE and record.is_control:
                self._out_of_place(record)
            return 0
        last = self._last_epoch()
        is_continued = self._open is not None
        self._close_epoch()
        self._open = _OpenEpoch(record.epoch, None, here, last_here)
        return self._judge_epoch(record, last) if is_continued and last is not None else 0

    def _judge_epoch(self, record: Placed, last: int) -> int:
        if record.epoch < last:
            self.anomalies.add(
                AnomalyCode.WRONG_ORDER,
                record,
                f"The epoch went back from {last} to {record.epoch} at offset {record.offset}.",
                last_epoch=last,
            )
            return 0
        if record.type != LEADER_CHANGE:
            self.anomalies.add(
                AnomalyCode.EPOCH_WITHOUT_LEADER_CHANGE,
                record,
                f"Epoch {record.epoch} begins at offset {record.offset} without a LEADER_CHANGE record.",
            )
        skipped = record.epoch - last - 1
        if skipped:
            self.anomalies.add(
                AnomalyCode.EPOCH_JUMP,
                record,
                f"The epoch went from {last} to {record.epoch}: {skipped} in between had no leader "
                "that wrote, so elections failed.",
                last_epoch=last,
                skipped=skipped,
            )
        return skipped

    def _out_of_place(self, record: Placed) -> None:
        self.anomalies.add(
            AnomalyCode.LEADER_CHANGE_OUT_OF_PLACE,
            record,
            f"A LEADER_CHANGE record is at offset {record.offset}, in the middle of epoch {record.epoch}.",
        )

    def _close_epoch(self) -> None:
        if self._open:
            self.epochs.append(self._open.closed())
            self._open = None


def _end(record: Placed) -> int:
    """Return the offset behind a record, or behind a skipped batch."""
    return record.end_offset if isinstance(record, PassedBatch) else record.offset + 1

"""Times of a metadata log: silences without a controller, clocks that go backwards. Pure.

Times order nothing: each batch carries the wall clock of the controller that was active. An
idle controller writes a NoOpRecord every `metadata.max.idle.interval.ms` (500 ms by default), so a much
longer distance between two records says that no controller was active. The usual distance in this log is
measured, because the setting may be another one, or 0 (then nothing is said).
"""

from __future__ import annotations

from typing import NamedTuple

NO_OP = "NO_OP_RECORD"
DEFAULT_IDLE_MS = 500
# Below this, a distance is no silence: a busy machine writes late.
SHORTEST_SILENCE_MS = 1_500
_TIMES_THE_USUAL = 3
_BUCKET_MS, _BUCKETS = 100, 600
_ENOUGH = 20
# Batches of one controller are dated when their buffer was opened, so that they may stand crosswise a little.
CROSSWISE_MS = 100


class RecordTime(NamedTuple):
    """A record's place and time."""

    offset: int
    epoch: int
    at_ms: int


class Tick(NamedTuple):
    """What a record's time says, against the one before it: both None for the first.

    A named tuple: one is made for every record of a log.
    """

    before: RecordTime | None
    gap_ms: int | None
    is_silence: bool
    is_backwards: bool


class LogClock:
    """Reads the times of a log's records in their order; memory does not grow with the log."""

    def __init__(self) -> None:
        self._last: RecordTime | None = None
        self._distances = [0] * (_BUCKETS + 1)
        self._measured = 0
        self._last_was_noop = False

    @property
    def usual_ms(self) -> int:
        """Return how far apart NoOp records usually are; the default until enough of them were seen."""
        if self._measured < _ENOUGH:
            return DEFAULT_IDLE_MS
        seen, half = 0, self._measured // 2
        for bucket, count in enumerate(self._distances):
            seen += count
            if seen > half:
                return (bucket + 1) * _BUCKET_MS
        return DEFAULT_IDLE_MS

    def forget(self) -> None:
        """Restart after missing records: a distance across them has no meaning."""
        self._last, self._last_was_noop = None, False

    def tick(self, offset: int, epoch: int, at_ms: int, type_: str) -> Tick:
        """Take the next record's time."""
        last, is_noop = self._last, type_ == NO_OP
        gap = None if last is None else at_ms - last.at_ms
        is_silence = gap is not None and self.is_long(gap)
        same = last is not None and last.epoch == epoch
        if gap is not None and gap >= 0 and same and is_noop and self._last_was_noop:
            self._measure(gap)
        backwards = gap is not None and gap < (-CROSSWISE_MS if same else 0)
        self._last, self._last_was_noop = RecordTime(offset, epoch, at_ms), is_noop
        return Tick(last, gap, is_silence, backwards)

    def move_to(self, offset: int, at_ms: int) -> None:
        """Pass by records of the same epoch between which nothing is to be said, up to this one."""
        if self._last is not None:
            self._last = RecordTime(offset, self._last.epoch, at_ms)

    def is_long(self, gap_ms: int) -> bool:
        """Say whether a distance is a silence, by what is usual so far; never without NoOp records."""
        if gap_ms <= SHORTEST_SILENCE_MS or not self._measured:
            return False
        return gap_ms > _TIMES_THE_USUAL * self.usual_ms

    def _measure(self, gap_ms: int) -> None:
        self._distances[min(gap_ms // _BUCKET_MS, _BUCKETS)] += 1
        self._measured += 1

"""The newest state of every partition of a running flow, gathered from its tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.transport.timing import LASTING_S
from jobs.replication.copy.contract import CopyState
from jobs.spark.flow_driver.eta import Headway, eta_s, flow_eta_s

RATE_WINDOW_S = 10.0
# A rate is a fact only after this long: before, a partition counts as unknown.
KNOWN_AFTER_S = 5.0
MOST_FINDINGS = 20
MOST_NAMED = 10
# What all of Kafka's names for such refusals end with.
DENIED = "AUTHORIZATION_FAILED"
CLOSED = (CopyState.FAILED, CopyState.STOPPED)
RESTING = (*CLOSED, CopyState.PAUSED)

Row = dict[str, Any]


class _Sample(NamedTuple):
    """What was known at a moment (monotonic seconds)."""

    at_s: float
    records: int
    bytes: int
    position: int
    end_offset: int


class _Denied(NamedTuple):
    """Since when (monotonic seconds) a partition is refused at a position, and the right that is missing."""

    since_s: float
    position: int
    right: str


class ProgressTable:
    """Keeps one row per partition and works out rates; safe to use from several threads.

    Counts and findings survive a restart of the tasks and a move to another task: `records` and `bytes`
    count since the run began. `ends` are offsets at which the run is to end; without them it follows the
    source. What is worked out of a row stays until it changes, or time changes its rate: `version` grows.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[TopicPartition, Row] = {}
        self._before: dict[TopicPartition, tuple[int, ...]] = {}
        self._findings: dict[TopicPartition, tuple[str, ...]] = {}
        self._samples: dict[TopicPartition, list[_Sample]] = {}
        self._denied: dict[TopicPartition, _Denied] = {}
        self._source_ends: dict[TopicPartition, int] = {}
        # Rows that changed, rows whose rate changes with time, and what was worked out of all.
        self._stale: set[TopicPartition] = set()
        self._moving: set[TopicPartition] = set()
        self._worked_out_s = 0.0
        self._known_rates: dict[TopicPartition, float] = {}
        self._behind: dict[TopicPartition, Headway] = {}
        self._order: list[TopicPartition] = []
        self.version = 0
        self.ends: Mapping[TopicPartition, int] | None = None

    def resume(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take the rows that a run before had; the counts of those that begin continue."""
        with self._lock:
            self._rows = {where_of(row): dict(row) for row in rows}

    def start(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Begin with these partitions (after a plan); rows of others are forgotten."""
        with self._lock:
            old, self._rows = self._rows, {}
            self._known_rates, self._behind, self._order = {}, {}, []
            for row in rows:
                self._begin(dict(row), old.get(where_of(row)))

    def add(self, row: Mapping[str, Any]) -> None:
        """Begin with a partition, again or for the first time: its copier counts from 0."""
        with self._lock:
            self._begin(dict(row), self._rows.get(where_of(row)))

    def _begin(self, row: Row, old: Row | None) -> None:
        where = where_of(row)
        self._before[where] = tuple(old[name] for name in _COUNTS) if old else _NOTHING
        self._findings[where] = tuple(old["findings"]) if old else ()
        row.update(zip(_COUNTS, self._before[where], strict=True))
        row["findings"] = self._findings[where]
        if old is not None and row["last_timestamp_ms"] is None:
            row["last_timestamp_ms"] = old["last_timestamp_ms"]
        if old is not None and row["position"] < old["position"]:  # another topic of the same name
            self._source_ends.pop(where, None)
            self._samples.pop(where, None)
        if where not in self._rows:
            self._order = []
        self._rows[where] = row
        self._stale.add(where)

    def forget(self, where: TopicPartition) -> None:
        """Show a partition no longer."""
        with self._lock:
            if self._rows.pop(where, None) is not None:
                self._order = []
                self._stale.add(where)

    def update(self, rows: Iterable[Mapping[str, Any]], now_s: float) -> None:
        """Take a report of a task; `now_s` is a monotonic clock in seconds."""
        with self._lock:
            for row in rows:
                where = where_of(row)
                if where in self._rows:
                    self._take(where, {**self._rows[where], **row}, now_s)

    def _take(self, where: TopicPartition, row: Row, now_s: float) -> None:
        for name, before in zip(_COUNTS, self._before[where], strict=True):
            row[name] += before
        known = (*self._findings[where], *row["findings"])
        row["findings"] = tuple(dict.fromkeys(known))[-MOST_FINDINGS:]
        if row["last_timestamp_ms"] is None:
            row["last_timestamp_ms"] = self._rows[where]["last_timestamp_ms"]
        if row["end_offset"] is not None:
            self._source_ends[where] = row["end_offset"]
        self._rows[where] = row
        self._note_denied(where, row, now_s)
        self._sample(where, now_s)

    def _note_denied(self, where: TopicPartition, row: Row, now_s: float) -> None:
        """Between two tries nothing refuses it: only a record that got through, or the end, says more."""
        known = self._denied.get(where)
        is_over = row["state"] == CopyState.CAUGHT_UP or (
            known and row["position"] > known.position
        )
        if is_over:
            self._denied.pop(where, None)
        if right := row.get("denied"):
            since_s = now_s if known is None or is_over else known.since_s
            self._denied[where] = _Denied(since_s, row["position"], right)

    def deny(self, where: TopicPartition, right: str, now_s: float) -> None:
        """Note that a whole task is refused, with this partition; `right` is what its cluster said."""
        with self._lock:
            if where in self._rows:
                self._note_denied(where, {**self._rows[where], "denied": right}, now_s)

    def know_ends(self, ends: Mapping[TopicPartition, int], now_s: float) -> None:
        """Take where the source ends, from a survey."""
        with self._lock:
            for where, end in ends.items():
                before = self._source_ends.get(where)
                self._source_ends[where] = max(end, before or 0)
                if where in self._rows and self._source_ends[where] != before:
                    self._sample(where, now_s)

    def _sample(self, where: TopicPartition, now_s: float) -> None:
        row = self._rows[where]
        end = self._source_ends.get(where, int(row["position"]))
        sample = _Sample(now_s, row["records"], row["bytes"], row["position"], end)
        samples = self._samples.setdefault(where, [])
        self._stale.add(where)
        if not samples or samples[-1][1:] != sample[1:]:  # what is the same says nothing new
            samples.append(sample)

    def mark(self, where: TopicPartition, state: CopyState, reason: str = "") -> None:
        """Say what happens to a partition that no task reports now."""
        with self._lock:
            self._mark([where], state, reason, but=())

    def mark_open(self, where: TopicPartition, state: CopyState, reason: str) -> None:
        """Say it of a partition unless that has failed, or waits for something else."""
        with self._lock:
            self._mark([where], state, reason, but=RESTING)

    def _mark(
        self, these: Iterable[TopicPartition], state: CopyState, reason: str, but: Sequence[str]
    ) -> None:
        for where in these:
            row = self._rows.get(where)
            if row is not None and row["state"] not in but:
                row["state"], row["reason"] = state.value, reason
                self._stale.add(where)

    def rows(self, now_s: float) -> list[Row]:
        """Return all rows by topic and partition, with rates over the last seconds and what is left.

        They are the table's own: a row that does not change is the same object again.
        """
        with self._lock:
            self._work_out(now_s)
            self._order = self._order or sorted(self._rows)
            return [self._rows[where] for where in self._order]

    def _work_out(self, now_s: float) -> None:
        """Work out what has changed since the last time; with fixed ends all of it."""
        due, self._stale = self._stale, set()
        if now_s != self._worked_out_s:
            due |= self._moving
        if due and self.ends is not None:
            due |= self._rows.keys()
        self.version += bool(due)
        self._worked_out_s = now_s
        for where in due:
            rate = self._rate(where, now_s)
            samples = self._samples.get(where) or []
            is_known = bool(samples) and now_s - samples[0].at_s >= KNOWN_AFTER_S
            is_moving = len(samples) > 1 or (bool(samples) and not is_known)
            (self._moving.add if is_moving else self._moving.discard)(where)
            self._known_rates.pop(where, None)
            self._behind.pop(where, None)
            row = self._rows.get(where)
            if row is None:
                self._moving.discard(where)
                continue
            if is_known:
                self._known_rates[where] = rate.bytes
            headway, is_resting = self._headway(where, rate), row["state"] in RESTING
            if headway.left != 0 and not is_resting:
                self._behind[where] = headway
            end = self._source_ends.get(where)
            row["rate_per_s"], row["bytes_per_s"] = round(rate.records, 3), round(rate.bytes, 3)
            row["end_offset"] = end
            row["lag"] = None if end is None else max(end - row["position"], 0)
            row["eta_s"] = None if is_resting else eta_s(headway)

    def eta_s(self, now_s: float) -> float | None:
        """Return in how many seconds the flow has copied what is left, None when that is unknown."""
        with self._lock:
            self._work_out(now_s)
            return flow_eta_s(self._behind.values())

    def _headway(self, where: TopicPartition, rate: _Rate) -> Headway:
        position = self._rows[where]["position"]
        if self.ends is None:
            end = self._source_ends.get(where)
            return Headway(None if end is None else max(end - position, 0), rate.position, rate.end)
        return Headway(max(self.ends.get(where, 0) - position, 0), rate.position)

    def rates(self, now_s: float) -> dict[TopicPartition, float]:
        """Return bytes per second of the partitions that were watched for long enough."""
        with self._lock:
            self._work_out(now_s)
            return dict(self._known_rates)

    def lags(self) -> dict[TopicPartition, int]:
        """Return how many offsets partitions are behind, where that is known."""
        with self._lock:
            return {
                where: max(self._source_ends[where] - row["position"], 0)
                for where, row in self._rows.items()
                if where in self._source_ends
            }

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed positions that tasks told of these partitions."""
        with self._lock:
            return {w: self._rows[w]["position"] for w in partitions if w in self._rows}

    def _rate(self, where: TopicPartition, now_s: float) -> _Rate:
        samples = self._samples.get(where)
        if not samples:
            return _STILL
        while len(samples) > 1 and samples[1].at_s <= now_s - RATE_WINDOW_S:
            del samples[0]
        first, last = samples[0], samples[-1]
        elapsed_s = min(now_s - first.at_s, RATE_WINDOW_S)
        if elapsed_s <= 0 or first is last:
            return _STILL
        return _Rate(
            (last.records - first.records) / elapsed_s,
            (last.bytes - first.bytes) / elapsed_s,
            (last.position - first.position) / elapsed_s,
            (last.end_offset - first.end_offset) / elapsed_s,
        )

    def is_finished(self, ends: Mapping[TopicPartition, int], now_s: float | None = None) -> bool:
        """Return whether every partition that can be copied has reached its end offset.

        At `now_s` (monotonic) one that was refused for `LASTING_S` cannot be copied; None: refusals may end.
        """
        with self._lock:
            return all(
                where in self._rows
                and (
                    self._rows[where]["state"] in CLOSED
                    or self._rows[where]["position"] >= end
                    or self._is_denied(where, now_s)
                )
                for where, end in ends.items()
            )

    def _is_denied(self, where: TopicPartition, now_s: float | None) -> bool:
        known = self._denied.get(where)
        return known is not None and now_s is not None and now_s - known.since_s >= LASTING_S

    def why_short(self, ends: Mapping[TopicPartition, int]) -> str | None:
        """Return why not everything up to the ends is copied, with the partitions; None when it is."""
        short = self.short_of(ends)
        if not short:
            return None
        with self._lock:
            denied = [(w, self._denied[w].right) for w in map(where_of, short) if w in self._denied]
        told = [row["reason"] for row in short if where_of(row) not in dict(denied)][:1]
        if denied:
            places = ", ".join(str(where) for where, _ in denied[:MOST_NAMED])
            more = f" and {len(denied) - MOST_NAMED} more" if len(denied) > MOST_NAMED else ""
            rights = ", ".join(sorted({right for _, right in denied})[:MOST_NAMED])
            told.append(
                f"{len(denied)} of {len(ends)} partitions are not replicated, access was denied for "
                f"{LASTING_S:.0f} s: {places}{more}. Give the principal the missing right: {rights}."
            )
        return " ".join(told)

    def short_of(self, ends: Mapping[TopicPartition, int]) -> list[Row]:
        """Return the rows of partitions that have not reached their end offset, or have failed there."""
        with self._lock:
            rows = [(self._rows[where], end) for where, end in ends.items() if where in self._rows]
            return [
                dict(row)
                for row, end in rows
                if row["position"] < end or row["state"] == CopyState.FAILED
            ]

    def failed(self) -> list[Row]:
        """Return the rows of partitions that cannot be copied."""
        with self._lock:
            return [dict(row) for row in self._rows.values() if row["state"] in CLOSED]

    def closed(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return those of these partitions that cannot be copied."""
        with self._lock:
            return [w for w in partitions if w in self._rows and self._rows[w]["state"] in CLOSED]

    def fail_all_open(self, state: CopyState, reason: str) -> None:
        """Mark every partition that is not failed or paused, for example while a cluster is away."""
        with self._lock:
            self._mark(self._rows, state, reason, but=RESTING)


class _Rate(NamedTuple):
    """Per second."""

    records: float
    bytes: float
    position: float
    end: float


_STILL = _Rate(0.0, 0.0, 0.0, 0.0)
# What a copier counts from 0 each time it takes a partition on.
_COUNTS = ("records", "bytes", "batches", "packed", "retries", "commits", "duplicates")
_NOTHING = (0,) * len(_COUNTS)


def where_of(row: Mapping[str, Any]) -> TopicPartition:
    """Return the partition of a row."""
    return TopicPartition(row["topic"], row["partition"])

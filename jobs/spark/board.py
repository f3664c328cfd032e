"""The newest state of every partition of a running flow, gathered from its tasks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from jobs.replication.copier import PartitionState

RATE_WINDOW_S = 10.0

Row = dict[str, Any]


class Board:
    """Keeps one row per partition and works out rates; safe to use from several threads.

    Counts survive a restart of the tasks: `records` and `bytes` count since the run began.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], Row] = {}
        self._before: dict[tuple[str, int], tuple[int, int]] = {}
        self._samples: dict[tuple[str, int], deque[tuple[float, int]]] = {}

    def start(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Begin with these partitions (after a plan); rows of others are forgotten."""
        with self._lock:
            old = self._rows
            self._before = {key: (row["records"], row["bytes"]) for key, row in old.items()}
            self._rows = {(row["topic"], row["partition"]): dict(row) for row in rows}
            for key, row in self._rows.items():
                row["records"], row["bytes"] = self._before.get(key, (0, 0))
                if row["last_timestamp_ms"] is None and key in old:
                    row["last_timestamp_ms"] = old[key]["last_timestamp_ms"]

    def update(self, rows: Iterable[Mapping[str, Any]], now_s: float) -> None:
        """Take a report of a task; `now_s` is a monotonic clock in seconds."""
        with self._lock:
            for row in rows:
                key = (row["topic"], row["partition"])
                if key in self._rows:
                    self._take(key, dict(row), now_s)

    def _take(self, key: tuple[str, int], row: Row, now_s: float) -> None:
        records, size = self._before.get(key, (0, 0))
        row["records"] += records
        row["bytes"] += size
        if row["last_timestamp_ms"] is None:
            row["last_timestamp_ms"] = self._rows[key]["last_timestamp_ms"]
        self._rows[key] = row
        self._samples.setdefault(key, deque()).append((now_s, row["records"]))

    def rows(self, now_s: float) -> list[Row]:
        """Return all rows by topic and partition, each with `rate_per_s` over the last seconds."""
        with self._lock:
            return [
                {**row, "rate_per_s": self._rate(key, now_s)}
                for key, row in sorted(self._rows.items())
            ]

    def _rate(self, key: tuple[str, int], now_s: float) -> float:
        samples = self._samples.get(key)
        if not samples:
            return 0.0
        while len(samples) > 1 and samples[1][0] <= now_s - RATE_WINDOW_S:
            samples.popleft()
        (since, first), (_, last) = samples[0], samples[-1]
        elapsed = min(now_s - since, RATE_WINDOW_S)
        return round((last - first) / elapsed, 3) if elapsed > 0 else 0.0

    def is_finished(self, ends: Mapping[tuple[str, int], int]) -> bool:
        """Return whether every partition that can go on has reached its end offset."""
        with self._lock:
            return all(
                row["state"] in (PartitionState.FAILED, PartitionState.STOPPED)
                or row["position"] >= ends.get(key, 0)
                for key, row in self._rows.items()
            )

    def failed(self) -> list[Row]:
        """Return the rows of partitions that cannot go on."""
        with self._lock:
            states = (PartitionState.FAILED, PartitionState.STOPPED)
            return [dict(row) for row in self._rows.values() if row["state"] in states]

    def fail_all_open(self, state: PartitionState, reason: str) -> None:
        """Mark every partition that is not failed already, for example while a cluster is away."""
        with self._lock:
            for row in self._rows.values():
                if row["state"] not in (PartitionState.FAILED, PartitionState.STOPPED):
                    row["state"], row["reason"] = state.value, reason

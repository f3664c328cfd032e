"""Checkpoints beside a running flow: rounds in a thread of their own, with connections of their own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.checkpoints.clusters import FlowClusters
from jobs.replication.checkpoints.rounds import CheckpointReport, CheckpointRounds
from jobs.replication.flow.spec import FlowSpec

logger = logging.getLogger(__name__)

TIMEOUT_S = 20.0
# After a round that failed: clusters come back sooner than the next round is due.
AGAIN_S = 5.0
_JOIN_S = 10.0


class CheckpointThread:
    """Does rounds while the block runs; what goes wrong is in the report, and the next round tries again.

    `after` is the thread of the settings before: the first round waits for its last one, which may hang
    for longer than its block; written later than a newer one, its checkpoints would fall.
    """

    def __init__(
        self,
        flow: FlowSpec,
        clock: Callable[[], float] = time.monotonic,
        after: CheckpointThread | None = None,
    ) -> None:
        self._flow = flow
        self._clock = clock
        self._after = after
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._shown: dict[str, Any] | None = None
        self._thread = threading.Thread(
            target=self._work, name=f"{flow.name}: checkpoints", daemon=True
        )

    def __enter__(self) -> Self:
        if self._flow.emit_checkpoints_interval_s:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            # A round that waits for a cluster is not waited for: it is safe to end anywhere.
            self._thread.join(_JOIN_S)

    def wait(self) -> None:
        """Wait until the last round is over, also that of the threads before."""
        if self._thread.ident is not None:
            self._thread.join()
        elif self._after is not None:
            self._after.wait()

    def to_mapping(self) -> dict[str, Any] | None:
        """Return the report of the rounds as JSON values; None before the first one."""
        with self._lock:
            return self._shown

    def _work(self) -> None:
        flow = self._flow
        if self._after is not None:
            self._after.wait()
            self._after = None
        with (
            ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
            ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
        ):
            rounds = TimedRounds(flow, FlowClusters(flow, source, target), self._clock)
            while not self._over.is_set():
                pause_s = rounds.run()
                with self._lock:
                    self._shown = rounds.report.to_mapping()
                self._over.wait(pause_s)


class TimedRounds:
    """Rounds one after the other, which say when the next one is due."""

    def __init__(
        self,
        flow: FlowSpec,
        clusters: FlowClusters,
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._flow = flow
        self._clock = clock
        self._now_ms = now_ms
        self._rounds = CheckpointRounds(flow, clusters)
        self._sync_at = clock()

    @property
    def report(self) -> CheckpointReport:
        """What came of the rounds so far."""
        return self._rounds.report

    def run(self) -> float:
        """Do a round, whatever comes of it; returns after how many seconds the next one is due."""
        flow, began_at = self._flow, self._clock()
        is_sync_due = flow.sync_group_offsets and began_at >= self._sync_at
        try:
            self._rounds.run(self._now_ms(), sync_groups=is_sync_due)
        except Exception as error:  # noqa: BLE001  the round ends here, and the report tells it
            logger.warning("no checkpoints flow=%s error=%s", flow.name, error)
            hint = getattr(error, "hint", "")
            self.report.fault = f"{error} {hint}".strip() or type(error).__name__
            if isinstance(error, ClusterFault) and not error.retriable:
                return flow.emit_checkpoints_interval_s
            return min(AGAIN_S, flow.emit_checkpoints_interval_s)
        if is_sync_due:
            self._sync_at = began_at + flow.sync_group_offsets_interval_s
        return max(began_at + flow.emit_checkpoints_interval_s - self._clock(), 0.0)

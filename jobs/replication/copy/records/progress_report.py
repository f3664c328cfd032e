"""Tells about once a second how the partitions of a copier are doing."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import SecretReplaced
from jobs.replication.copy.contract import PartitionProgress, Report
from jobs.replication.copy.quotas import Throttle
from jobs.replication.copy.records.partition import CopiedPartition

REPORT_INTERVAL_S = 0.5
PROBE_INTERVAL_S = 2.0
PATIENCE_S = 3.0


class ProgressReport:
    """Reports what has changed, and looks after clusters that do not answer."""

    def __init__(
        self,
        parts: Collection[CopiedPartition],
        clusters: Sequence[ClusterClient],
        report: Report,
        throttle: Throttle,
    ) -> None:
        self.throttle = throttle
        self.quota_ms = 0
        self._parts = parts
        self._clusters = clusters
        self._report = report
        self._told: dict[tuple[str, int], PartitionProgress] = {}
        self._tell_at = 0.0
        self._probe_at = 0.0
        self._away = ""

    def held_back(self, seconds: float) -> None:
        """Note that a broker throttled the client so long, because a quota was used up."""
        self.quota_ms += round(seconds * 1000)

    def tick(self, waited_s: float = 0.0) -> None:
        """Report when it is time; `waited_s` is how long the target has not acknowledged anything.

        Raises `ClusterFault` when a cluster has become one that must not be used.
        """
        now = time.monotonic()
        if now < self._tell_at:
            return
        self._tell_at = now + REPORT_INTERVAL_S
        if now >= self._probe_at:
            self._probe_at = now + PROBE_INTERVAL_S
            self._away = self._look()
        slow = f"The target has not acknowledged for {waited_s:.0f} s." if waited_s else ""
        self.tell(self._away or (slow if waited_s > PATIENCE_S else ""))

    def tell(self, away: str = "") -> None:
        """Report the partitions that look different from the last report."""
        changed = []
        for part in self._parts:
            progress = replace(
                part.progress(away), throttled_ms=self.throttle.rested_ms, quota_ms=self.quota_ms
            )
            where = (progress.topic, progress.partition)
            if self._told.get(where) != progress:
                self._told[where] = progress
                changed.append(progress)
        if changed:
            self._report(changed)

    def forget(self, where: tuple[str, int]) -> None:
        """Report everything again when this partition comes back."""
        self._told.pop(where, None)

    def _look(self) -> str:
        """Ask clusters that something was heard about: one broken connection is no lost cluster."""
        for cluster in self._clusters:
            fault = cluster.fault()
            if fault is not None and (not fault.retriable or isinstance(fault, SecretReplaced)):
                raise fault
            if fault is not None:
                return f"{fault} {fault.hint}"
        return ""

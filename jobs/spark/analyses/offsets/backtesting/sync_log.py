"""The archived offset syncs, partition by partition, with their times."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs import archive
from jobs.spark.analyses.offsets.backtesting.judging import Syncs
from jobs.spark.analyses.offsets.backtesting.truth import Int64s


class SyncLog(Protocol):
    """The offset syncs of an archive."""

    @property
    def names(self) -> frozenset[TopicPartition]:
        """The source partitions."""

    def rows(self, where: TopicPartition) -> Syncs:
        """Return the syncs of a partition in the order of the log."""


def open_sync_log(folder: Path) -> SyncLog:
    """Return the syncs of an archive; raises `BadArchive`."""
    opened: Any = getattr(archive, "open_parts", _Runs)(folder)
    found: SyncLog = opened
    return found


# Below: until `open_parts` is there, which knows the times.
class _Rows(NamedTuple):
    upstream: Int64s
    downstream: Int64s
    hole: Int64s
    follows_upstream: Int64s
    follows_downstream: Int64s
    at_ms: Int64s


class _Runs:
    def __init__(self, folder: Path) -> None:
        self._table = archive.read_all_runs(folder)
        self.names = frozenset(self._table.names)

    def rows(self, where: TopicPartition) -> Syncs:
        rows = self._table.rows()
        names = list(self._table.names)
        number = names.index(where) if where in names else -1
        found = rows.pick(rows.partition == number)
        return _Rows(*found[1:], np.full(len(found.upstream), -1, np.int64))

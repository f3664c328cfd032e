"""The open stretches of partitions while news are taken in: those to be written, and those that ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from console.availability.collection.status_rows import PartitionUpdate
from console.availability.status.models import OutOfSyncSpan, SeveritySpan
from console.clusters.collection.rows import BATCH, insert, update
from console.clusters.models import Cluster
from jobs.availability.status.interval_tracker import TrackStep

M = TypeVar("M", SeveritySpan, OutOfSyncSpan)
# Of a partition as a whole, where others are of one of its replicas.
WHOLE = -1
_END_FIELDS = ("ended_at", "end_cause", "end_broker", "end_offset")


class OpenIntervals(Generic[M]):
    """Stretches of one kind, by the partition's key and the broker (`WHOLE`: of none)."""

    def __init__(self, model: type[M]) -> None:
        self._model: type[M] = model
        self._open: dict[str, dict[int, M]] = {}
        self._new: dict[int, M] = {}
        self._ended: list[M] = []

    @property
    def created(self) -> list[M]:
        """The stretches that are not written yet."""
        return list(self._new.values())

    def load(self, cluster: Cluster, keys: Sequence[str]) -> None:
        """Take in the open stretches of some partitions."""
        rows = self._model._default_manager.filter(
            cluster=cluster, key__in=keys, ended_at__isnull=True
        )
        for row in rows:
            self._open.setdefault(row.key, {})[getattr(row, "broker", WHOLE)] = row

    def of(self, key: str) -> dict[int, M]:
        """Return the open stretches of a partition by broker."""
        return self._open.get(key, {})

    def begin(self, broker: int, row: M) -> None:
        self._open.setdefault(row.key, {})[broker] = row
        self._new[id(row)] = row

    def end(self, key: str, broker: int, step: TrackStep, news: PartitionUpdate) -> None:
        """End a stretch, if there is one; what ended as it began because two clocks differ was none."""
        row = self.of(key).pop(broker, None)
        if row is None:
            return
        row.ended_at = max(step.at, row.began_at)
        if news.seen is None:
            row.end_cause, row.end_offset = news.cause, news.offset
        else:
            seen = news.seen
            row.end_cause, row.end_offset = seen.cause, seen.offset
            row.end_broker = seen.cause_broker
        is_nothing = row.ended_at == row.began_at and news.at < step.at
        if id(row) not in self._new:
            self._ended.append(row)
        elif is_nothing:
            del self._new[id(row)]

    def save(self) -> None:
        """Write what ended, then what began: only one stretch may be open."""
        if self._ended:
            update(self._model, self._ended, _END_FIELDS)
        insert(self._model, self.created)


def parts(keys: Sequence[str]) -> Iterable[Sequence[str]]:
    """Return keys in portions that a query can take."""
    return (keys[start : start + BATCH] for start in range(0, len(keys), BATCH))

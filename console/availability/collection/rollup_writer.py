"""Roll-ups and samples of counts, kept while news are taken in, and written with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q

from console.availability.collection.open_intervals import parts
from console.availability.collection.status_rows import seen_of
from console.availability.status.broker_models import CountSample, Source
from console.availability.status.models import (
    RAW_STEP_S,
    AvailabilityRound,
    PartitionStatus,
    Rollup,
)
from console.clusters.collection.rows import BATCH, remove, update
from console.clusters.models import Cluster
from console.frame.series import upsert
from jobs.availability.status.peaks import SAMPLED, Step, StepPeaks
from jobs.availability.status.tally import (
    COUNTED,
    WHOLE,
    Counts,
    Placed,
    Scope,
    ScopeKind,
    Tally,
    shares_of,
)

# A round that comes a little late leaves no hole; without the metadata log more than that is one.
LATE_ROUNDS = 6
_FIELDS = (*COUNTED, "worst")


class RollupWriter:
    """The counts of a cluster; `rack_of` is the rack of each broker."""

    def __init__(
        self, cluster: Cluster, row: AvailabilityRound, rack_of: Mapping[int, str], now: datetime
    ) -> None:
        self._cluster = cluster
        self._round = row
        self._now = now
        few = Rollup.objects.filter(cluster=cluster).exclude(kind=ScopeKind.TOPIC)
        self._rows = {_scope(one): one for one in few}
        self._topics: set[str] = set()
        known = {scope: _counts(one) for scope, one in self._rows.items()}
        self._tally = Tally(dict(rack_of), known)
        self._touched: set[Scope] = set()
        self._steps: dict[tuple[int, Scope], Step] = {}
        oldest_s = int(now.timestamp()) - settings.AVAILABILITY_RAW_H * 3600
        self._peaks = StepPeaks(RAW_STEP_S, row.sampled_s, oldest_s, self._current())

    @property
    def counts(self) -> Mapping[Scope, Counts]:
        """The counts of the scopes that are known so far."""
        return self._tally.counts

    def need_topics(self, names: Collection[str]) -> None:
        """Read the roll-ups of topics that are about to change."""
        missing = sorted(set(names) - self._topics)
        self._topics.update(missing)
        for part in parts(missing):
            rows = Rollup.objects.filter(cluster=self._cluster, kind=ScopeKind.TOPIC, name__in=part)
            for one in rows:
                self._rows[_scope(one)] = one
                self._tally.counts[_scope(one)] = _counts(one)

    def move(self, at: datetime, before: Placed | None, after: Placed | None) -> None:
        """Take a partition out as it was and in as it is."""
        if before is not None and before == after:
            return
        self._keep(self._peaks.reach(at.timestamp(), self._sampled))
        touched = self._tally.move(before, after)
        self._touched |= touched
        # A healthy partition that is in none of Kafka's counts raises no sampled count.
        if after is not None and not (after.standing.is_well and not after.standing.counted_as):
            for scope in touched:
                self._peaks.note(scope, self._tally.counts[scope])

    def move_racks(self, rack_of: Mapping[int, str]) -> None:
        """Count again by other racks, from the partitions as they are stored."""
        before = [scope for scope in self.counts if scope[0] is ScopeKind.RACK]
        for scope in before:
            self._tally.counts[scope] = Counts()
        self._tally.use_racks(dict(rack_of))
        for row in PartitionStatus.objects.filter(cluster=self._cluster).iterator(BATCH):
            seen = seen_of(row)
            placed = Placed(row.topic, seen.replicas, seen.leader, seen.standing)
            for scope, counts in shares_of(placed, rack_of):
                if scope[0] is ScopeKind.RACK:
                    self._tally.counts.setdefault(scope, Counts()).add(counts)
        racks = [scope for scope in self.counts if scope[0] is ScopeKind.RACK]
        self._touched.update(racks)

    def pass_time(self, now: datetime, source: Source) -> None:
        """Bring the samples up to now; what was polled too long ago leaves a hole."""
        now_s, begun_s = now.timestamp(), self._round.sampled_s
        late_s = LATE_ROUNDS * max(RAW_STEP_S, settings.COLLECT_INTERVAL_S)
        if source is Source.POLL and begun_s is not None and now_s - begun_s > late_s:
            self._keep(self._peaks.current())
            self._peaks.skip(int(now_s), self._sampled())
        self._keep(self._peaks.reach(now_s, self._sampled))

    def save(self) -> None:
        """Write the roll-ups that changed, and the steps."""
        self._keep(self._peaks.current())
        self._save_rollups()
        upsert([_sample(self._cluster, step) for step in self._steps.values()])
        self._steps = {}
        self._round.sampled_s = self._peaks.at_s
        self._touched = set()

    def _save_rollups(self) -> None:
        new: list[Rollup] = []
        changed: list[Rollup] = []
        empty: list[Rollup] = []
        for scope in self._touched:
            counts, row = self._tally.counts[scope], self._rows.get(scope)
            if row is None:
                row = Rollup(cluster=self._cluster, kind=scope[0].value, name=scope[1])
                self._rows[scope] = row
            _write(row, counts)
            is_empty = not counts.partitions and scope[0] is not ScopeKind.CLUSTER
            if is_empty:
                del self._rows[scope], self._tally.counts[scope]
                self._topics.discard(scope[1])
            if row.pk is None:
                new += [] if is_empty else [row]
            else:
                (empty if is_empty else changed).append(row)
        remove(Rollup, empty)
        if changed:
            update(Rollup, changed, _FIELDS)
        Rollup.objects.bulk_create(new, batch_size=BATCH)

    def _current(self) -> dict[Scope, tuple[int, ...]]:
        """Return the peaks of the step that was being written when the last round ended."""
        if self._round.sampled_s is None:
            return {}
        rows = CountSample.objects.filter(
            Q(cluster=self._cluster), step_s=RAW_STEP_S, at_s=self._round.sampled_s
        )
        return {_scope(one): tuple(getattr(one, n) for n in SAMPLED) for one in rows}

    def _sampled(self) -> dict[Scope, Counts]:
        counts = self._tally.counts
        counts.setdefault(WHOLE, Counts())
        return {scope: counts[scope] for scope in counts if scope[0] is not ScopeKind.TOPIC}

    def _keep(self, steps: Any) -> None:
        for step in steps:
            self._steps[step.at_s, step.scope] = step


def _scope(row: Rollup | CountSample) -> Scope:
    return ScopeKind(row.kind), row.name


def _counts(row: Rollup) -> Counts:
    return Counts(**{name: getattr(row, name) for name in COUNTED})


def _write(row: Rollup, counts: Counts) -> None:
    for name in COUNTED:
        setattr(row, name, getattr(counts, name))
    row.worst = counts.worst.value


def _sample(cluster: Cluster, step: Step) -> CountSample:
    kind, name = step.scope
    values = dict(zip(SAMPLED, step.peak, strict=True))
    return CountSample(
        cluster=cluster, kind=kind.value, name=name, step_s=RAW_STEP_S, at_s=step.at_s, **values
    )

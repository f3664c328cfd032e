"""Measure flows: query the run and both clusters -> apply the lag rule -> write rows and freshness."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.utils import timezone

from console.clusters.models import Topic
from console.frame.claims import is_free
from console.frame.rounds import Clock, Outcome, Rounds
from console.replication.control.steering import with_person
from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow
from console.replication.flows.status import RESTS_S
from console.replication.measurement import measure
from console.replication.measurement import store as save
from console.replication.measurement.measure import Measured
from console.runs.launcher import SPARK, this_host
from console.runs.models import Run, RunState
from jobs.cluster.admin import offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault, Refused
from jobs.limits import POSITIONS, may_exist
from jobs.replication.copy.positions import read_positions
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import FlowSpec

T = TypeVar("T")
P = ParamSpec("P")

Partitions = Collection[TopicPartition]
Ranges = Mapping[TopicPartition, OffsetRange]
Offsets = Mapping[TopicPartition, int]
Spans = Mapping[TopicPartition, tuple[int, int]]
Timestamps = Mapping[TopicPartition, int | None]

# A transaction that ended leaves at most its markers behind the last record of a partition.
MOST_MARKERS = 50
# In one round the newest record of this many partitions is read, largest lag first.
MOST_HEADS = 500


TIMEOUT_S = 10.0


def _ask(
    cluster: Connection,
    read: Callable[Concatenate[ClusterClient, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Send one query by a client that is closed afterwards."""
    with ClusterClient(cluster, timeout_s=TIMEOUT_S) as client:
        return read(client, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class FlowQueries:
    """The queries of a measurement; every one may raise `ClusterFault`.

    `positions` are the next offsets to copy, from the target; the others are of the source. `newest` are
    `ranges` with the largest timestamp, `timestamps` those (ms) of the first record at or after each offset,
    `last_timestamps` those of the last record before it (None: unknown), and `data_ends` the offset after
    the last real record of each (from, end).
    """

    positions: Callable[[FlowSpec], Mapping[TopicPartition, int]] = lambda flow: _ask(
        flow.target, read_positions, flow.source.alias
    )
    ranges: Callable[[FlowSpec, Partitions], Ranges] = lambda flow, partitions: _ask(
        flow.source, offsets.read_offset_ranges, partitions, with_timestamps=False
    )
    newest: Callable[[FlowSpec, Partitions], Ranges] = lambda flow, partitions: _ask(
        flow.source, offsets.read_offset_ranges, partitions, with_timestamps=True
    )
    timestamps: Callable[[FlowSpec, Offsets], Timestamps] = lambda flow, starts: _ask(
        flow.source, offsets.read_timestamp_at, starts
    )
    last_timestamps: Callable[[FlowSpec, Offsets], Timestamps] = lambda flow, ends: _ask(
        flow.source, offsets.read_last_timestamp, ends
    )
    data_ends: Callable[[FlowSpec, Spans], Offsets] = lambda flow, spans: _ask(
        flow.source, offsets.read_data_end, spans
    )


KAFKA = FlowQueries()

MEASUREMENTS: Rounds[ReplicationFlow, FlowRound] = Rounds(
    name="measurements",
    rows=FlowRound,
    of="flow",
    part={"noun": FlowRound.Noun.SOURCE},
    subjects=lambda: ReplicationFlow.objects.select_related("source", "target", "run"),
    every_s=lambda: settings.FLOW_INTERVAL_S,
    activity="measuring",
)


def collect_flow(flow_id: int, clock: Clock = timezone.now, queries: FlowQueries = KAFKA) -> bool:
    """Measure one flow when it is due; False when it is not, or another worker measures it now."""
    return MEASUREMENTS.run(
        flow_id, lambda flow, row: _Round(flow, row, clock(), queries).measure(), clock
    )


def measure_soon(flow_id: int, now: datetime) -> None:
    """Let the next tick of the scheduler measure a flow that was at rest; a running round stays."""
    rows = FlowRound.objects.filter(flow=flow_id, noun=FlowRound.Noun.SOURCE)
    rows.filter(is_free(now + timedelta(seconds=RESTS_S))).update(claimed_until=None)


@dataclass(slots=True)
class _Round:
    """One measurement of one flow; `row` is that of its source."""

    flow: ReplicationFlow
    row: FlowRound
    now: datetime
    queries: FlowQueries
    known: dict[TopicPartition, Measured] = field(default_factory=dict)

    def measure(self) -> Outcome:
        flow = self.flow
        spec = flow.spec()
        self.known = {row.where: row for row in map(save.as_measured, stored_partitions(flow))}
        progress = _progress_of(flow.run)
        rows = self._from_run(progress) if progress is not None else self._from_target(spec)
        rows, outcome = self._with_source(spec, rows, is_running=progress is not None)
        if spec.is_watched:
            rows = [measure.watched(row) for row in rows]
        rows = [with_person(row, flow) for row in rows]
        save.save_measurement(flow, rows, progress, self.now, sample=outcome.fault is None)
        is_watched_closely = flow.is_wanted or _is_copying(flow.run)
        return replace(outcome, due_in_s=None if is_watched_closely else RESTS_S)

    def _from_run(self, progress: Mapping[str, Any]) -> list[Measured]:
        """The newest positions are with the run: it has committed them on the target."""
        save.save_round(self.flow, FlowRound.Noun.POSITIONS, self.now, None, None)
        if not measure.has_surveyed(progress):
            return [measure.not_surveyed(row, progress) for row in self.known.values()]
        rows = measure.from_progress(progress)
        return [
            replace(row, last_timestamp_ms=self._last_timestamp(row))
            if row.last_timestamp_ms is None
            else row
            for row in rows
        ]

    def _from_target(self, spec: FlowSpec) -> list[Measured]:
        answer, fault, took_ms = _timed(lambda: self.queries.positions(spec))
        save.save_round(self.flow, FlowRound.Noun.POSITIONS, self.now, took_ms, fault)
        positions = answer or {}
        found = {
            where: Measured(*where)
            for where in positions
            if where not in self.known and should_replicate(spec, where.topic)
        }
        found = self._first_positions(found) if found else found
        everything = {**self.known, **found}
        return [
            measure.at_rest(row, positions.get(where)) for where, row in sorted(everything.items())
        ]

    def _first_positions(
        self, found: dict[TopicPartition, Measured]
    ) -> dict[TopicPartition, Measured]:
        """Return the partitions that may exist; more than are kept are none, and a fault of the round."""
        rows = Topic.objects.filter(cluster=self.flow.source).order_by()
        counts = dict(rows.values_list("name", "partition_count"))
        found = {where: row for where, row in found.items() if may_exist(*where, counts)}
        if len(found) <= POSITIONS:
            return found
        text = f"The topic of positions names more than {POSITIONS:,} partitions: new ones are left out."
        fault = Refused(text, cluster=self.flow.target.alias, hint="Look who may write to it.")
        save.save_round(self.flow, FlowRound.Noun.POSITIONS, self.now, None, fault)
        return {}

    def _last_timestamp(self, row: Measured) -> int | None:
        """A run that has not copied anything yet knows no timestamp: the row before may."""
        before = self.known.get(row.where)
        same = before is not None and before.position == row.position
        return before.last_timestamp_ms if same and before is not None else None

    def _with_source(
        self, spec: FlowSpec, rows: list[Measured], *, is_running: bool
    ) -> tuple[list[Measured], Outcome]:
        """Add the source's side; while it does not answer, the lag stays what it was, with its age."""
        if not rows:
            return [], Outcome({"duration_ms": self.row.duration_ms}, is_over=False)
        answer, fault, took_ms = _timed(
            lambda: self._source_side(spec, rows, is_running=is_running)
        )
        values = {"duration_ms": took_ms, **save.error_of(fault)}
        if answer is None:
            return [self._keep_source_side(row) for row in rows], Outcome(values, fault=fault)
        rows = [measure.with_lag(answer[row.where]) for row in rows]
        return rows, Outcome({**values, "succeeded_at": self.now})

    def _source_side(
        self, spec: FlowSpec, rows: list[Measured], *, is_running: bool
    ) -> dict[TopicPartition, Measured]:
        ranges = self.queries.ranges(spec, [row.where for row in rows])
        placed = [measure.with_source(row, ranges.get(row.where)) for row in rows]
        # A run's position covers trailing transaction markers, a position from the target may not.
        placed = placed if is_running else self._without_markers(spec, placed)
        heads = self._heads(spec, [row for row in placed if row.is_behind])
        placed = [_with_head(row, heads.get(row.where)) for row in placed]
        return {row.where: row for row in self._with_last(spec, placed)}

    def _heads(self, spec: FlowSpec, behind: list[Measured]) -> dict[TopicPartition, int | None]:
        """Return the newest timestamps of the source: read from records where they are not too many.

        What ListOffsets tells of the others is the largest timestamp, on topics with transactions a
        marker's.
        """
        behind.sort(key=lambda row: (row.position or 0) - (row.end_offset or 0))
        ends = {row.where: row.end_offset for row in behind[:MOST_HEADS] if row.end_offset}
        heads = dict(self.queries.last_timestamps(spec, ends)) if ends else {}
        rest = [row.where for row in behind if row.where not in heads]
        ranges = self.queries.newest(spec, rest) if rest else {}
        return heads | {where: found.max_timestamp_ms for where, found in ranges.items()}

    def _without_markers(self, spec: FlowSpec, rows: list[Measured]) -> list[Measured]:
        spans = {
            row.where: (row.position, row.end_offset)
            for row in rows
            if row.position is not None
            and row.end_offset is not None
            and 0 < row.end_offset - row.position <= MOST_MARKERS
        }
        ends = self.queries.data_ends(spec, spans) if spans else {}
        return [replace(row, data_end=ends.get(row.where)) for row in rows]

    def _with_last(self, spec: FlowSpec, rows: list[Measured]) -> list[Measured]:
        """Where nothing was copied yet, time lag counts from the first record that is to be copied."""
        asked = {
            row.where: row.position
            for row in rows
            if row.is_behind and row.last_timestamp_ms is None and row.position is not None
        }
        found = self.queries.timestamps(spec, asked) if asked else {}
        return [
            replace(row, last_timestamp_ms=found[row.where]) if row.where in found else row
            for row in rows
        ]

    def _keep_source_side(self, row: Measured) -> Measured:
        before = self.known.get(row.where)
        if before is None:
            return row
        return replace(
            row,
            log_start_offset=before.log_start_offset,
            end_offset=before.end_offset,
            head_timestamp_ms=before.head_timestamp_ms,
            lag=before.lag,
            lag_ms=before.lag_ms,
        )


def _timed(ask: Callable[[], T]) -> tuple[T | None, ClusterFault | None, int]:
    """Return the answer, or the fault, and how many milliseconds it took."""
    begun = time.monotonic()
    answer, fault = None, None
    try:
        answer = ask()
    except ClusterFault as refusal:
        fault = refusal
    return answer, fault, int((time.monotonic() - begun) * 1000)


def stored_partitions(flow: ReplicationFlow) -> list[FlowPartition]:
    """Return the rows of the last measurement."""
    return list(FlowPartition.objects.filter(flow=flow))


def _with_head(row: Measured, newest_ms: int | None) -> Measured:
    head = newest_ms if row.is_behind else row.last_timestamp_ms
    return replace(row, head_timestamp_ms=head)


def _is_copying(run: Run | None) -> bool:
    return run is not None and run.state == RunState.RUNNING


# What a run that waits for its engine does not say.
_WAITS: dict[str, Any] = {"surveyed": False, "fault": "", "topics": {}, "partitions": []}


def _progress_of(run: Run | None) -> dict[str, Any] | None:
    """Return the progress of a live run; None without one."""
    if run is None or not _is_copying(run):
        return None
    # The run's folder is some seconds newer than its row, and the source's end is queried now:
    # an older position would look like lag.
    if run.folder and run.host == this_host():
        newest = SPARK.read_progress(Path(run.folder))
        if newest is not None:
            return {**_WAITS, **newest}
    return None if run.progress is None else {**_WAITS, **run.progress}

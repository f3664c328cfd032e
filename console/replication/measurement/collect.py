"""Measure flows: ask the run and both clusters -> apply the lag rule -> write rows and freshness."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Q

from console.clusters.models import Topic
from console.frame.processes.work_sharing import longest_waiting
from console.replication.control.steering import with_person
from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow
from console.replication.flows.status import RESTS_S
from console.replication.measurement import measure
from console.replication.measurement import store as save
from console.replication.measurement.door import KAFKA, FlowDoor
from console.replication.measurement.measure import Measured
from console.runs.launcher import SPARK, this_host
from console.runs.models import Run, RunState
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields, Refused
from jobs.limits import POSITIONS, may_exist
from jobs.logs import own_fault
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import FlowSpec

logger = logging.getLogger(__name__)

T = TypeVar("T")

# A round that outlives its claim would be repeated in parallel, so the claim is longer than the
# sum of the door's timeouts; the end of the round shortens it.
CLAIM = timedelta(seconds=90)
# A transaction that ended leaves at most its markers behind the last record of a partition.
MOST_MARKERS = 50
# In one round the newest record of this many partitions is read, largest lag first.
MOST_HEADS = 500


def due_flows(now: datetime) -> list[int]:
    """Return the ids of flows whose next measurement is due, the one that waits longest first."""
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    return longest_waiting(ReplicationFlow.objects.filter(due), "claimed_until")


def collect_flow(flow_id: int, now: datetime, door: FlowDoor = KAFKA) -> bool:
    """Measure one flow; False when another worker measures it now."""
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    claim = ReplicationFlow.objects.filter(due, pk=flow_id)
    if not claim.update(claimed_until=now + CLAIM):
        return False
    flow = ReplicationFlow.objects.select_related("source", "target", "run").get(pk=flow_id)
    try:
        _Round(flow, now, door).measure()
    except Exception:
        logger.exception("round failed flow=%s", flow.name)
        problem = own_fault("measuring")
        save.save_round(
            flow,
            FlowRound.Noun.SOURCE,
            now,
            None,
            ClusterFault(problem, cluster=flow.name, hint=""),
        )
    rest_s = settings.FLOW_INTERVAL_S if flow.is_wanted or _is_copying(flow.run) else RESTS_S
    # A little less than the interval, so that the next tick of the clock finds the flow due.
    next_at = now + timedelta(seconds=rest_s - 0.5)
    ReplicationFlow.objects.filter(pk=flow_id).update(claimed_until=next_at)
    return True


def measure_soon(flow_id: int, now: datetime) -> None:
    """Let the next tick of the clock measure a flow that was at rest; a round that is on its way stays."""
    resting = ReplicationFlow.objects.filter(
        pk=flow_id, claimed_until__lte=now + timedelta(seconds=RESTS_S)
    )
    resting.update(claimed_until=None)


@dataclass(slots=True)
class _Round:
    """One measurement of one flow."""

    flow: ReplicationFlow
    now: datetime
    door: FlowDoor
    known: dict[TopicPartition, Measured] = field(default_factory=dict)

    def measure(self) -> None:
        flow = self.flow
        try:
            spec = flow.spec()
        except InvalidFields as problem:
            fault = ClusterFault(
                str(problem), cluster=flow.name, hint="Correct the flow's settings."
            )
            save.save_round(flow, FlowRound.Noun.SOURCE, self.now, None, fault)
            return
        self.known = {row.where: row for row in map(save.as_measured, stored_partitions(flow))}
        progress = _progress_of(flow.run)
        rows = self._from_run(progress) if progress is not None else self._from_target(spec)
        rows, is_fresh = self._with_source(spec, rows, is_running=progress is not None)
        if spec.is_watched:
            rows = [measure.watched(row) for row in rows]
        rows = [with_person(row, flow) for row in rows]
        save.save_measurement(flow, rows, progress, self.now, sample=is_fresh)

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
        positions = self._ask(FlowRound.Noun.POSITIONS, lambda: self.door.positions(spec)) or {}
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
    ) -> tuple[list[Measured], bool]:
        """Add the source's side; while it does not answer, the lag stays what it was, with its age."""
        wanted = [row.where for row in rows]
        answer = (
            self._ask(
                FlowRound.Noun.SOURCE, lambda: self._source_side(spec, rows, is_running=is_running)
            )
            if wanted
            else {}
        )
        if answer is None:
            return [self._keep_source_side(row) for row in rows], False
        return [measure.with_lag(answer[row.where]) for row in rows], True

    def _source_side(
        self, spec: FlowSpec, rows: list[Measured], *, is_running: bool
    ) -> dict[TopicPartition, Measured]:
        ranges = self.door.ranges(spec, [row.where for row in rows], with_timestamps=False)
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
        heads = dict(self.door.last_timestamps(spec, ends)) if ends else {}
        rest = [row.where for row in behind if row.where not in heads]
        ranges = self.door.ranges(spec, rest, with_timestamps=True) if rest else {}
        return heads | {where: found.max_timestamp_ms for where, found in ranges.items()}

    def _without_markers(self, spec: FlowSpec, rows: list[Measured]) -> list[Measured]:
        spans = {
            row.where: (row.position, row.end_offset)
            for row in rows
            if row.position is not None
            and row.end_offset is not None
            and 0 < row.end_offset - row.position <= MOST_MARKERS
        }
        ends = self.door.data_ends(spec, spans) if spans else {}
        return [replace(row, data_end=ends.get(row.where)) for row in rows]

    def _with_last(self, spec: FlowSpec, rows: list[Measured]) -> list[Measured]:
        """Where nothing was copied yet, time lag counts from the first record that is to be copied."""
        asked = {
            row.where: row.position
            for row in rows
            if row.is_behind and row.last_timestamp_ms is None and row.position is not None
        }
        found = self.door.timestamps(spec, asked) if asked else {}
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

    def _ask(self, noun: FlowRound.Noun, question: Callable[[], T]) -> T | None:
        """Ask and write how it went; None when the cluster did not answer."""
        begun = time.monotonic()
        fault: ClusterFault | None = None
        answer: T | None = None
        try:
            answer = question()
        except ClusterFault as refusal:
            fault = refusal
            logger.info("round failed flow=%s noun=%s error=%s", self.flow.name, noun, refusal)
        duration_ms = int((time.monotonic() - begun) * 1000)
        save.save_round(self.flow, noun, self.now, duration_ms, fault)
        return answer


def stored_partitions(flow: ReplicationFlow) -> list[FlowPartition]:
    """Return the rows of the last measurement."""
    return list(FlowPartition.objects.filter(flow=flow))


def _with_head(row: Measured, newest_ms: int | None) -> Measured:
    head = newest_ms if row.is_behind else row.last_timestamp_ms
    return replace(row, head_timestamp_ms=head)


def _is_copying(run: Run | None) -> bool:
    return run is not None and run.state == RunState.RUNNING


def _progress_of(run: Run | None) -> dict[str, Any] | None:
    """Return the progress of a live run; None without one."""
    if run is None or not _is_copying(run):
        return None
    # The run's folder is some seconds newer than its row, and the source's end is queried now:
    # an older position would look like lag.
    if run.folder and run.host == this_host():
        newest = SPARK.read_progress(Path(run.folder))
        if newest is not None:
            return newest
    document: dict[str, Any] | None = run.progress
    return document

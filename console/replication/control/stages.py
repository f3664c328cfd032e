"""What the start of a run is made of: its stages, in their order, and how long each took or takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from console.replication.flows.models import ReplicationFlow
from console.runs.models import Run
from jobs.numbers import format_span_s
from jobs.spark.contract import DRIVER_STARTED, FIRST_RECORD, SURVEYED, TASKS_STARTED

# Each with what ends it: a moment of the run's row, then those that the driver tells.
STAGES = (
    ("queued", "queued", ""),
    ("spark_starting", "Spark starting", DRIVER_STARTED),
    ("reading_positions", "reading topics and positions", SURVEYED),
    ("tasks_starting", "tasks starting", TASKS_STARTED),
    ("first_record", "first record", FIRST_RECORD),
)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a start; `seconds` are so far while it is not done."""

    name: str
    label: str
    seconds: float
    is_done: bool

    def __str__(self) -> str:
        return f"{self.label} {format_span_s(self.seconds)}"


def stages_of(run: Run | None, now: datetime) -> list[Stage]:
    """Return the stages of a run up to the one it is in; none of a run that reports none.

    The stage of the first record is listed once it is done: an idle source has no record.
    """
    if run is None or (run.reported_at is not None and not run.stages):
        return []
    found: list[Stage] = []
    begun: datetime | None = run.created_at
    for name, label, mark in STAGES:
        if begun is None or (found and not found[-1].is_done):
            break
        ended = moment(run, mark) if mark else run.started_at
        if ended is None and name == "first_record":
            break
        seconds = max(((ended or now) - begun).total_seconds(), 0.0)
        found.append(Stage(name, label, round(seconds, 1), ended is not None))
        begun = ended
    return found


def moment(run: Run, mark: str) -> datetime | None:
    """Return when the driver passed a mark; None while it has not."""
    at_ms = run.stages.get(mark)
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)


def in_words(stages: Iterable[Stage]) -> str:
    """Return where a start is: `Spark starting: 23 s so far, after queued 1 s.`"""
    *before, current = list(stages)
    after = f", after {', '.join(map(str, before))}" if before else ""
    label = current.label[0].upper() + current.label[1:]
    return f"{label}: {format_span_s(current.seconds)} so far{after}."


def was_read(flow: ReplicationFlow) -> bool:
    """Return whether the numbers of a flow are newer than its run's first read of both clusters.

    A run without stages is one of an earlier version.
    """
    run = flow.run
    if run is None or not run.stages:
        return run is not None and run.reported_at is not None
    read_at = moment(run, SURVEYED)
    return read_at is not None and flow.measured_at is not None and flow.measured_at >= read_at

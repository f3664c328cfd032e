"""What the replication report is built from, and rules over runs and pauses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobs.numbers import format_bytes
from jobs.reports.kinds.flows.copy_audits import CopyAudits
from jobs.reports.kinds.flows.lag_samples import LagSummary
from jobs.reports.kinds.objectives import ObjectiveResult
from jobs.reports.periods import Period
from jobs.severity import Severity

# How runs end, in the words of the console.
ENDS = {"CRASHED": "Crashed", "FAILED": "Failed", "STOPPED": "Stopped", "SUCCEEDED": "Ended"}
BAD_ENDS = frozenset({"CRASHED", "FAILED"})
NOT_RECORDED = "Not recorded."
_MOST_NAMES = 5
_WORDS = {
    "flow.create": "Created",
    "flow.change": "Settings changed",
    "flow.start": "Started",
    "flow.stop": "Stopped",
    "flow.delete": "Deletion requested",
    "flow.accept_topics": "Recreated topics accepted",
    "flow.control": "Runtime controls changed",
    "flow.restart_parts": "Partitions restarted",
}


@dataclass(frozen=True, slots=True)
class FlowReplication:
    """A flow: its lag over the period, and what all its runs replicated until now (None: not known).

    `since` is when the flow was created, `task_crashes` are those that are still kept.
    """

    flow: str
    href: str
    since: datetime
    lag: LagSummary = field(default_factory=LagSummary)
    total_records: int | None = None
    total_bytes: int | None = None
    task_crashes: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicLag:
    """The lag of a topic: the worst of its samples; `replicated` records are mean rate times time."""

    flow: str
    topic: str
    href: str
    samples: int
    worst: int | None
    worst_ms: int | None
    replicated: int | None


@dataclass(frozen=True, slots=True)
class FlowRun:
    """A run of a flow; `state` in the words of the run, `person` empty when crosslog started it."""

    flow: str
    state: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str
    person: str
    href: str


@dataclass(frozen=True, slots=True)
class RunEvent:
    """A start or an end of a run, or a crash of a task inside one."""

    at: datetime
    flow: str
    word: str
    reason: str
    person: str
    href: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Steering:
    """An action of a user on a flow, from the audit log."""

    at: datetime
    flow: str
    action: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    person: str
    href: str


@dataclass(frozen=True, slots=True)
class Pause:
    """A topic or partition that was held back; `until` None: still when the period ended."""

    flow: str
    name: str
    start: datetime
    until: datetime | None
    by: str
    resumed_by: str
    href: str


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """A topic that joined or left a flow, or that it leaves out."""

    at: datetime
    flow: str
    topic: str
    word: str
    reason: str
    href: str


@dataclass(frozen=True, slots=True)
class Drift:
    """A difference between source and target; `closed_at` None: open when the period ended."""

    flow: str
    level: Severity
    severity: str
    word: str
    subject: str
    sentence: str
    opened_at: datetime
    closed_at: datetime | None
    href: str


@dataclass(frozen=True, slots=True)
class ReplicationRecorded:
    """What was recorded of a period. `*_from` is since when each is kept; None: for the whole period.

    `runs` holds the last run before the period, too; `steering` what was done since the flow was created.
    """

    period: Period
    flows: tuple[FlowReplication, ...] = ()
    topics: tuple[TopicLag, ...] = ()
    runs: tuple[FlowRun, ...] = ()
    steering: tuple[Steering, ...] = ()
    topic_events: tuple[TopicEvent, ...] = ()
    drifts: tuple[Drift, ...] = ()
    samples_from: datetime | None = None
    runs_from: datetime | None = None
    tasks_from: datetime | None = None
    findings_from: datetime | None = None
    objectives: tuple[ObjectiveResult, ...] = ()
    audits: CopyAudits = field(default_factory=CopyAudits)


def run_events(recorded: ReplicationRecorded) -> list[RunEvent]:
    """Return starts, ends and crashes within the period, in the order of time.

    A run after one that ended badly is a restart.
    """
    found: list[RunEvent] = []
    by_flow: dict[str, list[FlowRun]] = {}
    for run in sorted(recorded.runs, key=lambda one: (one.created_at, one.href)):
        by_flow.setdefault(run.flow, []).append(run)
    for runs in by_flow.values():
        for before, after in zip([None, *runs], runs, strict=False):
            found += _events_of(before, after)
    for one in recorded.flows:
        found += [
            RunEvent(at, one.flow, "Task crashed", NOT_RECORDED, "", one.href, is_bad=True)
            for at in one.task_crashes
        ]
    inside = [one for one in found if recorded.period.start <= one.at < recorded.period.end]
    return sorted(inside, key=lambda one: (one.at, one.flow, one.word, one.href))


def crashed_at_end(recorded: ReplicationRecorded) -> list[str]:
    """Return the flows whose last run before the end of the period had ended badly by then."""
    last: dict[str, FlowRun] = {}
    end = recorded.period.end
    for run in sorted(recorded.runs, key=lambda one: (one.created_at, one.href)):
        if run.created_at < end:
            last[run.flow] = run
    return sorted(
        flow
        for flow, run in last.items()
        if run.state in BAD_ENDS and run.finished_at is not None and run.finished_at < end
    )


def pauses(recorded: ReplicationRecorded) -> list[Pause]:
    """Return what was held back in the period, also since before it, in the order of time."""
    found: list[Pause] = []
    held: dict[tuple[str, str], Steering] = {}
    for one in sorted(recorded.steering, key=lambda step: (step.at, step.flow, step.action)):
        if "paused" not in one.after and "paused" not in one.before:
            continue
        names = {str(name) for name in one.after.get("paused") or ()}
        for flow, name in sorted(held):
            if flow == one.flow and name not in names:
                found.append(_pause(held.pop((flow, name)), name, one))
        for name in sorted(names):
            held.setdefault((one.flow, name), one)
    found += [_pause(held[key], key[1], None) for key in sorted(held)]
    start, end = recorded.period.start, recorded.period.end
    inside = [one for one in found if one.start < end and (not one.until or one.until > start)]
    cut = [_open_at(one, end) for one in inside]
    return sorted(cut, key=lambda one: (one.start, one.flow, one.name))


def what_was_done(one: Steering) -> str:
    """Return an entry of the audit log about a flow in words."""
    was = {str(name) for name in one.before.get("paused") or ()}
    names = {str(name) for name in one.after.get("paused") or ()}
    parts = []
    if names - was:
        parts.append(f"Paused: {listed(names - was)}.")
    if was - names:
        parts.append(f"Resumed: {listed(was - names)}.")
    if "max_bytes_per_s" in one.after or "max_bytes_per_s" in one.before:
        limit = one.after.get("max_bytes_per_s")
        parts.append(f"Limit: {format_bytes(limit)}/s." if limit else "Limit removed.")
    if not parts:
        word = _WORDS.get(one.action, one.action)
        told = one.after.get("names") or one.after.get("topics")
        changed = sorted(one.after) if one.action in {"flow.change", "flow.control"} else told or ()
        parts.append(f"{word}: {listed(map(str, changed))}." if changed else f"{word}.")
    return " ".join(parts)


def listed(names: Iterable[str]) -> str:
    """Return the first names and how many more there are."""
    ordered = sorted(names)
    more = len(ordered) - _MOST_NAMES
    return ", ".join(ordered[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _events_of(before: FlowRun | None, run: FlowRun) -> Sequence[RunEvent]:
    found = []
    if run.started_at is not None:
        is_again = before is not None and before.state in BAD_ENDS
        word = "Restarted" if is_again else "Started"
        reason = f"The run before {ENDS[before.state].lower()}." if before and is_again else ""
        found.append(RunEvent(run.started_at, run.flow, word, reason, run.person, run.href))
    if run.finished_at is not None:
        is_bad = run.state in BAD_ENDS
        reason = _first_line(run.error) or (NOT_RECORDED if is_bad else "")
        word = ENDS.get(run.state, run.state)
        found.append(RunEvent(run.finished_at, run.flow, word, reason, "", run.href, is_bad=is_bad))
    return found


def _pause(start: Steering, name: str, end: Steering | None) -> Pause:
    until, by = (end.at, end.person) if end else (None, "")
    return Pause(start.flow, name, start.at, until, start.person, by, start.href)


def _open_at(one: Pause, end: datetime) -> Pause:
    if one.until is None or one.until < end:
        return one
    return Pause(one.flow, one.name, one.start, None, one.by, "", one.href)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")

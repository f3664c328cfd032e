"""Checks of crosslog itself: its rounds, its followers, its programs, its disk, its reports. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.checks.check import (
    Area,
    Check,
    Threshold,
    Unit,
    check,
    severity_of,
    warning_and_critical,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_bytes, format_count, format_moment, format_percent
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class LateRounds:
    """The rounds of a kind that wait for a worker of its queue; `late_s` is for how long some have."""

    kind: str
    queue: str
    rows: int
    due_at: datetime | None
    late_s: float


@dataclass(frozen=True, slots=True)
class FollowedLog:
    """The metadata log of a cluster; `error` is why it cannot be fetched, `heard_at` when it last was."""

    cluster: int
    alias: str
    heard_at: datetime | None
    failing_since: datetime | None = None
    error: str = ""
    hint: str = ""
    records_behind: int = 0


@dataclass(frozen=True, slots=True)
class ProgramRestart:
    """A program that was started again: after a `crash` (how it ended) or `silent_s` without work."""

    program: str
    at: datetime
    silent_s: int
    log: str
    crash: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A report or the deliveries of a report that failed; `subject` has the primary key."""

    subject: str
    name: str
    at: datetime | None
    why: str


_DAY_S = 86_400
LATE = Check(
    id="rounds_late",
    title="Rounds late",
    question="Does crosslog collect and judge in time?",
    rule="Rounds of a kind are due for longer than a threshold, and no worker has taken them.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook="Check the log of the worker and the load of the machine; start the worker or add one.",
    thresholds=(
        Threshold("late_s", 60, Unit.SECONDS, "Time since a round was due.", least=10),
        Threshold("lasting_s", 20, Unit.SECONDS, "Time for which some are late in a row."),
    ),
    effect="rounds late",
)
FOLLOWER = Check(
    id="follower_behind",
    title="Metadata log not followed",
    question="Is the metadata log of every cluster followed?",
    rule="The follower of a metadata log fails, is silent, or is many records behind the high watermark.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook=(
        "Check that the program metadata runs and that it reaches the controllers. Its log has the reason."
    ),
    thresholds=(
        Threshold("silent_s", 60, Unit.SECONDS, "Time without an answer of the cluster.", least=5),
        Threshold(
            "behind_records", 20_000, Unit.RECORDS, "Records of the log not read yet.", most=1e9
        ),
    ),
    effect="metadata log not followed",
    open_after_s=30,
)
DISK = Check(
    id="disk_of_crosslog",
    title="Disk of crosslog nearly full",
    question="Has crosslog space for its data?",
    rule="The free space of the volume of CROSSLOG_HOME is below a share of its size.",
    severity=Severity.CRITICAL,
    area=Area.CROSSLOG,
    runbook="Add space, or shorten the retention of the archive and of the history (docs/operate.md).",
    thresholds=warning_and_critical("percent", Unit.PERCENT, 10, 5, "Least free space", most=100),
)
RESTARTED = Check(
    id="program_restarted",
    title="Program restarted",
    question="Do the programs of crosslog get their work done?",
    rule="A program of manage.py up finished no task for too long and was restarted.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook="The last lines of its log in the log folder show what it was doing.",
    thresholds=(Threshold("shown_s", 3600, Unit.SECONDS, "Time for which a restart is shown."),),
)
CRASHED = Check(
    id="program_crashed",
    title="Program crashed",
    question="Do the programs of crosslog run without a crash?",
    rule="A program of manage.py up ended by itself and was restarted.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook="The last lines of its log in the log folder show the error.",
    thresholds=(Threshold("shown_s", _DAY_S, Unit.SECONDS, "Time for which a crash is shown."),),
)
NOT_DELIVERED = Check(
    id="delivery_failed",
    title="Not delivered",
    question="Do reports and notifications reach their recipients?",
    rule="A delivery was refused or given up within the last 24 hours.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook="The page Deliveries shows what the receiver answered. Correct the address, then retry.",
)
REPORT = Check(
    id="report_failed",
    title="Report failed",
    question="Are all reports made?",
    rule="The last run of a report failed.",
    severity=Severity.WARNING,
    area=Area.CROSSLOG,
    runbook="Read the error on the page of the run, correct it, then run the report again.",
)


@check(LATE)
def late(rounds: Iterable[LateRounds], settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find kinds of rounds that come late."""
    values = settings.values(LATE)
    for one in rounds:
        if values is not None and one.rows and one.late_s >= values["lasting_s"]:
            since = (
                f" The first is due since {format_moment(one.due_at, now)}." if one.due_at else ""
            )
            yield LATE.finding(
                f"{format_count(one.rows)} rounds of kind {one.kind} are late.{since}",
                f"Worker of the queue {one.queue}: {LATE.runbook}",
                subject=one.kind,
                evidence={"queue": one.queue, "rounds": one.rows},
                since=one.due_at,
            )


@check(FOLLOWER)
def follower(log: FollowedLog, settings: Settings, now: datetime) -> Iterator[Finding]:
    """Find a metadata log that is not followed, or not to its end."""
    values = settings.values(FOLLOWER, cluster=log.cluster)
    if values is None or (log.heard_at is None and not log.error):
        return
    since = log.heard_at
    if log.error:
        what, since = f"cannot be fetched: {log.error}", log.failing_since
    elif since and now - since > timedelta(seconds=values["silent_s"]):
        what = f"is not followed: the last answer was at {format_moment(since, now)}."
    elif log.records_behind > values["behind_records"]:
        what, since = (
            f"is read late: {format_count(log.records_behind)} records are not read.",
            None,
        )
    else:
        return
    evidence = {"behind_records": log.records_behind}
    said = f"The metadata log of {log.alias} {what}"
    yield FOLLOWER.finding(said, log.hint, evidence=evidence, since=since)


@check(DISK)
def disk(path: str, total_bytes: int, free_bytes: int, settings: Settings) -> Iterator[Finding]:
    """Find that the volume of the home of crosslog is nearly full."""
    share = free_bytes / total_bytes if total_bytes else 1
    severity = severity_of(share * 100, settings.values(DISK), "percent", is_space=True)
    if severity is not None:
        yield DISK.finding(
            f"The volume of CROSSLOG_HOME ({path}) has {format_bytes(free_bytes)} free, "
            f"{format_percent(share)} of its size.",
            severity=severity,
            evidence={"free_bytes": free_bytes, "total_bytes": total_bytes},
        )


@check(RESTARTED, CRASHED)
def programs(
    restarts: Iterable[ProgramRestart], settings: Settings, now: datetime
) -> Iterator[Finding]:
    """Find programs that were restarted lately: one finding for each and kind of end."""
    found: dict[tuple[str, str], list[ProgramRestart]] = {}
    for one in restarts:
        of = CRASHED if one.crash else RESTARTED
        values = settings.values(of)
        if values is not None and now - one.at <= timedelta(seconds=values["shown_s"]):
            found.setdefault((of.id, one.program), []).append(one)
    for (code, program), same in found.items():
        last, of = same[-1], CRASHED if code == CRASHED.id else RESTARTED
        why = last.crash.rstrip(".") or f"It had finished no task for {last.silent_s} s"
        times = f" {len(same)} times." if len(same) > 1 else ""
        yield of.finding(
            f"Program {program} was restarted at {format_moment(last.at, now)}. {why}.{times}",
            f"{of.runbook} Log: {last.log}.",
            subject=program,
            evidence={"restarts": len(same)},
            since=same[0].at,
        )


_FAILURES = {
    NOT_DELIVERED: "Report {name} was not delivered to {why}.",
    REPORT: "Report {name} failed: {why}",
}


@check(*_FAILURES)
def failed(of: Check, rows: Iterable[Failed], settings: Settings) -> Iterator[Finding]:
    """Find what of reports failed."""
    for one in rows if settings.values(of) is not None else ():
        sentence = _FAILURES[of].format(name=one.name, why=one.why or "no reason is known.")
        yield of.finding(sentence, subject=one.subject, evidence={"name": one.name}, since=one.at)

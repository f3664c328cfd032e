"""crosslog itself: its rounds, its followers, its programs, its disk and its reports."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings

from console.checks.areas.area import Area, Given, Judged
from console.delivery import queries as delivery
from console.frame.processes.liveness import restarts_since
from console.frame.rounds import KINDS
from console.quorum import queries as quorum
from console.reports import queries as reports
from jobs.checks import crosslog as rules
from jobs.checks.crosslog import Failed, FollowedLog, LateRounds, ProgramRestart
from jobs.findings import Finding

# Returns total and free bytes of the volume of a folder; raises `OSError`.
Space = Callable[[Path], tuple[int, int]]
RESTARTS_WITHIN = timedelta(days=30)
DELIVERIES_WITHIN = timedelta(hours=24)
_ALWAYS = {
    one.id
    for one in (
        rules.LATE,
        rules.RESTARTED,
        rules.CRASHED,
        rules.NOT_DELIVERED,
        rules.REPORT,
    )
}


def space_of(folder: Path) -> tuple[int, int]:
    """Return total and free bytes of the volume of a folder."""
    usage = shutil.disk_usage(folder)
    return usage.total, usage.free


def judge(given: Given, space: Space = space_of) -> Iterator[Judged]:
    """Judge crosslog on this machine, then the follower of each cluster."""
    now, thresholds = given.now, given.settings
    restarts = (
        ProgramRestart(one.program, one.at, one.silent_s, Path(one.log).name, one.crash)
        for one in restarts_since(settings.SIGNS_DIR, now - RESTARTS_WITHIN)
    )
    found = [
        *rules.late(_late(given), thresholds, now),
        *rules.programs(restarts, thresholds, now),
        *rules.failed(rules.NOT_DELIVERED, _deliveries(now), thresholds),
        *rules.failed(rules.REPORT, _reports(), thresholds),
    ]
    yield Judged(None, _ALWAYS, tuple(found))
    yield from _disk(given, space)
    for log in quorum.cluster_logs():
        cluster = log.cluster
        if cluster is None:
            continue
        behind = max((log.high_watermark or 0) - log.next_offset, 0)
        told = log.heard_at, log.failing_since, log.error, log.hint, behind
        judged: Iterable[Finding] = ()
        if cluster.is_enabled and log.is_fetched:
            row = FollowedLog(cluster.pk, cluster.alias, *told)
            judged = rules.follower(row, thresholds, now)
        yield Judged(cluster, {rules.FOLLOWER.id}, tuple(judged))


def _late(given: Given) -> Iterator[LateRounds]:
    """Return what is late of each kind; for how long comes from the rounds before, not from the clock."""
    values = given.settings.values(rules.LATE) or rules.LATE.defaults
    since = given.now - timedelta(seconds=values["late_s"])
    known, given.memory = given.memory, {}
    for name, kind in KINDS.items():
        rows, due_at = kind.rounds.overdue(since) if kind.rounds else (0, None)
        if rows:
            late_s = known[name] + given.passed_s if name in known else 0.0
            given.memory[name] = late_s
            yield LateRounds(name, kind.queue, rows, due_at, late_s)


def _disk(given: Given, space: Space) -> Iterator[Judged]:
    home = settings.CROSSLOG_HOME
    try:
        total, free = space(home)
    except OSError:
        return
    found = rules.disk(str(home), total, free, given.settings)
    yield Judged(None, {rules.DISK.id}, tuple(found))


def _deliveries(now: datetime) -> Iterator[Failed]:
    found: dict[Any, list[Any]] = {}
    for row in delivery.failed_deliveries(now - DELIVERIES_WITHIN):
        found.setdefault(row.run or row.sender, []).append(row)
    for of, rows in found.items():
        channels = ", ".join(dict.fromkeys(row.get_channel_display() for row in rows))
        to = f"{len(rows)} recipient{'' if len(rows) == 1 else 's'} ({channels})"
        subject = f"{'run' if rows[0].run_id else 'channel'} {of and of.pk}"
        name = of.name if of else rows[0].subject
        yield Failed(subject, name, datetime.fromisoformat(rows[0].log[-1]["at"]), to)


def _reports() -> Iterator[Failed]:
    for row in reports.failed_runs():
        why = "" if row.for_admins else row.error
        yield Failed(f"report {row.report_id}", row.name, row.finished_at, why)


AREA = Area("crosslog", judge)

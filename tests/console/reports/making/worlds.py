"""Reports that are wanted, and the making of them in this process."""

from datetime import UTC, datetime, timedelta
from typing import Any

from console.accounts.models import User
from console.reports.actions import create_report
from console.reports.making import building
from console.reports.models import Report, ReportRun, RunState, Trigger

NOW = datetime(2026, 11, 23, 7, 0, tzinfo=UTC)
WEEK = (datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC))


def make_report(owner: User, kind: str = "disaster-recovery", **given: Any) -> Report:
    values = {"kind": kind, "name": "Weekly", **given}
    return create_report(values, owner, NOW)


def queue_run(person: User | None, kind: str = "disaster-recovery", **fields: Any) -> ReportRun:
    values = {
        "name": "Weekly",
        "kind": kind,
        "period_start": WEEK[0],
        "period_end": WEEK[1],
        "period_name": "last-week",
        "person": person,
        "trigger": Trigger.PERSON,
        "formats": ["pdf"],
        "created_at": NOW,
    } | fields
    return ReportRun.objects.create(**values)


def make(run: ReportRun, now: datetime = NOW) -> ReportRun:
    """Claim a run and make it here."""
    assert building.claim(run.pk, now)
    building.make(run.pk, now)
    run.refresh_from_db()
    return run


def ready_run(person: User, **fields: Any) -> ReportRun:
    """Make a run that is ready, with its files."""
    run = make(queue_run(person, **fields), NOW + timedelta(seconds=3))
    assert run.state == RunState.READY, run.error
    return run

"""Reports on a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.reports.actions import queue_run
from console.reports.models import LIVE, Report, ReportRun, Trigger
from console.reports.queries import SCHEDULE_KIND, may_change
from console.schedules.models import Schedule
from console.schedules.starters import Started, Starter
from jobs.cluster.errors import InvalidFields
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import LABELS, PeriodName


def validate(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the id of a report; raises `InvalidFields`."""
    found = _report(given)
    if found is None or set(given) != {"report"}:
        raise InvalidFields({"report": "The id of a report is needed."})
    return {"report": found.pk}


def start(schedule: Schedule, person: User, now: datetime) -> Started:
    """Queue the report, with the rights of its owner; the person has to be one who may make it."""
    report = _report(schedule.arguments)
    if report is None:
        raise ActionRefused("gone", "The report is not there any more: delete the schedule.")
    if not may_change(report, person):
        raise ActionRefused("not_allowed", f"{person.get_username()} may not make {report.name}.")
    run = queue_run(report, Trigger.SCHEDULE, now)
    return Started(str(run.pk), f"{report.name}, {run.period.label}.")


def is_going_on(schedule: Schedule) -> bool:
    """Say whether the last one is not made yet."""
    ref = schedule.last_ref
    return bool(ref) and ReportRun.objects.filter(pk=UUID(ref), state__in=LIVE).exists()


def href(ref: str) -> str:
    """Return the page of a report that was made."""
    return reverse("reports:run", args=[ref])


def describe(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a report as people read it."""
    report = _report(given)
    if report is None:
        return [("Report", "not there any more")]
    kind = KINDS[report.kind].title if report.kind in KINDS else report.kind
    return [
        ("Report", report.name),
        ("Kind of report", kind),
        ("Period", LABELS[PeriodName(report.period)]),
        ("Recipients", report.shown_recipients or "none: it is stored and can be downloaded"),
    ]


def _report(given: Mapping[str, Any]) -> Report | None:
    number = given.get("report")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        return None
    return Report.objects.select_related("owner").filter(pk=number).first()


STARTER = Starter(SCHEDULE_KIND, "Report", validate, start, is_going_on, href, describe)

"""Changes to reports and their runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from console.accounts.asked_rights import acting, rights_asked
from console.accounts.audit import audit, change
from console.accounts.models import User
from console.broker import is_redis_there
from console.frame.errors import ActionRefused
from console.reports import queries
from console.reports.definition import COPIED, check_definition
from console.reports.making import store
from console.reports.models import LIVE, Report, ReportRun, RunState, Trigger
from console.reports.subjects import clusters_of, names_of, subjects_of
from console.schedules.models import Schedule
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import Period, named_period

CHANGEABLE = (*(name for name in COPIED if name != "kind"), "period")
# More reports of one person are not made at once: each of them costs a minute of a processor.
MOST_LIVE = 5
PREVIEW_KEEP_DAYS = 30
WAKE_WITHIN_S = 30


@change("report.create")
def create_report(given: Mapping[str, Any], person: User, now: datetime) -> Report:
    """Keep a report, made with the rights of this person; raises `InvalidFields`."""
    values = check_definition(given, person)
    with transaction.atomic():
        report = Report.objects.create(
            owner=person, asked_with=rights_asked(person), created_at=now, **values
        )
        audit("report.create", _subject_of(report), after=values)
    return report


@change("report.change")
def change_report(report_id: int, given: Mapping[str, Any], person: User) -> Report:
    """Change what is wanted of a report; one that is not made any more becomes this person's.

    Without `subjects` they stay, also those that this person does not see. Raises `InvalidFields` and
    `ActionRefused`.
    """
    with transaction.atomic():
        report = _held(report_id, person)
        before = {name: getattr(report, name) for name in CHANGEABLE}
        seen = names_of(report.kind, report.subjects, person)
        values = check_definition(
            {**before, "subjects": seen, **given, "kind": report.kind}, person
        )
        if "subjects" not in given:
            values["subjects"] = report.subjects
        for name in CHANGEABLE:
            setattr(report, name, values[name])
        is_renewed = report.owner == person and person.acting_token is None
        if is_renewed or queries.why_stopped(report):
            report.owner, report.asked_with = person, rights_asked(person)
        report.save()
        after = {name: values[name] for name in CHANGEABLE}
        audit("report.change", _subject_of(report), before=before, after=after)
    return report


@change("report.delete")
def delete_report(report_id: int, person: User) -> None:
    """Delete a report and its schedules; what was made of it stays."""
    with transaction.atomic():
        report = _held(report_id, person)
        audit("report.delete", _subject_of(report), before={"name": report.name})
        keys = [one.pk for one in queries.list_schedules(report)]
        Schedule.objects.filter(pk__in=keys).delete()
        report.delete()


@change("report.run")
def run_report(
    report_id: int, person: User, now: datetime, period: Period | None = None
) -> ReportRun:
    """Make a report now and deliver it, of its own period or of another; raises `ActionRefused`."""
    with transaction.atomic():
        run = queue_run(_held(report_id, person), Trigger.PERSON, now, period)
        audit("report.run", f"report-run:{run.pk}", after={"name": run.name, **_told(run.period)})
    return run


@change("report.preview")
def preview(
    given: Mapping[str, Any], person: User, now: datetime, period: Period | None = None
) -> ReportRun:
    """Create a report once, for this user alone: it has no recipients.

    Raises `InvalidFields` and `ActionRefused`.
    """
    values = check_definition({**given, "recipients": [], "keep_days": PREVIEW_KEEP_DAYS}, person)
    wanted = period or named_period(values.pop("period"), values["time_zone"], now)
    values.pop("period", None)
    with transaction.atomic():
        run = _queue(values, person, Trigger.PREVIEW, wanted, now)
        audit("report.preview", f"report-run:{run.pk}", after={"kind": run.kind, **_told(wanted)})
    return run


@change("report.remove_run")
def remove_run(run_id: UUID, person: User) -> None:
    """Remove a report that was made, with its files and what is still to be delivered."""
    run = queries.get_run(run_id, person)
    if run is None or run.is_live:
        raise ActionRefused("not_removable", "The report is still being created, or was removed.")
    with transaction.atomic():
        audit("report.remove_run", f"report-run:{run.pk}", before={"name": run.name})
        run.delete()
    store.remove_files(ReportRun(pk=run_id))


def queue_run(
    report: Report, trigger: Trigger, now: datetime, period: Period | None = None
) -> ReportRun:
    """Queue the making of a report in the name of its owner; raises `ActionRefused`."""
    why = queries.why_stopped(report)
    if why:
        text = (
            f"Report {report.name} cannot be created: {why} Save its settings to become its owner."
        )
        raise ActionRefused("no_owner", text)
    owner = acting(report.owner, report.asked_with, clusters=None)
    wanted = period or named_period(report.period, report.time_zone, now)
    values = {name: getattr(report, name) for name in COPIED}
    return _queue(values, owner, trigger, wanted, now, report)


def remove_old_runs(now: datetime) -> int:
    """Remove what was kept for long enough, with its files; return how many."""
    ended = ReportRun.objects.exclude(state__in=LIVE)
    removed = 0
    for days in ended.values_list("keep_days", flat=True).distinct().order_by("keep_days"):
        old = ended.filter(keep_days=days, created_at__lt=now - timedelta(days=days))
        for run in old[:500]:
            store.remove_files(run)
            removed += int(ReportRun.objects.filter(pk=run.pk).delete()[0] > 0)
    return removed


def _queue(
    values: Mapping[str, Any],
    person: User,
    trigger: Trigger,
    period: Period,
    now: datetime,
    report: Report | None = None,
) -> ReportRun:
    if trigger is not Trigger.SCHEDULE:
        live = ReportRun.objects.filter(person=person, state__in=LIVE).count()
        if live >= MOST_LIVE:
            text = f"{live} reports of {person.get_username()} are being created. Wait until one is ready."
            raise ActionRefused("too_many", text)
    clusters = clusters_of(subjects_of(values["kind"], values["subjects"], person))
    run = ReportRun.objects.create(
        report=report,
        cluster_count=len(clusters),
        person=person,
        asked_with=rights_asked(person),
        trigger=trigger,
        period_start=period.start,
        period_end=period.end,
        period_name=period.name,
        for_admins=KINDS[values["kind"]].for_admins,
        created_at=now,
        state=RunState.QUEUED,
        **values,
    )
    run.clusters.set(clusters)
    transaction.on_commit(_wake, robust=True)
    return run


def _wake() -> None:
    """Let a worker make it now; while Redis is away, the next round does."""
    from console.reports.tasks import make_due

    if is_redis_there(settings.REDIS_URL):
        make_due.apply_async(expires=WAKE_WITHIN_S, retry=False)


def _held(report_id: int, person: User) -> Report:
    """Return the row of a report that this person may change; raises `ActionRefused`, PermissionDenied."""
    report = Report.objects.select_for_update().filter(pk=report_id).first()
    if report is None or queries.get_report(report_id, person) is None:
        raise ActionRefused("gone", "The report was deleted.")
    queries.require_change(report, person)
    return report


def _subject_of(report: Report) -> str:
    return f"report:{report.pk}"


def _told(period: Period) -> dict[str, Any]:
    told = period.to_mapping()
    return {"from": told["start"], "to": told["end"]}

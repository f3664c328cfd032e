"""Reads of reports and of what was made of them, for the person who looks."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery

from console.accounts.asked_rights import NO_PERSON, why_ended
from console.delivery.models import Delivery
from console.frame.errors import ActionRefused
from console.frame.security.access import can, can_anywhere, visible
from console.reports.making import store
from console.reports.models import Report, ReportRun, RunState, Trigger
from console.schedules.models import Schedule
from jobs.reports.document import Document
from jobs.reports.kinds.kind import KINDS
from jobs.reports.rendering.formats import Format

# The kind of schedules that make reports.
SCHEDULE_KIND = "report"


def list_reports(person: Any) -> QuerySet[Report]:
    """Return the reports that a person may see, each with `last_run_id`, `last_state` and `last_at`."""
    newest = ReportRun.objects.filter(report=OuterRef("pk")).order_by("-created_at")
    rows = Report.objects.select_related("owner").annotate(
        last_run_id=Subquery(newest.values("pk")[:1]),
        last_state=Subquery(newest.values("state")[:1]),
        last_at=Subquery(newest.values("created_at")[:1]),
    )
    return visible(person, rows)


def get_report(report_id: int, person: Any) -> Report | None:
    """Return one report; None when there is none that the person may see."""
    return list_reports(person).filter(pk=report_id).first()


def list_runs(person: Any) -> QuerySet[ReportRun]:
    """Return what was made, as far as a person may see its clusters; of the audit log, only for admins."""
    rows = visible(person, ReportRun.objects.select_related("report", "person"))
    return rows if can(person, "administer") else rows.filter(for_admins=False)


def get_run(run_id: UUID, person: Any) -> ReportRun | None:
    """Return one run; None when there is none that the person may see."""
    return list_runs(person).filter(pk=run_id).first()


def list_deliveries(run: ReportRun) -> list[Delivery]:
    """Return how a run reached its recipients."""
    return list(run.deliveries.all())


def failed_runs() -> QuerySet[ReportRun]:
    """Return the last run of each report that failed, previews left out."""
    over = ReportRun.objects.filter(
        report=OuterRef("pk"), state__in=(RunState.READY, RunState.FAILED)
    )
    newest = over.exclude(trigger=Trigger.PREVIEW).order_by("-created_at").values("pk")
    last = Report.objects.annotate(last=Subquery(newest[:1])).values("last")
    return ReportRun.objects.filter(pk__in=last, state=RunState.FAILED).order_by("name", "pk")


def list_schedules(report: Report) -> list[Schedule]:
    """Return the schedules that make a report."""
    rows = Schedule.objects.filter(kind=SCHEDULE_KIND, arguments__report=report.pk)
    return list(rows.order_by("name", "pk"))


def why_stopped(report: Report | ReportRun) -> str:
    """Return why a report is not made, or what was made not sent, any more; empty while it is."""
    person = report.owner if isinstance(report, Report) else report.person
    asked = report.asked_with
    if isinstance(report, Report) and person is None:
        return NO_PERSON
    if report.kind in KINDS and KINDS[report.kind].for_admins:
        return why_ended(person, asked, "administer")
    shown = () if isinstance(report, Report) else report.clusters.values_list("pk", flat=True)
    return why_ended(person, asked, "view", list(shown) or None)


def may_change(report: Report, person: Any) -> bool:
    """Say whether a person may change a report: its owner, and operators of everything.

    A token of the owner that is for some clusters only changes what it asked for itself.
    """
    if report.kind in KINDS and KINDS[report.kind].for_admins and not can(person, "administer"):
        return False
    token = getattr(person, "acting_token", None)
    is_own = report.owner_id == person.pk
    if token is not None:
        is_own = is_own and report.asked_with.get("token") == token.pk
    return (is_own and can_anywhere(person, "operate")) or can(person, "operate")


def require_change(report: Report, person: Any) -> None:
    """Raise PermissionDenied where a person may not change a report."""
    if not may_change(report, person):
        raise PermissionDenied("Only its owner or an operator of all clusters may do this.")


def where_run(run_id: UUID | None = None, pk: str = "", **_: Any) -> Collection[int]:
    """Return the clusters of a run, for the guard of pages and routes; none: the right everywhere."""
    run = ReportRun.objects.filter(pk=run_id or pk).first()
    found = list(run.clusters.values_list("pk", flat=True)) if run else []
    # No user can get rights on a cluster that was removed.
    return found if run and len(found) == run.cluster_count else ()


def read_document(run: ReportRun) -> Document:
    """Return the document of a run; raises `ActionRefused` when there is none."""
    if run.state != RunState.READY:
        raise ActionRefused("not_ready", "This report is not there yet.")
    return Document.from_mapping(json.loads(store.read_file(run, Format.JSON)))

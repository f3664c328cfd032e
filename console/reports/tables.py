"""The tables of reports, and of what was made."""

from __future__ import annotations

from django.urls import reverse

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.reports.models import Report, ReportRun, RunState, Trigger
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import LABELS, PeriodName

KIND_CHOICES = [(one.kind, one.title) for one in KINDS.values()]


def kind_title(kind: str) -> str:
    """Return the title of a kind; the word itself of one that is gone."""
    return KINDS[kind].title if kind in KINDS else kind


def _period(name: str) -> str:
    return LABELS[PeriodName(name)] if name in set(PeriodName) else name


def _page(report: Report) -> str:
    return reverse("reports:detail", args=[report.pk])


def _run_page(run: ReportRun) -> str:
    return reverse("reports:run", args=[run.pk])


_KIND = Choice("Kind", KIND_CHOICES, equals("kind"))
REPORTS = Table(
    (
        Column("name", "Name", "name", link=_page),
        Column("kind", "Kind", "kind", format=kind_title),
        Column("period", "Period", "period", format=_period),
        Column("last_at", "Last run", "last_at", template="reports/cells/last.html"),
        Column("shown_recipients", "Recipients"),
        Column(
            "owner.username", "Owner", definition="The report uses the permissions of its owner."
        ),
        Column("time_zone", "Time zone", "time_zone", is_hidden=True),
    ),
    search=("name", "kind"),
    filters={"kind": _KIND},
    default_sort="name",
)
RUNS = Table(
    (
        Column("created_at", "Created", "created_at", template="reports/cells/made.html"),
        Column("name", "Report", "name", link=_run_page),
        Column("kind", "Kind", "kind", format=kind_title),
        Column("period_end", "Period", "period_end", template="reports/cells/period.html"),
        Column("state", "State", "state", template="reports/cells/state.html"),
        Column("headline", "Verdict", template="reports/cells/headline.html"),
        Column("trigger", "Started by", "trigger", template="reports/cells/trigger.html"),
    ),
    search=("name", "kind", "headline"),
    filters={
        "kind": _KIND,
        "state": Choice("State", RunState.choices, equals("state")),
        "trigger": Choice("Started by", Trigger.choices, equals("trigger")),
    },
    default_sort="-created_at",
)

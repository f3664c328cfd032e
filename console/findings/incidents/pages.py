"""Pages of incidents: the list, one incident, and what people do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from console.accounts.asked_rights import person_of
from console.findings.incidents import actions, queries
from console.findings.incidents.forms import FORMS, forms_of
from console.findings.incidents.models import SEVERITIES, Incident, State, Subject
from console.findings.pages import COLUMNS as OF_FINDINGS
from console.findings.pages import cluster_menu
from console.findings.queries import list_findings, with_names
from console.frame.errors import or_404
from console.frame.pages.addresses import address_of
from console.frame.pages.forms import ActionForm, attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from jobs.checks.check import CHECKS

_CELL = "findings/incidents/cells/"
_MOMENT = "findings/cells/moment.html"
_STATES = [*State.choices, (queries.ALL, "All")]
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
# The page of a subject within its cluster.
_PAGES = {
    Subject.CLUSTER: "clusters:detail",
    Subject.BROKER: "availability:brokers",
    Subject.PARTITIONS: "availability:partitions",
    Subject.QUORUM: "quorum:detail",
    Subject.OBSERVERS: "availability:promotion",
}
_PAGES_OF_NAME = {Subject.GROUP: "clusters:group", Subject.STREAMS: "streams:detail"}


_BUTTONS = {
    one.__name__: one for one in (actions.acknowledge, actions.unacknowledge, actions.unsilence)
}
_CHANGES: dict[str, Callable[..., Incident]] = {
    "silence": actions.silence,
    "owner": actions.set_owner,
    "note": actions.set_note,
}


def _label(state: str) -> str:
    return State(state).label


INCIDENTS = Table(
    (
        Column("severity", "Severity", "rank", template=f"{_CELL}severity.html"),
        Column("title", "Incident", "title", link="href"),
        Column("place", "Where", "scope_name"),
        Column("state", "State", "state", format=_label),
        Column("began_at", "Began", "began_at", template=_MOMENT),
        Column("duration_ms", "Duration", template=f"{_CELL}duration.html"),
        Column("ended_at", "Resolved", "ended_at", template=_MOMENT, is_hidden=True),
        Column("finding_count", "Findings", "finding_count", numeric=True),
        Column("owner.username", "Owner", "owner__username"),
        Column("sentence", "Description", csv="sentence", is_hidden=True),
        Column("subject_kind", "Kind", "subject_kind", is_hidden=True),
        Column("subject", "Subject", "subject", is_hidden=True),
        Column("check_id", "Check", "check_id", is_hidden=True),
        Column("note", "Note", is_hidden=True),
    ),
    search=("title", "sentence", "subject", "check_id", "scope_name", "owner__username"),
    filters={
        "severity": Choice("Severity", SEVERITIES, equals("severity")),
        "kind": Choice("Kind", Subject.choices, equals("subject_kind")),
        "state": Choice("State", _STATES, queries.of_state, otherwise="not resolved"),
    },
    default_sort="-severity",
    ties=("began_at", "pk"),
)
FINDINGS = Table(
    tuple(OF_FINDINGS.values()),
    search=("sentence", "subject", "code"),
    default_sort="-severity",
    ties=("-opened_at", "pk"),
    name="findings",
)


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show incidents of all clusters, those that are not resolved by default."""
    rows = with_names(queries.list_incidents())
    if request.GET.get("state") not in dict(_STATES):
        rows = rows.filter(ended_at=None)
    table = _with_menus(request).read(request, rows, "incidents")
    return render_page(request, "findings/incidents/list.html", {"table": table}, is_live=True)


@require_safe
@page("view", queries.where)
def detail_page(request: HttpRequest, incident_id: int) -> HttpResponseBase:
    """Show an incident: cause, effects, what to do, timeline, findings."""
    return _detail(request, _incident(request, incident_id))


@require_POST
@page("operate", queries.where)
def change(request: HttpRequest, incident_id: int, name: str) -> HttpResponseBase:
    """Do one of the actions; a refused form is shown again with its errors."""
    row, user, now = _incident(request, incident_id), person_of(request), timezone.now()
    if name not in FORMS:
        is_removed = name == "acknowledge" and request.POST.get("is_acknowledged") == "false"
        do = _BUTTONS["unacknowledge" if is_removed else name]
        attempt(request, lambda: do(row, user, now))
        return redirect(row.href)
    form: Any = FORMS[name](request.POST, auto_id=f"{name}-%s")
    if form.is_valid() and form.attempt(
        lambda: _CHANGES[name](row, form.cleaned_data[name], user, now)
    ):
        return redirect(row.href)
    return _detail(request, row, form)


def _detail(request: HttpRequest, row: Incident, refused: ActionForm | None = None) -> HttpResponse:
    rows = with_names(list_findings().filter(incident=row))
    context = {
        "incident": row,
        "events": row.events.all(),
        "again": _again(queries.count_alike(row)),
        "check": CHECKS.by_id.get(row.check_id),
        "subject": _subject(row),
        "subject_href": _subject_page(row),
        "table": FINDINGS.read(request, rows, f"incident-{row.pk}-findings"),
        "forms": forms_of(row, refused),
        "is_resolved": row.ended_at is not None,
    }
    if refused:
        # The address of a form has no page.
        context["own_address"] = row.href
    return render_page(request, "findings/incidents/detail.html", context, is_live=True)


def _incident(request: HttpRequest, incident_id: int) -> Incident:
    return or_404(
        queries.get_incident(request.user, incident_id), f"There is no incident {incident_id}."
    )


def _again(count: int) -> str:
    """Return `3rd time in 24 h`; empty for the first time."""
    is_teen = count // 10 % 10 == 1
    end = "th" if is_teen else _ORDINALS.get(count % 10, "th")
    return f"{count}{end} time in 24 h" if count > 1 else ""


def _subject(row: Incident) -> str:
    """Return `Broker 3`, `Partitions`, `Flow orders`: where it is, if it is that as a whole."""
    whole = (Subject.CLUSTER, Subject.QUORUM, Subject.FLOW, Subject.CROSSLOG)
    if row.subject_kind in whole:
        return row.place
    return f"{row.get_subject_kind_display()} {row.subject}".rstrip()


def _subject_page(row: Incident) -> str:
    kind, alias = Subject(row.subject_kind), row.cluster.alias if row.cluster else ""
    if row.flow_id is not None:
        return reverse("replication:detail", args=[row.flow_id])
    if row.log is not None:
        return reverse("quorum:detail", args=[row.log.name])
    if alias and kind in _PAGES_OF_NAME:
        return address_of(_PAGES_OF_NAME[kind], alias, row.subject)
    return reverse(_PAGES[kind], args=[alias]) if alias and kind in _PAGES else ""


def _with_menus(request: HttpRequest) -> Table:
    """Return the table with menus of the clusters and of the checks that open incidents."""
    checks = [(one.id, one.title) for one in CHECKS.by_id.values() if not one.is_advice]
    menus = {
        "cluster": cluster_menu(request),
        "check": Choice("Check", checks, equals("check_id")),
    }
    return replace(INCIDENTS, filters={**INCIDENTS.filters, **menus})

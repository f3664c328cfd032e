"""Pages of incidents: the list, one incident, and what people do with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from console.accounts.asked_rights import person_of
from console.clusters.models import Cluster
from console.findings.incidents import actions, queries
from console.findings.incidents.forms import FORMS, forms_of
from console.findings.incidents.models import SEVERITIES, Incident, State, Subject
from console.findings.pages import COLUMNS as OF_FINDINGS
from console.findings.queries import list_findings, on_cluster
from console.findings.queries import with_names as with_scopes
from console.findings.serializers import ALL
from console.frame.errors import or_404
from console.frame.pages.addresses import address_of
from console.frame.pages.forms import ActionForm, attempt
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page, visible
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from jobs.checks.check import CHECKS

_CELL = "findings/incidents/cells/"
_MOMENT = "findings/cells/moment.html"
_STATES = [*State.choices, (ALL, "All")]
_ORDINALS = {2: "nd", 3: "rd"}
_TEENS = range(11, 14)
# The page of a subject within its cluster.
_PAGES = {
    Subject.CLUSTER: "clusters:detail",
    Subject.BROKER: "availability:brokers",
    Subject.PARTITIONS: "availability:partitions",
    Subject.QUORUM: "quorum:detail",
    Subject.OBSERVERS: "availability:promotion",
}
_PAGES_OF_NAME = {Subject.GROUP: "clusters:group", Subject.STREAMS: "streams:detail"}


def _page(row: Incident) -> str:
    return reverse("findings:incident", args=[row.pk])


def _in_state(rows: QuerySet[Incident], state: str) -> QuerySet[Incident]:
    return rows if state == ALL else queries.of_state(rows, state)


def _label(state: str) -> str:
    return State(state).label


INCIDENTS = Table(
    (
        Column("severity", "Severity", "rank", template=f"{_CELL}severity.html"),
        Column("title", "Incident", "title", link=_page),
        Column("where", "Where", "scope_name"),
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
        "state": Choice("State", _STATES, _in_state, otherwise="not resolved"),
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
    rows = queries.with_names(queries.list_incidents())
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
def acknowledge(request: HttpRequest, incident_id: int) -> HttpResponse:
    """Acknowledge it, or remove the acknowledgement."""
    is_removed = request.POST.get("is_acknowledged") == "false"
    do = actions.unacknowledge if is_removed else actions.acknowledge
    row = _incident(request, incident_id)
    attempt(request, lambda: do(row, person_of(request), timezone.now()))
    return redirect("findings:incident", row.pk)


@require_POST
@page("operate", queries.where)
def unsilence(request: HttpRequest, incident_id: int) -> HttpResponse:
    row = _incident(request, incident_id)
    attempt(request, lambda: actions.unsilence(row, person_of(request), timezone.now()))
    return redirect("findings:incident", row.pk)


@require_POST
@page("operate", queries.where)
def silence(request: HttpRequest, incident_id: int) -> HttpResponseBase:
    return _change(request, incident_id, "silence")


@require_POST
@page("operate", queries.where)
def owner(request: HttpRequest, incident_id: int) -> HttpResponseBase:
    return _change(request, incident_id, "owner")


@require_POST
@page("operate", queries.where)
def note(request: HttpRequest, incident_id: int) -> HttpResponseBase:
    return _change(request, incident_id, "note")


def _change(request: HttpRequest, incident_id: int, name: str) -> HttpResponseBase:
    """Take one of the forms; a refused one is shown again with its errors."""
    row, user, now = _incident(request, incident_id), person_of(request), timezone.now()
    form: Any = FORMS[name](request.POST, auto_id=f"{name}-%s")

    def do() -> object:
        if name == "silence":
            return actions.silence(row, form.end(now), user, now)
        write = actions.set_owner if name == "owner" else actions.set_note
        return write(row, form.cleaned_data[name], user, now)

    if form.is_valid() and form.attempt(do):
        return redirect("findings:incident", row.pk)
    return _detail(request, row, form)


def _detail(request: HttpRequest, row: Incident, refused: ActionForm | None = None) -> HttpResponse:
    rows = with_scopes(list_findings().filter(incident=row))
    check = CHECKS.by_id.get(row.check_id)
    context = {
        "incident": row,
        "events": row.events.all(),
        "again": _again(queries.count_alike(row)),
        "check": check,
        "subject": _subject(row),
        "subject_href": _subject_page(row),
        "what_if": _what_if(row),
        "table": FINDINGS.read(request, rows, f"incident-{row.pk}-findings"),
        "forms": forms_of(row, refused),
        "is_resolved": row.ended_at is not None,
    }
    if refused:
        # The address of a form has no page.
        context["own_address"] = _page(row)
    return render_page(request, "findings/incidents/detail.html", context, is_live=True)


def _incident(request: HttpRequest, incident_id: int) -> Incident:
    return or_404(
        queries.get_incident(request.user, incident_id), f"There is no incident {incident_id}."
    )


def _again(count: int) -> str:
    """Return `3rd time in 24 h`; empty for the first time."""
    if count <= 1:
        return ""
    end = "th" if count % 100 in _TEENS else {1: "st", **_ORDINALS}.get(count % 10, "th")
    return f"{count}{end} time in 24 h"


def _subject(row: Incident) -> str:
    """Return `Broker 3`, `Partitions`, `Flow orders`: where it is, if it is that as a whole."""
    whole = (Subject.CLUSTER, Subject.QUORUM, Subject.FLOW, Subject.CROSSLOG)
    if row.subject_kind in whole:
        return row.where
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


def _what_if(row: Incident) -> str:
    """Return the address of the failure simulation without its brokers; empty for none."""
    if not row.brokers or row.cluster is None:
        return ""
    steps = ",".join(f"broker:{one}" for one in row.brokers)
    return f"{reverse('availability:what-if', args=[row.cluster.alias])}?steps=lose:{steps}"


def _with_menus(request: HttpRequest) -> Table:
    """Return the table with menus of the clusters and of the checks that open incidents."""
    aliases = visible(request.user, Cluster.objects.order_by("alias")).values_list(
        "alias", flat=True
    )
    checks = [(one.id, one.title) for one in CHECKS.by_id.values() if not one.is_advice]
    menus = {
        "cluster": Choice("Cluster", [(one, one) for one in aliases], on_cluster),
        "check": Choice("Check", checks, equals("check_id")),
    }
    return replace(INCIDENTS, filters={**INCIDENTS.filters, **menus})

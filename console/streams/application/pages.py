"""The page of one application, and the form of its description."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from console.frame.pages.addresses import address_of
from console.frame.pages.forms import ActionForm, attempt
from console.frame.pages.render import render_page
from console.frame.pages.states import severity_of, spoken
from console.frame.security.access import page
from console.frame.tables.page import cut
from console.replication.checkpoints import queries as checkpoints
from console.streams import actions, equivalents, page_context, queries
from console.streams.application.differences import compare
from console.streams.application.lag_rows import BY_LAG, BY_TASK, lag_rows, sources_of
from console.streams.application.matrix import compact_rows, is_compact, matrix_of
from console.streams.application.probes import Probed, probe_application
from console.streams.models import StreamsApplication
from console.streams.page_context import around_application, find_application
from console.streams.snapshots import Picture, picture_of
from jobs.limits import sentences
from jobs.numbers import format_count, format_least, format_percent, format_span_ms
from jobs.streams.application import Application
from jobs.streams.assembly import fitting
from jobs.streams.audit.routing import MISSING, SHARED, UNREACHABLE
from jobs.streams.endpoints import FaultKind, endpoint_faults
from jobs.streams.probes import endpoints_of
from jobs.streams.topology.graph import (
    ListedNode,
    TopologyGraph,
    by_subtopologies,
    dot_of,
    graph_of_application,
    graph_of_description,
    outline_of,
)
from jobs.streams.topology.reading import MOST_BYTES

MOST_STANDBYS = MOST_DIFFERENCES = 20


@require_safe
@page("view", queries.where)
def detail_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Show one application: who runs what, stores, threads, lag, metadata, topology."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    application = picture.application
    query = request.GET
    order = BY_TASK if query.get("order") == BY_TASK else BY_LAG
    sources = picture.once(f"sources {order}", lambda: sources_of(picture, order))
    stores = list(application.stores.values())
    threads = [(each, one) for each in application.processes for one in each.threads]
    costs = picture.once("costs", lambda: _dearest_first(picture))
    through = checkpoints.answers_for_application(row, request.user, timezone.now())
    compared = picture.lasting("compared", lambda: compare(picture))
    findings = queries.findings_of(row)
    context = {
        **around_application(row, picture, "detail"),
        "facts": application_facts(row, application),
        "findings": findings,
        "cautions": unsaid_cautions(picture, {one.code for one in findings}),
        **picture.lasting("matrix", lambda: _matrix(picture)),
        "stores": cut(stores, len(stores), query, "stores"),
        "threads": cut(threads, len(threads), query, "threads"),
        "lags": cut(
            lambda first, most: lag_rows(picture, sources[first : first + most]),
            len(sources),
            query,
            "lags",
        ),
        "lag_order": order,
        "standbys": picture.once("standbys", lambda: _furthest_behind(picture)),
        "standby_count": len(picture.standby_lags),
        "failover": cut(through, len(through), query, "failover"),
        "costs": cut(costs, len(costs), query, "costs"),
        "compared": compared,
        "differences": compared.different[:MOST_DIFFERENCES],
        "topology": picture.lasting("topology", lambda: topology_of(picture)),
        "probes_href": address_of("streams:probes", alias, application_id),
        "description_href": address_of("streams:description", alias, application_id),
        "equivalents": equivalents.of_application(row),
        "task_equivalents": equivalents.of_tasks(row),
    }
    if context["is_compact"]:
        rows = context["compact"]
        context["compact"] = cut(rows, len(rows), query, "tasks")
    return render_page(request, "streams/application/detail.html", context, is_live=True)


@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", queries.where)
def description_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Paste, replace or remove what `Topology#describe()` printed."""
    row = find_application(alias, application_id)
    form = DescriptionForm(request.POST or None, initial={"description": row.description})
    if request.method == "POST" and form.is_valid():
        person: Any = request.user
        text = form.cleaned_data["description"]
        if form.attempt(lambda: actions.set_description(row, text, person, timezone.now())):
            messages.success(
                request, "Description saved." if text.strip() else "Description removed."
            )
            return redirect(address_of("streams:detail", alias, application_id))
    context = {
        **around_application(row, picture_of(row), "detail"),
        "form": form,
        "equivalents": equivalents.of_description(row),
    }
    return render_page(request, "streams/application/description.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("operate", queries.where)
def probes_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Probe the endpoints by POST, and show what came of it."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    person: Any = request.user
    found: list[Probed] = []
    if request.method == "POST":
        attempt(request, lambda: found.append(probe_application(row, person)))
    context = {
        **around_application(row, picture, "detail"),
        "found": found[0] if found else None,
        "endpoint_count": len(endpoints_of(picture.application)),
        "equivalents": equivalents.of_probes(row),
    }
    return render_page(request, "streams/application/probes.html", context)


_CODES = {
    FaultKind.MISSING: MISSING.id,
    FaultKind.SHARED: SHARED.id,
    FaultKind.UNREACHABLE: UNREACHABLE.id,
}


def unsaid_cautions(picture: Picture, open_codes: Collection[str]) -> list[str]:
    """Return the cautions of an application that none of its open findings says."""
    faults = picture.lasting("faults", lambda: endpoint_faults(picture.application))
    said = sentences([one.sentence for one in faults if _CODES.get(one.kind) in open_codes])
    return [one for one in picture.cautions if one not in said]


def _matrix(picture: Picture) -> dict[str, Any]:
    application = picture.application
    if is_compact(application):
        return {"is_compact": True, "compact": compact_rows(application), "blocks": []}
    return {"is_compact": False, "compact": [], "blocks": matrix_of(application)}


def _furthest_behind(picture: Picture) -> list[Any]:
    threads = {
        one.member_id: each.place for each in picture.application.processes for one in each.threads
    }
    worst = sorted(picture.standby_lags, key=lambda one: -(one.records or 0))[:MOST_STANDBYS]
    return [(one, threads.get(one.member_id, "")) for one in worst]


def _dearest_first(picture: Picture) -> list[Any]:
    return sorted(picture.restore_costs, key=lambda one: -(one[0].records or one[1].records or 0))


def application_facts(row: StreamsApplication, application: Application) -> list[dict[str, Any]]:
    """Return state, instances, tasks, lag and misrouted keys."""
    least = "at least " if row.left_out else ""
    return [
        {
            "label": "State",
            "value": spoken(row.state),
            "severity": severity_of(row.state).value,
            "note": _protocol(row, application),
            "definition": page_context.STATE,
        },
        {
            "label": "Instances",
            "value": f"{least}{format_count(row.instances)}",
            "note": f"{least}{format_count(row.threads)} threads",
            "definition": page_context.INSTANCES,
        },
        _tasks(row, least),
        {
            "label": "Input lag",
            "value": format_least(row.lag_records, row.lag_unknown_count or bool(least)),
            "note": _lag_note(row),
            "definition": page_context.LAG_AT_MOST,
        },
        {
            "label": "Event-time lag",
            "value": format_span_ms(row.event_time_lag_ms),
            "definition": page_context.EVENT_TIME_LAG,
        },
        _misrouted(row),
    ]


def _protocol(row: StreamsApplication, application: Application) -> str:
    text = f"{row.protocol} protocol"
    if application.generation is not None:
        text += f", epoch {format_count(application.generation)}"
    return text


def _lag_note(row: StreamsApplication) -> str:
    if row.lag_unknown_count:
        return f"records; of {format_count(row.lag_unknown_count)} source partitions not known"
    if not row.lag_at_most_ms:
        return "records"
    return f"records, the oldest at most {format_span_ms(row.lag_at_most_ms)} old"


def _tasks(row: StreamsApplication, least: str) -> dict[str, Any]:
    tasks = f"{least}{format_count(row.tasks)}"
    fact = {"label": "Tasks", "value": tasks, "definition": page_context.TASKS}
    if row.tasks_without_thread:
        lost = format_count(row.tasks_without_thread)
        return fact | {"severity": "critical", "note": f"{lost} without an active thread"}
    known = row.tasks_without_thread is not None and row.tasks
    return fact | {"note": "each with an active thread" if known else ""}


def _misrouted(row: StreamsApplication) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "label": "Misrouted keys",
        "value": format_percent(row.misrouted_share),
        "definition": page_context.MISROUTED,
    }
    if row.answers_wrong is None:
        return fact | {"note": "what the application answers is not known"}
    if row.answers_wrong:
        return fact | {
            "severity": "critical",
            "word": "Wrong answers",
            "note": "of its worst store",
        }
    return fact | {"severity": "healthy"}


class DescriptionForm(ActionForm):
    """What `Topology#describe()` printed."""

    description = forms.CharField(
        label="Topology#describe()",
        required=False,
        strip=False,
        max_length=MOST_BYTES,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "mono"}),
        help_text="Paste the whole output. It settles which subtopology has which store, and draws the "
        "topology. Save an empty text to remove it.",
    )


DESCRIBED, BY_BROKER = "from the pasted description", "from the description that the broker has"
UNUSED = "the pasted description is not that of what runs"
BROKER_UNUSED = "the description that the broker has is not that of what runs"
COARSE = "subtopologies only: paste Topology#describe() for processors and stores"


# What a browser lays out in a second or two.
MOST_NODES, MOST_EDGES = 250, 750


@dataclass(frozen=True, slots=True)
class TopologyPicture:
    """A graph for Graphviz and as a list; `note` says where it is from, or why it is not drawn."""

    note: str
    dot: str = ""
    outline: Sequence[tuple[str, Sequence[ListedNode]]] = ()
    kinds: Sequence[str] = ()


def topology_of(picture: Picture) -> TopologyPicture:
    """Return the topology; one that is too large is drawn by subtopologies, or not at all."""
    application, fit = picture.application, picture.fit
    if picture.description is not None and not fit.problems:
        described, _ = fitting(application, picture.facts, picture.description)
        graph, note = (
            graph_of_description(described),
            BY_BROKER if described.is_of_broker else DESCRIBED,
        )
        if not _is_drawable(graph):
            graph, note = by_subtopologies(graph), f"{note}; too large for single processors"
    else:
        graph = graph_of_application(application)
        is_of_broker = picture.description is not None and picture.description.is_of_broker
        unused = BROKER_UNUSED if is_of_broker else UNUSED
        note = f"{unused}: subtopologies as they run" if fit.problems else COARSE
    if not _is_drawable(graph):
        return TopologyPicture(
            f"A topology with {len(graph.nodes):,} nodes and {len(graph.edges):,} edges is too large to "
            f"draw here: at most {MOST_NODES:,} nodes and {MOST_EDGES:,} edges. crosslog streams --dot "
            "prints it for Graphviz."
        )
    kinds = dict.fromkeys(node.kind for node in graph.nodes)
    return TopologyPicture(note, dot_of(graph), outline_of(graph), tuple(kinds))


def _is_drawable(graph: TopologyGraph) -> bool:
    return len(graph.nodes) <= MOST_NODES and len(graph.edges) <= MOST_EDGES

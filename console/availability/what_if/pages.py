"""Pages of failure simulation: a scenario of steps, and the single-failure matrix."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.availability.page_context import around_cluster, find_cluster
from console.availability.placements import equivalents
from console.availability.what_if.cluster_models import snapshot_of
from console.availability.what_if.forms import WhatIfForm, next_step, targets_of, values_of
from console.availability.what_if.matrices import matrix_of
from console.availability.what_if.query import (
    WhatIfAnswer,
    WhatIfRequest,
    answer_for,
    query_of,
    read_query,
    write_steps,
)
from console.availability.what_if.simulation import KINDS, WhatIfResult
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.frame.pages.freshness import Freshness
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.page import cut
from jobs.availability.what_if.outcome import QuorumOutcome
from jobs.cluster.errors import InvalidFields
from jobs.numbers import format_count

NOTHING_MARKED = "No rack or node is selected. Select at least one below."
KIND_WORDS = (
    ("changed", "changed"),
    ("unwritable", "not writable"),
    ("unknown", "writability unknown"),
    ("offline", "without a leader"),
    ("at_risk", "with data at risk"),
    ("unclean", "that need an unclean election"),
    ("all", "all"),
)


@require_safe
@page("view", clusters.where)
def what_if_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the simulated effect of failures; nothing is changed."""
    cluster = find_cluster(alias)
    added = next_step(request.GET)
    if added:
        return redirect(_with_step(request, alias, added))
    form = WhatIfForm(values_of(request.GET.dict()))
    found = _try_simulate(cluster, request, form)
    asked = found.asked if found else WhatIfRequest()
    # After an invalid request the nodes of the current cluster are shown.
    snapshot = found.snapshot if found else snapshot_of(cluster)
    context = {
        **around_cluster(request, cluster, "what-if"),
        "form": form,
        "asked": asked,
        "targets": targets_of(snapshot, asked.steps),
        "mark_error": NOTHING_MARKED if request.GET.get("then") else "",
        "steps_text": write_steps(asked.steps),
        "gaps": snapshot.gaps,
        "picture_freshness": Freshness("Placement", snapshot.seen_at),
        "kept": [(name, request.GET[name]) for name in form.fields if request.GET.get(name)],
        "equivalents": equivalents.of_what_if(
            cluster, query_of(asked, request.GET.dict()), asked.steps
        ),
        "matrix_worst": _worst(cluster),
    }
    if found is not None and asked.steps:
        context |= _answered(request, found)
    return render_page(request, "availability/what_if/page.html", context)


def _try_simulate(cluster: Cluster, request: HttpRequest, form: WhatIfForm) -> WhatIfAnswer | None:
    form.is_valid()
    try:
        return answer_for(cluster, read_query(request.GET.dict()))
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
        return None


def _with_step(request: HttpRequest, alias: str, added: str) -> str:
    """Return the address with one more step: it holds the whole scenario."""
    query = request.GET.copy()
    steps = [part for part in (query.get("steps", ""), added) if part]
    for name in ("then", "mark", "election_topic", "topics", "partitions"):
        query.pop(name, None)
    query["steps"] = ";".join(steps)
    for name in [name for name in query if not query[name]]:
        del query[name]
    path = reverse("availability:what-if", args=[alias])
    return f"{path}?{query.urlencode(safe=':;,')}"


def _answered(request: HttpRequest, found: WhatIfAnswer) -> dict[str, Any]:
    answer = found.answer
    kind = request.GET.get("show", "")
    topic = request.GET.get("topic", "")
    kind = kind if kind in KINDS else "changed"
    keeps = KINDS[kind]
    count = answer.count_partitions(keeps, topic)
    without = request.GET.copy()
    for name in ("topic", "partitions"):
        without.pop(name, None)
    return {
        "answer": answer,
        "facts": [*what_if_facts(answer), *quorum_facts(answer.quorum, answer.quorum_before)],
        "steps": _steps(request, answer),
        "topics": cut(answer.topics, answer.topic_count, request.GET, "topics"),
        "partitions": cut(
            lambda first, most: answer.partitions(keeps, topic, first=first, most=most),
            count,
            request.GET,
            "partitions",
        ),
        "show": kind,
        "kinds": KIND_WORDS,
        "topic": topic,
        "without_topic": without.urlencode(safe=":;,"),
    }


def _steps(request: HttpRequest, answer: WhatIfResult) -> list[dict[str, Any]]:
    """Return the steps, each with the address of the scenario without it and those after it."""
    found = []
    for number, step in enumerate(answer.steps):
        query = request.GET.copy()
        query["steps"] = write_steps(answer.asked[:number])
        if not number:
            del query["steps"]
        address = f"?{query.urlencode(safe=':;,')}"
        found.append({"step": step, "until": address, "number": number + 1})
    return found


def _worst(cluster: Cluster) -> dict[str, Any] | None:
    kept = matrix_of(cluster, is_made=False)
    return dict(kept.document["worst"]) if kept and kept.document["worst"] else None


@require_safe
@page("view", clusters.where)
def matrix_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show the effect of every single failure, and the worst case."""
    cluster = find_cluster(alias)
    kept = matrix_of(cluster)
    text = request.GET.get("topic", "").lower()
    rows = [row for row in kept.document["topics"] if text in row[0].lower()]
    rows.sort(key=_hit_worst)
    context = {
        **around_cluster(request, cluster, "what-if"),
        "kept": kept,
        "matrix": kept.document,
        "topics": cut(rows, len(rows), request.GET, "topics"),
        "asked_topic": request.GET.get("topic", ""),
        "picture_freshness": Freshness("Placement", kept.seen_at),
        "gaps": kept.gaps,
        "equivalents": equivalents.of_matrix(cluster),
    }
    return render_page(request, "availability/what_if/matrix.html", context, is_live=True)


def _hit_worst(row: list[Any]) -> tuple[Any, ...]:
    cells = row[2]
    return -sum(cell[2] for cell in cells), -sum(cell[1] for cell in cells), row[0]


def what_if_facts(answer: WhatIfResult) -> list[dict[str, Any]]:
    """Return the tiles: writable, leaderless, data at risk, leader changes."""
    counts = answer.counts
    writable = counts.partitions - counts.unwritable - counts.unknown
    return [
        {
            "label": "Writable partitions",
            "value": format_count(writable),
            "note": f"of {format_count(counts.partitions)} partitions, with acks=all"
            + (f"; {format_count(counts.unknown)} unknown" if counts.unknown else ""),
            "definition": "Partitions with a leader and at least min.insync.replicas in the ISR.",
            **_graded(counts.unwritable, "critical"),
            **({"severity": "unknown"} if counts.unknown and not counts.unwritable else {}),
        },
        {
            "label": "No leader",
            "value": format_count(counts.offline),
            "note": _unclean_note(counts.needs_unclean),
            "definition": "Partitions that accept neither reads nor writes.",
            **_graded(counts.offline, "critical"),
        },
        {
            "label": "Data at risk",
            "value": format_count(counts.at_risk),
            "note": f"{format_count(counts.lost)} with lost records"
            if counts.lost
            else "partitions",
            "definition": "Partitions whose acknowledged records need a broker to return, are on one replica "
            "only, or are lost.",
            **_graded(counts.at_risk, "critical"),
        },
        {
            "label": "Leader changes",
            "value": format_count(counts.leader_changes),
            "note": _observer_note(counts.observers_in_isr),
            "definition": "Partitions with another leader afterwards, or none.",
        },
    ]


def quorum_facts(quorum: QuorumOutcome, before: QuorumOutcome) -> list[dict[str, Any]]:
    """Return the tile of the quorum."""
    fact: dict[str, Any] = {
        "label": "Quorum",
        "definition": "Live voters. Without a majority there is no election, no ISR change and no promotion.",
    }
    if not quorum.is_known:
        note = "live voters unknown" if quorum.voters else "voters unknown"
        return [
            fact
            | {"value": format_count(None), "note": note, "severity": "unknown", "word": "Unknown"}
        ]
    alive = len(quorum.alive_ids)
    value = f"{format_count(alive)} of {format_count(quorum.voters)}"
    if not quorum.has_majority:
        note = f"{format_count(quorum.majority)} needed"
        return [
            fact | {"value": value, "note": note, "severity": "critical", "word": "No majority"}
        ]
    spare = quorum.failures_tolerated
    note = f"failures tolerated: {format_count(spare)}, before {format_count(before.failures_tolerated)}"
    return [fact | {"value": value, "note": note, "severity": "healthy" if spare else "warning"}]


def _graded(count: int, severity: str) -> dict[str, Any]:
    return {"severity": severity if count else "healthy"}


def _unclean_note(count: int) -> str:
    return f"{format_count(count)} need an unclean election" if count else "partitions"


def _observer_note(count: int) -> str:
    return f"{format_count(count)} with observers in the ISR" if count else "partitions"

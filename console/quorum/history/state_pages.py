"""The page of the state at an offset or a time, and of the differences between two."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.csv_export import csv_response
from console.quorum import equivalents, queries
from console.quorum.forms import StateForm
from console.quorum.history import queries as history
from console.quorum.history.queries import Moment
from console.quorum.labels import Kind
from console.quorum.models import MetadataLog
from console.quorum.page_context import around_log, find_log
from console.quorum.tables import STATES

MOST_SHOWN = 500


@require_safe
@page("view", queries.where)
def state_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the state at a point in time, and the differences to another one."""
    log = find_log(alias)
    form = StateForm({"kind": Kind.TOPIC, **request.GET.dict()})
    moment, other = form.moments(log) if form.is_valid() else (None, None)
    kind = form.cleaned_data.get("kind") or Kind.TOPIC.value
    context: dict[str, Any] = {**around_log(request, log, "state"), "form": form, "kind": kind}
    if form.is_valid():
        now = moment or Moment(max(log.next_offset - 1, 0))
        rows = history.states_at(log, now, kind).select_related("log")
        table = STATES.read(request, rows)
        if table.is_export:
            export = STATES.read(request, history.annotated_states(rows, now))
            unsure = [*filter(None, [queries.why_unsure(log, now)]), *log.missing_sentences]
            return csv_response(export, f"{log.name}-state-{now.offset}", unsure)
        history.with_states(table.rows, now)
        context |= {"table": table, "moment": now, "voters": queries.voters_then(log, now)}
        context["unsure"] = queries.why_unsure(log, now)
        context["described_voters"] = _described_voters(log)
        context |= {"equivalents": equivalents.of_state(log, now.offset, kind)}
        if moment is not None and other is not None:
            context |= _difference(log, moment, other, kind if "kind" in request.GET else "")
    return render_page(request, "quorum/history/state.html", context)


def _difference(log: MetadataLog, moment: Moment, other: Moment, kind: str) -> dict[str, Any]:
    before, after = sorted((moment, other), key=lambda one: one.offset)
    found = history.differences(log, before, after, kind)
    return {
        "before": before,
        "after": after,
        "differences": found[:MOST_SHOWN],
        "difference_count": len(found),
        "difference_kind": Kind(kind).plural if kind else "",
        "difference_call": equivalents.of_difference(log, before.offset, after.offset, kind),
    }


def _described_voters(log: MetadataLog) -> list[int]:
    """Return the voters that the quorum names now; none where it was not described."""
    status = queries.status_of(log)
    rows = status.replicas if status else []
    return [row["id"] for row in rows if row["role"] != "observer"]

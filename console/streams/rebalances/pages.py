"""The page of the rebalances of one application."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.frame.pages.render import render_page
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import page
from console.frame.tables.page import cut
from console.streams import equivalents, queries
from console.streams.collection.changes import MOST_ROUNDS
from console.streams.page_context import analysis_href, around_application, find_application
from console.streams.rebalances.lanes import draw_instances
from console.streams.rebalances.queries import (
    MOST_CHANGES,
    Rebalance,
    list_changes,
    rebalance_of,
    rebalances_until,
)
from console.streams.snapshots import picture_of
from jobs.numbers import DASH, format_count, format_span_ms, read_whole
from jobs.streams.application import Application, Protocol
from jobs.streams.rebalances.changes import Flapping, flapping
from jobs.streams.rebalances.comparison import first_seen

MOST_FLAPPING = 20
_LARGEST_ID = 2**63 - 1
NEXT = "Planned by the assignor for warm-up tasks or revoked ones. Classic protocol only."
FLAPPING = "Threads that joined more often than the group had generations. Classic protocol only."
UNAVAILABLE = (
    "The largest in the range. The time between the last collection before and the first one after is an "
    "upper bound for the tasks that changed their thread."
)


@require_safe
@page("view", queries.where)
def rebalances_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Show who ran what when, and what each rebalance changed."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    now = timezone.now()
    time_range = TimeRange.from_query(request.GET.dict(), now)
    found = rebalances_until(row, time_range)
    shown = [one for one in reversed(found) if one.taken_at >= time_range.start][:MOST_CHANGES]
    drawn = found
    if not found and picture.taken_at is not None and picture.taken_at <= time_range.end:
        drawn = [Rebalance(0, picture.taken_at, first_seen(picture.application))]
    is_old = row.facts_at is not None and now - row.facts_at > timedelta(
        seconds=MOST_ROUNDS * settings.STREAMS_INTERVAL_S
    )
    until = row.facts_at if is_old and row.facts_at else now
    lanes, is_cut = draw_instances(drawn, time_range, until)
    flaps = flapping([one.change for one in shown])
    count = list_changes(row, time_range).count() if len(shown) == MOST_CHANGES else len(shown)
    selected = _selected(request, row)
    moves = () if selected is None else selected.change.moves
    around = around_application(row, picture, "rebalances")
    is_now = picture.taken_at is not None and not around["is_past"]
    context = {
        **around,
        "time_range": time_range,
        "facts": _facts(count, shown, flaps, picture.application, now if is_now else None),
        "lanes": lanes,
        "is_cut": is_cut,
        "rebalances": cut(shown, len(shown), request.GET, "rebalances"),
        "total": count,
        "flapping": flaps[:MOST_FLAPPING],
        "flapping_count": len(flaps),
        "selected": selected,
        "moves": cut(moves, len(moves), request.GET, "moves"),
        "analysis_href": analysis_href("rebalances", cluster=alias, group=application_id),
        "equivalents": equivalents.of_rebalances(row),
    }
    return render_page(request, "streams/rebalances/page.html", context, is_live=True)


def _selected(request: HttpRequest, row: Any) -> Rebalance | None:
    pk = read_whole(request.GET.get("rebalance", ""), _LARGEST_ID)
    return None if pk is None else rebalance_of(list_changes(row).filter(pk=pk).first())


def _facts(
    count: int,
    shown: Sequence[Rebalance],
    flaps: Sequence[Flapping],
    application: Application,
    now: datetime | None,
) -> list[dict[str, Any]]:
    """Return how many rebalances, the longest time without active thread, the next one, flapping threads.

    `now` None: the application is not as it was last seen.
    """
    is_classic = application.protocol is Protocol.CLASSIC
    changes = [one.change for one in shown]
    longest = max((one.unavailable_ms or 0 for one in changes), default=0)
    unknown = sum(
        one.stopped_tasks is None or (one.stopped_tasks > 0 and one.unavailable_ms is None)
        for one in changes
    )
    note = (
        "a task, at most"
        if longest
        else ""
        if unknown or not shown
        else "no task changed its thread"
    )
    if unknown:
        note = f"{note}, " * bool(note) + f"unknown for {format_count(unknown)} of the changes"
    return [
        {"label": "Changes", "value": format_count(count), "note": "in the time range"},
        {
            "label": "Without active thread",
            "value": f"≤ {format_span_ms(longest)}" if longest else DASH,
            "note": note,
            "definition": UNAVAILABLE,
        },
        {
            "label": "Next planned rebalance",
            "definition": NEXT,
            **_next(application.next_rebalance_ms, now),
        },
        {
            "label": "Flapping threads",
            "value": format_count(len(flaps)) if is_classic else DASH,
            "note": "" if is_classic else "classic protocol only",
            "severity": "warning" if flaps else "",
            "definition": FLAPPING,
        },
    ]


def _next(next_ms: int | None, now: datetime | None) -> dict[str, str]:
    if now is None:
        return {"value": DASH}
    if not next_ms:
        return {"value": "None" if next_ms is None else "At once"}
    left_ms = next_ms - now.timestamp() * 1000
    value = f"in {format_span_ms(left_ms)}" if left_ms > 0 else "Due"
    return {"value": value, "note": "probing rebalance"}

"""The page of an application's balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.page import cut
from console.streams import equivalents, queries
from console.streams.balance.told import balance_told
from console.streams.page_context import around_application, find_application
from console.streams.snapshots import picture_of
from jobs.numbers import format_bytes, format_count, format_least, format_span_ms, format_times
from jobs.streams.balance.load import BY_BYTES, BY_RATE, Balance, Load, heaviest

_BARS = ("state_bytes", "records_per_s", "active")
_SKEW = (
    "State by thread of the largest instance over the best split that any assignment of these tasks to these "
    "threads can have at most: the mean, or the largest task where that is more."
)


@require_safe
@page("view", queries.where)
def balance_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Show how state, records and tasks are spread, and what is sound to change."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    balance, advice = balance_told(row, picture)
    order = BY_RATE if request.GET.get("order") == BY_RATE else BY_BYTES
    instances = picture.once("bars", lambda: _with_bars(balance.instances))
    tasks, parts = heaviest(balance, order), balance.subtopologies
    context = {
        **around_application(row, picture, "balance"),
        "facts": _facts(balance),
        "balance": balance,
        "advice": [(one, one.topic and _key_skew(alias, one.topic)) for one in advice],
        "order": order,
        "instances": cut(instances, len(instances), request.GET, "instances"),
        "tasks": cut(tasks, len(tasks), request.GET, "tasks"),
        "subtopologies": cut(parts, len(parts), request.GET, "subtopologies"),
        "equivalents": equivalents.of_balance(row),
    }
    return render_page(request, "streams/balance/page.html", context, is_live=True)


def _key_skew(alias: str, topic: str) -> str:
    query = urlencode({"cluster": alias, "topics": topic})
    return f"{reverse('runs:new-analysis', args=['key-skew'])}?{query}"


def _with_bars(instances: Sequence[Load]) -> list[tuple[Load, list[str]]]:
    """Return instances, the largest first, with the lengths of their bars between 0 and 1."""
    most = [max((getattr(one, name) or 0 for one in instances), default=0) or 1 for name in _BARS]
    ordered = sorted(instances, key=lambda one: -(one.state_bytes or 0))
    return [
        (
            one,
            [
                f"{(getattr(one, name) or 0) / top:.4f}"
                for name, top in zip(_BARS, most, strict=True)
            ],
        )
        for one in ordered
    ]


def _facts(balance: Balance) -> list[dict[str, Any]]:
    span = balance.rate_span_ms
    return [
        {
            "label": "State",
            "value": format_least(balance.state_bytes, balance.state_unknown, format_bytes),
            "note": "active tasks, changelog size",
        },
        {"label": "Skew", "value": format_times(balance.state_skew), "definition": _SKEW},
        {
            "label": "Max / mean",
            "value": format_times(balance.max_over_mean),
            "note": "by instance",
        },
        {
            "label": "Idle threads",
            "value": format_count(balance.idle_threads),
            "note": f"of {format_count(len(balance.threads))}, copies counted",
        },
        {
            "label": "Rates over",
            "value": format_span_ms(span),
            "note": "between two collections" if span else "from the second collection on",
        },
    ]

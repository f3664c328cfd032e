"""The page of an application's balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.frame.pages.render import render_page
from console.frame.security.access import can_here, page
from console.frame.tables.page import cut
from console.streams import equivalents, queries
from console.streams.balance.told import balance_told
from console.streams.page_context import analysis_href, around_application, find_application
from console.streams.snapshots import picture_of
from jobs.numbers import format_bytes, format_count, format_least, format_span_ms, format_times
from jobs.streams.balance.load import RATE, STATE, Balance, Load, heaviest

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
    by = RATE if request.GET.get("order") == RATE else STATE
    instances = sorted(balance.instances, key=lambda one: -(one.state_bytes or 0))
    tasks, spreads = heaviest(balance, by), balance.spreads
    context = {
        **around_application(row, picture, "balance"),
        "facts": _facts(balance),
        "balance": balance,
        "advice": [(one, one.topic and _key_skew(request, alias, one.topic)) for one in advice],
        "order": by,
        "most": {name: _most(instances, name) for name in (STATE, RATE, "active")},
        "instances": cut(instances, len(instances), request.GET, "instances"),
        "tasks": cut(tasks, len(tasks), request.GET, "tasks"),
        "spreads": cut(spreads, len(spreads), request.GET, "subtopologies"),
        "equivalents": equivalents.of_balance(row),
    }
    return render_page(request, "streams/balance/page.html", context, is_live=True)


def _key_skew(request: HttpRequest, alias: str, topic: str) -> str:
    return analysis_href("key-skew", cluster=alias, topics=topic) * can_here(request, "operate")


def _most(instances: Sequence[Load], name: str) -> float:
    """Return how long the longest bar is; 1 where all are 0."""
    return max((getattr(one, name) or 0 for one in instances), default=0) or 1


def _facts(balance: Balance) -> list[dict[str, Any]]:
    span, idle = balance.rate_span_ms, balance.idle_threads if balance.thread_count else None
    size = format_least(balance.state_bytes, balance.state_unknown, format_bytes)
    threads = f"of {format_count(balance.thread_count)}, copies counted"
    rates = "between two collections" if span else "from the second collection on"
    told = (
        ("State", size, "active tasks, changelog size", ""),
        ("Skew", format_times(balance.state_skew), "of the best split", _SKEW),
        ("Max / mean", format_times(balance.max_over_mean), "by instance", ""),
        ("Idle threads", format_count(idle), threads, ""),
        ("Rates over", format_span_ms(span), rates, ""),
    )
    names = ("label", "value", "note", "definition")
    return [dict(zip(names, one, strict=True)) for one in told]

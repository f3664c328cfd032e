"""The page of one application, and the form of its description."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from console.frame.pages.addresses import address_of
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.paging import cut
from console.streams import actions, equivalents, queries
from console.streams.application.differences import compare
from console.streams.application.facts import application_facts
from console.streams.application.forms import DescriptionForm
from console.streams.application.lag_rows import BY_LAG, BY_TASK, lag_rows, sources_of
from console.streams.application.matrix import compact_rows, is_compact, matrix_of
from console.streams.application.picture import topology_of
from console.streams.page_context import around_application, find_application
from console.streams.snapshots import Picture, picture_of

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
    compared = picture.lasting("compared", lambda: compare(picture))
    context = {
        **around_application(row, picture, "detail"),
        "facts": application_facts(row, application),
        "cautions": picture.cautions,
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
        "costs": cut(costs, len(costs), query, "costs"),
        "compared": compared,
        "differences": compared.different[:MOST_DIFFERENCES],
        "topology": picture.lasting("topology", lambda: topology_of(picture)),
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

"""The page of key lookups."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from console.frame.pages.render import render_page
from console.frame.security.access import can, page
from console.streams import equivalents, queries
from console.streams.lookup.answers import LookedUp, look_up
from console.streams.lookup.forms import KeyLookupForm
from console.streams.page_context import around_application, find_application
from console.streams.snapshots import picture_of


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@page("view", queries.where)
def key_lookup_page(request: HttpRequest, alias: str, application_id: str) -> HttpResponse:
    """Show who serves a key, and what the application itself answers."""
    row = find_application(alias, application_id)
    picture = picture_of(row)
    may_operate = can(request.user, "operate", row.cluster_id)
    stores = list(picture.application.stores)
    form = KeyLookupForm(stores, request.POST or None, may_operate=may_operate)
    found: list[LookedUp] = []
    if request.method == "POST" and form.is_valid():
        form.attempt(lambda: found.append(look_up(row, form.question())))
    context = {
        **around_application(row, picture, "key-lookup"),
        "form": form,
        "has_stores": bool(stores),
        "found": found[0] if found else None,
        "equivalents": equivalents.of_lookup(row),
    }
    return render_page(request, "streams/lookup/page.html", context)

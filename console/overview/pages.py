"""The first page: what is wrong now, the clusters, the flows."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page
from console.overview import queries
from console.overview.facts import overview_facts
from console.overview.first_steps import first_steps


@require_GET
@page("view", anywhere)
def overview(request: HttpRequest) -> HttpResponse:
    """Show what needs attention, worst first, then every cluster and every flow."""
    picture = queries.read_overview(timezone.now(), request.user)
    context = {
        "picture": picture,
        "facts": overview_facts(picture),
        "steps": first_steps(picture.clusters, picture.flows),
    }
    return render_page(request, "overview/overview.html", context, is_live=True)

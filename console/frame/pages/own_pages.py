"""Pages of the frame itself."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.frame.pages.navigation import find_jumps, list_places
from console.frame.security.access import anywhere, page

LONGEST_WORDS = 200


@require_safe
@page("view", anywhere)
def jumps(request: HttpRequest) -> JsonResponse:
    """Answer the palette: places that fit the words."""
    words = request.GET.get("q", "").strip()[:LONGEST_WORDS]
    found = find_jumps(request, words) if words else []
    return JsonResponse({"jumps": [asdict(jump) for jump in found]})


@require_safe
@page("own")
def rail(request: HttpRequest) -> HttpResponse:
    """Answer the rooms with their counts, for the page at the address `at`."""
    places = list_places(request.user, request.GET.get("at", ""))
    return render(request, "frame/_places.html", {"places": places})

"""Pages of the frame itself."""

from __future__ import annotations

from dataclasses import asdict

from django.http import HttpRequest, JsonResponse

from console.frame.access import page
from console.frame.navigation import find_jumps

LONGEST_WORDS = 200


@page("view")
def jumps(request: HttpRequest) -> JsonResponse:
    """Answer the palette: places that fit the words."""
    words = request.GET.get("q", "").strip()[:LONGEST_WORDS]
    found = find_jumps(request, words) if words else []
    return JsonResponse({"jumps": [asdict(jump) for jump in found]})

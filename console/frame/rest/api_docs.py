"""The API describes itself: its resources at `/api/v1/`, all routes as a page at `/api/v1/docs/`."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from console.frame.pages.render import render_page
from console.frame.security.access import Action, page


class ResourcesView(APIView):
    """The resources of the API; `resources` gives each name the name of its route."""

    schema = None
    access: ClassVar[dict[str, Action]] = {"read": "own"}
    resources: ClassVar[dict[str, str]] = {}

    def get(self, request: Request) -> Response:
        """Return the address of each resource; one that is below another has none of its own."""
        addresses = {name: _address(route) for name, route in self.resources.items()}
        found = {name: path for name, path in addresses.items() if path}
        return Response({name: request.build_absolute_uri(found[name]) for name in sorted(found)})


def _address(route: str) -> str:
    try:
        return reverse(route)
    except NoReverseMatch:
        return ""


@require_safe
@page("own")
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show the schema with Swagger UI."""
    return render_page(request, "frame/api_docs.html")

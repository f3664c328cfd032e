"""The route of the OpenAPI schema."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request


class SchemaView(SpectacularAPIView):
    """The schema, made once per process and format: it is the same for everybody, and making it is slow."""

    made: ClassVar[dict[str, bytes]] = {}

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """Return the schema as YAML or JSON."""
        form, media = request.accepted_renderer, request.accepted_media_type
        if form.format not in self.made:
            told = super().get(request, *args, **kwargs)  # type: ignore[no-untyped-call]
            self.made[form.format] = form.render(told.data, media, self.get_renderer_context())
        return HttpResponse(self.made[form.format], content_type=f"{media}; charset=utf-8")

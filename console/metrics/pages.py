"""`/metrics`: the exposition for Prometheus, complete with METRICS_TOKEN, else what a user may view."""

from __future__ import annotations

import hmac
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from console.frame.security.access import can_anywhere, visible
from console.metrics.collector import KafkaState, Limits

SCRAPER = "the metrics token"


class Scraper:
    """The scraper with METRICS_TOKEN: may read the metrics and nothing else."""

    pk = None
    is_authenticated = is_active = True
    is_superuser = False
    role = ""


class MetricsToken(BaseAuthentication):
    """`Authorization: Bearer METRICS_TOKEN`; other tokens are for the other kinds of sign-in."""

    def authenticate(self, request: Request) -> tuple[Scraper, str] | None:
        """Recognise the token, in a time that says nothing about it."""
        kind, _, token = get_authorization_header(request).partition(b" ")
        wanted = settings.METRICS_TOKEN.encode()
        if kind.lower() != b"bearer" or not wanted:
            return None
        return (Scraper(), SCRAPER) if hmac.compare_digest(token.strip(), wanted) else None

    def authenticate_header(self, request: Request) -> str:
        """Make a refusal a 401."""
        return 'Bearer realm="crosslog metrics"'


class MayScrape(BasePermission):
    """The token, or a person or service token that may look at some cluster."""

    message = "This needs METRICS_TOKEN, or an account that may look at a cluster."

    def has_permission(self, request: Request, view: Any) -> bool:
        return request.auth == SCRAPER or can_anywhere(request.user, "view")


class AnyAccept(BaseContentNegotiation):
    """The answer's format is chosen by prometheus_client, from the same header."""

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return what renders errors."""
        return renderers[0], renderers[0].media_type


class MetricsView(APIView):
    """Metrics in the format that the scraper asks for."""

    schema = None
    authentication_classes = [
        MetricsToken,
        *APIView.authentication_classes,
    ]
    permission_classes = [MayScrape]
    throttle_classes = []
    content_negotiation_class = AnyAccept

    def get(self, request: Request) -> HttpResponse:
        """Answer a scrape."""
        registry = CollectorRegistry()
        registry.register(_state_for(request))
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        answer = HttpResponse(encode(registry), content_type=content_type)
        answer["Cache-Control"] = "no-store"
        return answer


def _state_for(request: Request) -> KafkaState:
    now, limits = timezone.now(), Limits.from_settings()
    if request.auth == SCRAPER:
        return KafkaState(now, limits)
    return KafkaState(now, limits, partial(visible, request.user))

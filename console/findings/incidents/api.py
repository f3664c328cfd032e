"""Incidents over REST: lists, one with its timeline, and what people do with it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.clusters.models import Cluster
from console.findings.incidents import actions, queries
from console.findings.incidents.models import Incident
from console.findings.incidents.serializers import (
    ChangeIncidentSerializer,
    IncidentDetailSerializer,
    IncidentFilters,
    IncidentSerializer,
    SilenceSerializer,
)
from console.findings.serializers import in_scope
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import visible

_SHOWN = IncidentDetailSerializer


class IncidentViewSet(ApiViewSet[Incident]):
    """Incidents: open findings with one cause, worst first, then the oldest."""

    serializer_class = IncidentSerializer
    ordering = ("-rank", "began_at", "pk")
    lookup_value_regex = r"\d{1,18}"
    parameters: ClassVar = {"list": IncidentFilters}
    where = staticmethod(queries.where)

    def get_queryset(self) -> QuerySet[Incident]:
        alias = self.asked.get("cluster")
        clusters = Cluster.objects.filter(alias=alias)
        if alias is not None and not visible(self.request.user, clusters).exists():
            raise Http404
        rows = in_scope(queries.list_incidents(), self.asked, "began_at")
        return queries.of_state(rows, self.asked["state"])

    def _row(self) -> Incident:
        return or_404(queries.get_incident(self.request.user, int(self.kwargs["pk"])))

    def _shown(self) -> Response:
        return Response(_SHOWN(self._row()).data)

    @extend_schema(responses=IncidentSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List incidents; those that are not resolved by default."""
        return self.paged(self.get_queryset(), IncidentSerializer)

    @extend_schema(responses=_SHOWN)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one incident with its timeline. Its findings: `/findings/?incident=ID&state=all`."""
        return self._shown()

    @extend_schema(request=ChangeIncidentSerializer, responses=_SHOWN)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Set the owner and the note; of a resolved incident only the note."""
        given = body_of(ChangeIncidentSerializer, request)
        row, now, person = self._row(), timezone.now(), person_of(request)
        with transaction.atomic():
            if "owner" in given:
                actions.set_owner(row, given["owner"] or "", person, now)
            if "note" in given:
                actions.set_note(row, given["note"], person, now)
        return self._shown()

    @extend_schema(request=None, responses=_SHOWN)
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, pk: str) -> Response:
        """Acknowledge it; the second time changes nothing."""
        return self._act(actions.acknowledge)

    @extend_schema(request=None, responses=_SHOWN)
    @action(detail=True, methods=["post"])
    def unacknowledge(self, request: Request, pk: str) -> Response:
        """Remove the acknowledgement."""
        return self._act(actions.unacknowledge)

    @extend_schema(request=SilenceSerializer, responses=_SHOWN)
    @action(detail=True, methods=["post"])
    def silence(self, request: Request, pk: str) -> Response:
        """Silence it for a duration or up to a time."""
        until = body_of(SilenceSerializer, request)["until"]
        actions.silence(self._row(), until, person_of(request), timezone.now())
        return self._shown()

    @extend_schema(request=None, responses=_SHOWN)
    @action(detail=True, methods=["post"])
    def unsilence(self, request: Request, pk: str) -> Response:
        """End its silence."""
        return self._act(actions.unsilence)

    def _act(self, do: Any) -> Response:
        do(self._row(), person_of(self.request), timezone.now())
        return self._shown()

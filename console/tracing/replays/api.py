"""Redrives over REST."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused, or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import UUID_PATTERN, ApiViewSet
from console.frame.security.access import require, visible
from console.runs.models import Run
from console.tracing.replays import actions, queries
from console.tracing.replays.models import Redrive
from console.tracing.replays.plan import KIND
from console.tracing.replays.serializers import (
    ApplyRedriveSerializer,
    NewRedriveSerializer,
    RedriveFilters,
    RedriveSerializer,
)


class RedriveViewSet(ApiViewSet[Redrive]):
    """Replay plans that can be applied, newest first."""

    serializer_class = RedriveSerializer
    ordering = ("-created_at", "pk")
    lookup_value_regex = UUID_PATTERN
    parameters: ClassVar = {"list": RedriveFilters}
    anywhere_actions: ClassVar = ("list", "create")
    where = staticmethod(queries.where)

    def get_queryset(self) -> QuerySet[Redrive]:
        rows = visible(self.request.user, queries.list_redrives())
        alias = self.asked.get("cluster")
        return rows if alias is None else rows.filter(cluster__alias=alias)

    def _row(self) -> Redrive:
        return or_404(self.get_queryset().filter(pk=self.kwargs["pk"]).first())

    @extend_schema(responses=RedriveSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List redrives."""
        return self.paged(self.get_queryset(), RedriveSerializer)

    @extend_schema(responses=RedriveSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one redrive with the facts of its plan and of its last run."""
        return Response(RedriveSerializer(self._row()).data)

    @extend_schema(request=NewRedriveSerializer, responses={201: RedriveSerializer})
    def create(self, request: Request) -> Response:
        """Create a redrive from a replay plan; no record is sent."""
        asked = body_of(NewRedriveSerializer, request)
        runs = visible(request.user, Run.objects.filter(pk=asked["plan_run"], kind=KIND))
        run = or_404(runs.first(), f"There is no replay plan {asked['plan_run']}.")
        number = run.subject.removeprefix("cluster:")
        cluster = Cluster.objects.filter(pk=number).first() if number.isdecimal() else None
        if cluster is None:
            raise ActionRefused("cluster_removed", "The cluster of this plan was removed.")
        require(request.user, "operate", cluster.pk)
        name, now = asked.get("name", ""), timezone.now()
        row = actions.create_redrive(cluster, run, name, person_of(request), now)
        return Response(RedriveSerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(request=ApplyRedriveSerializer, responses=RedriveSerializer)
    @action(detail=True, methods=["post"])
    def apply(self, request: Request, pk: str) -> Response:
        """Apply or resume the redrive: a run sends the records of the plan."""
        asked, row = body_of(ApplyRedriveSerializer, request), self._row()
        actions.apply_redrive(row, **asked, person=person_of(request), now=timezone.now())
        return Response(RedriveSerializer(self._row()).data)

    @extend_schema(request=None, responses=RedriveSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, pk: str) -> Response:
        """Stop the redrive; it can be resumed."""
        actions.stop_redrive(self._row(), timezone.now())
        return Response(RedriveSerializer(self._row()).data)

"""Drills and runbooks over REST."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.availability.api_lookup import find_cluster
from console.availability.drills import actions, queries
from console.availability.drills.models import Drill, DrillKind
from console.availability.promotion.api import RefusalsWritten, asked_cluster
from console.availability.promotion.serializers import (
    DrillDetailSerializer,
    DrillSerializer,
    NewDrillSerializer,
    OfCluster,
)
from console.availability.runbooks.partition_runbooks import runbooks_for
from console.availability.runbooks.serializers import RunbookQuery, RunbookSerializer
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import UUID_PATTERN, ApiViewSet


class DrillViewSet(RefusalsWritten, ApiViewSet[Drill]):
    """Drills: promotions on a test topic, and predictions compared with observed results."""

    audited = "drill"
    serializer_class = DrillSerializer
    ordering = ("-created_at", "pk")
    lookup_value_regex = UUID_PATTERN
    parameters: ClassVar = {"list": OfCluster}
    anywhere_actions: ClassVar = ("list", "create")
    where = staticmethod(queries.where_drill)

    def get_queryset(self) -> QuerySet[Drill]:
        return queries.list_drills(asked_cluster(self))

    @extend_schema(responses=DrillSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List drills, newest first."""
        return self.paged(self.get_queryset(), DrillSerializer)

    @extend_schema(responses=DrillDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one drill with its results and steps."""
        row = or_404(queries.get_drill(request.user, _uuid(pk)))
        return Response(DrillDetailSerializer(row).data)

    @extend_schema(request=NewDrillSerializer, responses={201: DrillDetailSerializer})
    def create(self, request: Request) -> Response:
        """Request a drill, or record one; a drill changes its test topic and its standby broker."""
        values = body_of(NewDrillSerializer, request)
        cluster = find_cluster(request.user, values.pop("cluster"), "operate")
        is_seen = values.pop("kind") == DrillKind.WHAT_IF
        do = actions.record_drill if is_seen else actions.start_drill
        row = do(cluster, values, person_of(request), timezone.now())
        return Response(DrillDetailSerializer(row).data, status.HTTP_201_CREATED)


class RunbookViewSet(ApiViewSet[Any]):
    """Runbooks by severity and cause."""

    serializer_class = RunbookSerializer
    pagination_class = None
    parameters: ClassVar = {"list": RunbookQuery}
    anywhere_actions: ClassVar = ("list",)
    queryset = Drill.objects.none()

    @extend_schema(responses=RunbookSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List runbooks, filled in for the cluster and the partition."""
        values = dict(self.asked)
        cluster = find_cluster(request.user, values.pop("cluster"))
        return Response(RunbookSerializer(runbooks_for(cluster, values), many=True).data)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None

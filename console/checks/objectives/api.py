"""Objectives over REST."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from console.checks.api import ScopedViewSet
from console.checks.objectives import actions
from console.checks.objectives.serializers import ChangedObjectiveSerializer, ObjectiveSerializer
from console.findings.objectives import queries
from console.findings.objectives.models import Objective
from console.frame.rest.parsing import body_of
from console.frame.security.access import visible


class ObjectiveViewSet(ScopedViewSet):
    """Objectives with what is left of their error budgets, and how fast these burn."""

    serializer_class = ObjectiveSerializer
    ordering = ("kind", "pk")
    where = staticmethod(queries.where_objective)

    def get_queryset(self) -> QuerySet[Objective]:
        return visible(self.request.user, queries.list_objectives())

    def row(self) -> Objective:
        row: Objective = queries.with_status([super().row()], timezone.now())[0]
        return row

    def list(self, request: Request) -> Response:
        """List those of the clusters that you may see."""
        found = self.paginate_queryset(self.get_queryset()) or []
        rows = queries.with_status(found, timezone.now())
        return self.get_paginated_response(self.get_serializer(rows, many=True).data)

    def save_new(self, values: dict[str, Any], person: Any) -> Objective:
        now = timezone.now()
        row = actions.save(Objective(), {**values, "flow": values.pop("flow_id")}, person, now)
        saved: Objective = queries.with_status([row], now)[0]
        return saved

    @extend_schema(request=ChangedObjectiveSerializer, responses=ObjectiveSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change an objective; flow and cluster stay.

        With another limit, pattern or `counts_as` it is measured again from what is still recorded.
        """
        values = body_of(ChangedObjectiveSerializer, request, partial=True)
        person: Any = request.user
        actions.save(self.row(), values, person, timezone.now())
        return Response(self.get_serializer(self.row()).data)

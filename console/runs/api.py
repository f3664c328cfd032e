"""Runs over REST."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.rest.viewset import UUID_PATTERN
from console.runs import actions, queries
from console.runs.analyses.api import AnalysisRoutes
from console.runs.analyses.serializers import RowsQuery
from console.runs.models import Run
from console.runs.serializers import (
    LogQuery,
    LogSerializer,
    RunDetailSerializer,
    RunFilters,
    RunSerializer,
)


class RunViewSet(mixins.ListModelMixin, AnalysisRoutes):
    """Job runs, newest first."""

    serializer_class = RunSerializer
    ordering = "-created_at"
    parameters: ClassVar = {"list": RunFilters, "log": LogQuery, "rows": RowsQuery}
    # The subject of a question is in its body, and is checked there.
    anywhere_actions: ClassVar = ("create", "kinds", "files")
    lookup_value_regex = UUID_PATTERN
    where = staticmethod(queries.where)

    def get_queryset(self) -> QuerySet[Run]:
        names = ("subject", "state", "kind")
        wanted = {name: self.asked[name] for name in names if name in self.asked}
        return queries.list_runs().filter(**wanted)

    def list(self, request: Request) -> Response:
        """List runs."""
        return super().list(request)

    @extend_schema(responses=RunDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one run with its progress."""
        return Response(RunDetailSerializer(self.run(), context={"request": request}).data)

    @extend_schema(responses=LogSerializer)
    @action(detail=True, pagination_class=None)
    def log(self, request: Request, pk: str) -> Response:
        """Return the last lines of the run's log."""
        run = self.run()
        text = queries.read_log(run, self.asked["lines"])
        return Response({"is_here": text is not None, "host": run.host, "text": text or ""})

    @extend_schema(request=None, responses=RunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Stop the run cleanly."""
        run = self.run()
        actions.cancel_run(run.pk, timezone.now())
        return Response(RunSerializer(self.run()).data)

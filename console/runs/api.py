"""Runs over REST."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.api import Pagination
from console.runs import actions, queries
from console.runs.models import Run
from console.runs.serializers import (
    LogQuery,
    LogSerializer,
    RunDetailSerializer,
    RunFilters,
    RunSerializer,
)

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class RunViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Run]):
    """Job runs, newest first."""

    serializer_class = RunSerializer
    pagination_class = Pagination
    ordering = "-created_at"
    lookup_value_regex = UUID

    def get_queryset(self) -> QuerySet[Run]:
        asked = RunFilters(data=self.request.query_params)
        asked.is_valid(raise_exception=True)
        return queries.list_runs().filter(**asked.validated_data)

    @extend_schema(parameters=[RunFilters])
    def list(self, request: Request) -> Response:
        """List runs."""
        return super().list(request)

    @extend_schema(responses=RunDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one run with its progress."""
        return Response(RunDetailSerializer(self._run()).data)

    @extend_schema(parameters=[LogQuery], responses=LogSerializer)
    @action(detail=True, pagination_class=None)
    def log(self, request: Request, pk: str) -> Response:
        """Return the last lines of the run's log."""
        asked = LogQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        run = self._run()
        text = queries.read_log(run, asked.validated_data["lines"])
        return Response({"is_here": text is not None, "host": run.host, "text": text or ""})

    @extend_schema(request=None, responses=RunSerializer)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, pk: str) -> Response:
        """Ask the run to end cleanly."""
        run = self._run()
        actions.cancel_run(run.pk, timezone.now())
        return Response(RunSerializer(self._run()).data)

    def _run(self) -> Run:
        run = queries.get_run(self.kwargs["pk"])
        if run is None:
            raise Http404
        return run

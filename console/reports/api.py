"""Reports over REST."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import UUID_PATTERN, ApiViewSet
from console.reports import actions, queries
from console.reports.definition import DEFAULTS
from console.reports.downloads import file_response
from console.reports.models import Report, ReportRun
from console.reports.serializers import (
    ChangedReportSerializer,
    NewReportRunSerializer,
    NewReportSerializer,
    PeriodSerializer,
    ReportFilters,
    ReportRunDetailSerializer,
    ReportRunFilters,
    ReportRunSerializer,
    ReportSerializer,
)
from console.reports.subjects import names_by_report
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import Period, given_period
from jobs.reports.rendering.formats import FILE_KINDS, Format

_FORMAT = OpenApiParameter(
    "file_format", str, OpenApiParameter.PATH, enum=[one.value for one in Format]
)
_FILES = {
    (200, one.media_type.partition(";")[0]): OpenApiTypes.BINARY for one in FILE_KINDS.values()
}


class ReportViewSet(mixins.ListModelMixin, ApiViewSet[Report]):
    """What is reported again and again. Rows are scoped: owners see their own, a role everywhere sees all."""

    serializer_class = ReportSerializer
    ordering = "name"
    parameters: ClassVar = {"list": ReportFilters, "list_runs": ReportRunFilters}
    lookup_value_regex = r"\d{1,18}"
    anywhere_actions = (
        "list",
        "create",
        "retrieve",
        "partial_update",
        "destroy",
        "list_runs",
        "make",
    )

    def get_queryset(self) -> QuerySet[Report]:
        return _filtered(queries.list_reports(self.request.user), self.asked, "kind")

    def list(self, request: Request) -> Response:
        """List reports with the last run of each."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset())) or []
        return self.get_paginated_response(self._told(page))

    @extend_schema(responses=ReportSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one report."""
        return Response(self._told([self._report()])[0])

    @extend_schema(request=NewReportSerializer, responses={201: ReportSerializer})
    def create(self, request: Request) -> Response:
        """Create a report definition; its owner, whose permissions it uses, is its creator."""
        asked = body_of(NewReportSerializer, request)
        person: Any = request.user
        made = actions.create_report(asked, person, timezone.now())
        self.kwargs["pk"] = str(made.pk)
        return Response(self._told([self._report()])[0], status.HTTP_201_CREATED)

    @extend_schema(request=ChangedReportSerializer, responses=ReportSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a report definition; without an owner, the user becomes its owner."""
        asked = body_of(ChangedReportSerializer, request, partial=True)
        person: Any = request.user
        actions.change_report(self._report().pk, asked, person)
        return Response(self._told([self._report()])[0])

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a report and its schedules; what was made of it stays."""
        person: Any = request.user
        actions.delete_report(self._report().pk, person)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses=ReportRunSerializer(many=True))
    @action(detail=True, url_path="runs", url_name="runs")
    def list_runs(self, request: Request, pk: str) -> Response:
        """List what was made of a report, newest first."""
        rows = queries.list_runs(request.user).filter(report=self._report())
        found = _filtered(rows, self.asked, "kind", "state", "trigger").order_by("-created_at")
        return self.paged(found, ReportRunSerializer)

    @extend_schema(request=PeriodSerializer, responses={201: ReportRunDetailSerializer})
    @list_runs.mapping.post
    def make(self, request: Request, pk: str) -> Response:
        """Make a report now and deliver it: of its own period, or of another one that is over."""
        asked = body_of(PeriodSerializer, request)
        report, now = self._report(), timezone.now()
        person: Any = request.user
        period = _period(asked, report.time_zone, now)
        run = actions.run_report(report.pk, person, now, period)
        return Response(ReportRunDetailSerializer(run).data, status.HTTP_201_CREATED)

    def _report(self) -> Report:
        return or_404(queries.get_report(int(self.kwargs["pk"]), self.request.user))

    def _told(self, reports: Sequence[Report]) -> Any:
        names = names_by_report(reports, self.request.user)
        return ReportSerializer(
            reports, many=True, context={"names": names, "person": self.request.user}
        ).data


class ReportRunViewSet(mixins.ListModelMixin, ApiViewSet[ReportRun]):
    """Reports that were made. A run is seen by people who see all clusters that it is about."""

    serializer_class = ReportRunSerializer
    ordering = "-created_at"
    parameters: ClassVar = {"list": ReportRunFilters}
    lookup_value_regex = UUID_PATTERN
    where = staticmethod(queries.where_run)
    anywhere_actions = ("list", "create")

    def get_queryset(self) -> QuerySet[ReportRun]:
        rows = queries.list_runs(self.request.user)
        return _filtered(rows, self.asked, "kind", "state", "trigger")

    def list(self, request: Request) -> Response:
        """List what was made, newest first."""
        return super().list(request)

    @extend_schema(responses=ReportRunDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one run with its files and deliveries."""
        return Response(ReportRunDetailSerializer(self._run()).data)

    @extend_schema(request=NewReportRunSerializer, responses={201: ReportRunDetailSerializer})
    def create(self, request: Request) -> Response:
        """Create a report once, for the user; it is stored, and delivered to no recipient."""
        given, now = body_of(NewReportRunSerializer, request), timezone.now()
        zone = given.get("time_zone", DEFAULTS["time_zone"])
        period = _period(given, zone, now)
        given = {"name": KINDS[given["kind"]].title, **given}
        person: Any = request.user
        run = actions.preview(given, person, now, period)
        return Response(ReportRunDetailSerializer(run).data, status.HTTP_201_CREATED)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a run with its files and what is still to be delivered."""
        person: Any = request.user
        actions.remove_run(self._run().pk, person)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(parameters=[_FORMAT], responses=_FILES)
    @action(
        detail=True,
        url_path=r"files/(?P<file_format>[a-z]{1,10})",
        url_name="file",
        pagination_class=None,
    )
    def files(self, request: Request, pk: str, file_format: str) -> HttpResponse:
        """Return a file of a report: `html`, `pdf`, `csv` (a zip) or `json`."""
        return file_response(self._run(), file_format)

    def _run(self) -> ReportRun:
        return or_404(queries.get_run(UUID(self.kwargs["pk"]), self.request.user))


def _period(given: Mapping[str, Any], time_zone: str, now: datetime) -> Period | None:
    """Return the period that is given; None: that of the report. Raises `InvalidFields`."""
    if not given.get("from") and not given.get("to"):
        return None
    return given_period(given.get("from"), given.get("to") or now, time_zone, now)


def _filtered(rows: QuerySet[Any], asked: Mapping[str, Any], *names: str) -> QuerySet[Any]:
    return rows.filter(**{name: asked[name] for name in names if asked.get(name)})

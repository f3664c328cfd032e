"""Analyses over REST: routes of runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.models import User
from console.frame.errors import or_404
from console.frame.pages.uploads import BoundedList, too_large_in
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import ErrorSerializer
from console.frame.rest.viewset import ApiViewSet
from console.runs import queries, uploads
from console.runs.analyses import downloads
from console.runs.analyses.actions import ask
from console.runs.analyses.questions import read_question
from console.runs.analyses.results import check_reader, result_of
from console.runs.analyses.serializers import (
    AskSerializer,
    FileSerializer,
    KindSerializer,
    ResultSerializer,
    RowsSerializer,
    UploadSerializer,
)
from console.runs.models import Run
from console.runs.serializers import RunDetailSerializer
from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.kinds import QUESTIONS

_TABLE_PATH = r"tables/(?P<table>[A-Za-z0-9_]{1,60})"
_NONE = OpenApiResponse(ErrorSerializer, "There is no result, or not all of it; `code` says why.")
_TABLE = OpenApiParameter("table", str, OpenApiParameter.PATH, description="Its name.")


class AnalysisRoutes(ApiViewSet[Run]):
    """Kinds of analyses, and their results."""

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Take uploaded lists to disk instead of memory."""
        if "files" in (self.action_map or {}).values():
            request.upload_handlers = [BoundedList(request)]
        return super().initialize_request(request, *args, **kwargs)

    def run(self) -> Run:
        """Return the run of the address; raises Http404."""
        return or_404(queries.get_run(self.kwargs["pk"]))

    def answered(self) -> Run:
        """Return the run of the address for its answer; raises Http404 and `RecordContent`."""
        run = self.run()
        check_reader(run, self.request.user)
        return run

    @extend_schema(
        request=AskSerializer, responses={200: RunDetailSerializer, 201: RunDetailSerializer}
    )
    def create(self, request: Request) -> Response:
        """Queue an analysis.

        While the same question is live, the answer is its run with 200 and nothing is queued.
        """
        given = body_of(AskSerializer, request)
        user = request.user if isinstance(request.user, User) else None
        try:
            question = read_question(given["kind"], given["arguments"], user)
        except InvalidFields as wrong:
            raise InvalidFields(
                {n if n == "kind" else f"arguments.{n}": t for n, t in wrong.errors.items()}
            ) from None
        done = ask(question, user, timezone.now(), at_most=settings.ANALYSES_PER_PERSON)
        code = status.HTTP_201_CREATED if done.is_new else status.HTTP_200_OK
        return Response(RunDetailSerializer(done.run, context={"request": request}).data, code)

    @extend_schema(
        request={"multipart/form-data": FileSerializer}, responses={201: UploadSerializer}
    )
    @action(detail=False, methods=["post"], parser_classes=[MultiPartParser], pagination_class=None)
    def files(self, request: Request) -> Response:
        """Keep a list (CSV or Parquet); its `name` is the value of arguments of the type file.

        The same content has the same name. It is removed after 7 days unused.
        """
        data = request.data
        if too_large_in(request):
            raise InvalidFields({"file": uploads.too_large()})
        asked = FileSerializer(data=data)
        asked.is_valid(raise_exception=True)
        kept = uploads.store("file", asked.validated_data["file"], timezone.now())
        return Response(UploadSerializer(kept).data, status.HTTP_201_CREATED)

    @extend_schema(responses=KindSerializer(many=True))
    @action(detail=False, pagination_class=None)
    def kinds(self, request: Request) -> Response:
        """List the kinds of analyses with their arguments and tables."""
        return Response(KindSerializer(list(QUESTIONS.values()), many=True).data)

    @extend_schema(responses={200: ResultSerializer, 409: _NONE})
    @action(detail=True, pagination_class=None)
    def result(self, request: Request, pk: str) -> Response:
        """Return the result document of an analysis.

        Without one: 409 with `not_ready`, `no_answer` (it failed, with the reason) or `no_result`. 403 with
        `needs_admin`: it contains content of records, which admins of its clusters see.
        """
        return Response(result_of(self.answered()))

    @extend_schema(parameters=[_TABLE], responses={200: RowsSerializer, 409: _NONE})
    @action(detail=True, url_path=_TABLE_PATH, pagination_class=None)
    def rows(self, request: Request, pk: str, table: str) -> Response:
        """Return rows of a table of a result, in its order."""
        found = downloads.find_table(self.answered(), table)
        offset = self.asked["offset"]
        told = asdict(found.table) | {
            "total": found.rows,
            "offset": offset,
            "rows": found.read(offset, self.asked["limit"]),
        }
        return Response(RowsSerializer(told).data)

    @extend_schema(parameters=[_TABLE], responses={(200, "text/csv"): OpenApiTypes.STR, 409: _NONE})
    @action(detail=True, url_path=f"{_TABLE_PATH}/csv", url_name="csv", pagination_class=None)
    def csv(self, request: Request, pk: str, table: str) -> StreamingHttpResponse:
        """Return all rows of a table of a result as CSV."""
        return downloads.csv_of(self.answered(), table)

    @extend_schema(
        parameters=[_TABLE], responses={(200, downloads.PARQUET): OpenApiTypes.BINARY, 409: _NONE}
    )
    @action(
        detail=True, url_path=f"{_TABLE_PATH}/parquet", url_name="parquet", pagination_class=None
    )
    def parquet(self, request: Request, pk: str, table: str) -> FileResponse:
        """Return a table of a result as a Parquet file."""
        return downloads.parquet_of(self.answered(), table)

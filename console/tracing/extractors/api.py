"""Extractors over REST."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, TypeVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import RowViewSet
from console.frame.security.access import Action, require, visible
from console.tracing.extractors import actions
from console.tracing.extractors.models import StoredExtractor
from console.tracing.extractors.queries import list_extractors, where
from console.tracing.extractors.serializers import (
    ChangedExtractorSerializer,
    ExtractorFilters,
    ExtractorSerializer,
    NewExtractorSerializer,
    RecordQuery,
    SampleSerializer,
    TrialQuery,
    TrialSerializer,
)
from console.tracing.extractors.trial import show_record, try_extractor
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields

_T = TypeVar("_T")


class ExtractorViewSet(RowViewSet):
    """Extractors: where id, step, time and error of records are; presets need none."""

    serializer_class = ExtractorSerializer
    ordering = ("name",)
    parameters: ClassVar = {"list": ExtractorFilters}
    access: ClassVar[dict[str, Action]] = {"write": "administer"}
    # The cluster is in the body: the action reads it.
    anywhere_actions: ClassVar = ("list", "create", "try_records", "record")
    # Answers have content of records.
    secret_answers: ClassVar[Collection[str]] = ("try_records", "record")
    where = staticmethod(where)

    def get_queryset(self) -> QuerySet[StoredExtractor]:
        rows = visible(self.request.user, list_extractors())
        alias = self.asked.get("cluster") if self.action == "list" else None
        return rows.filter(cluster__alias=alias) if alias else rows

    @extend_schema(request=NewExtractorSerializer, responses={201: ExtractorSerializer})
    def create(self, request: Request) -> Response:
        """Create an extractor."""
        values = body_of(NewExtractorSerializer, request)
        cluster = _find_cluster(request.user, values.pop("cluster"))
        row = self._save(StoredExtractor(cluster=cluster), values, request.user)
        return Response(ExtractorSerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(request=ChangedExtractorSerializer, responses=ExtractorSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace name and definition of an extractor."""
        values = body_of(ChangedExtractorSerializer, request)
        row = self._save(self.row(), values, request.user)
        return Response(ExtractorSerializer(row).data)

    @extend_schema(request=TrialQuery, responses=TrialSerializer)
    @action(detail=False, methods=["post"], url_path="try", url_name="try", pagination_class=None)
    def try_records(self, request: Request) -> Response:
        """Return what a definition finds in the newest records of a topic.

        The audit log keeps that they were read.
        """
        values = body_of(TrialQuery, request)
        cluster = _find_cluster(request.user, values["cluster"])
        topic, definition = values["topic"], values["definition"]
        person: Any = request.user
        trial = _in_definition(lambda: try_extractor(cluster, topic, definition, person))
        return Response(TrialSerializer(trial).data)

    @extend_schema(request=RecordQuery, responses=SampleSerializer)
    @action(detail=False, methods=["post"], url_path="record", pagination_class=None)
    def record(self, request: Request) -> Response:
        """Return the record at an offset. The audit log keeps that it was read."""
        asked = body_of(RecordQuery, request)
        cluster = _find_cluster(request.user, asked["cluster"])
        where = TopicPartition(asked["topic"], asked["partition"])
        person: Any = request.user
        sample = show_record(cluster, where, asked["offset"], asked["extractor"], person)
        return Response(SampleSerializer(sample).data)

    def delete_row(self, row: StoredExtractor, person: Any) -> None:
        actions.remove(row, person)

    def _save(
        self, row: StoredExtractor, values: Mapping[str, Any], person: Any
    ) -> StoredExtractor:
        name, definition = values["name"], values["definition"]
        return _in_definition(lambda: actions.save(row, name, definition, person, timezone.now()))


def _find_cluster(user: Any, alias: str) -> Cluster:
    """Return a cluster that a person administers; raises Http404 and `PermissionDenied`."""
    cluster = or_404(Cluster.objects.filter(alias=alias).first())
    require(user, "administer", cluster.pk)
    return cluster


def _in_definition(do: Callable[[], _T]) -> _T:
    """Do something; what it refuses of a definition is named `definition.FIELD`."""
    try:
        return do()
    except InvalidFields as wrong:
        errors = {
            name if name in {"name", "topic"} else f"definition.{name}": text
            for name, text in wrong.errors.items()
        }
        raise InvalidFields(errors) from None

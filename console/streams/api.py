"""Kafka Streams applications over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.findings.serializers import FindingSerializer
from console.frame.rest.api import SequencePagination
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import Action, require, visible
from console.streams import actions, queries
from console.streams.lookup.answers import KeyQuestion, look_up
from console.streams.models import StreamsApplication
from console.streams.rebalances.queries import list_changes
from console.streams.rebalances.serializers import (
    StreamsRebalanceFilters,
    StreamsRebalanceSerializer,
)
from console.streams.serializers import (
    KeyLookupQuery,
    KeyLookupSerializer,
    NewDescriptionSerializer,
    StreamsApplicationSerializer,
    StreamsDocumentSerializer,
    StreamsFilters,
    StreamsPlace,
    StreamsTaskPlace,
    StreamsTaskSerializer,
)
from console.streams.snapshots import picture_of
from jobs.streams.documents import application_mapping, task_mappings
from jobs.streams.keys import KeyFormat


class StreamsViewSet(ApiViewSet[StreamsApplication]):
    """Kafka Streams applications: who runs what, and where a key is."""

    serializer_class = StreamsApplicationSerializer
    ordering = ("application_id", "pk")
    lookup_field = "application_id"
    lookup_url_kwarg = "application_id"
    lookup_value_regex = r"[^/]+"
    parameters: ClassVar = {
        "list": StreamsFilters,
        "retrieve": StreamsPlace,
        "set_description": StreamsPlace,
        "key_lookup": StreamsPlace,
        "list_tasks": StreamsTaskPlace,
        "list_rebalances": StreamsRebalanceFilters,
    }
    # An id may be of several clusters: the query has the cluster, which is checked here.
    anywhere_actions: ClassVar = (
        "list",
        "retrieve",
        "list_tasks",
        "list_rebalances",
        "set_description",
        "key_lookup",
    )
    # A lookup changes nothing; its key is too personal for an address.
    access: ClassVar = {"key_lookup": "view"}
    secret_answers: ClassVar = ("key_lookup",)

    def get_queryset(self) -> QuerySet[StreamsApplication]:
        rows = queries.list_applications()
        names = {"cluster": "cluster__alias", "state": "state", "protocol": "protocol"}
        given = {path: self.asked[name] for name, path in names.items() if name in self.asked}
        return rows.filter(**given)

    def get_object(self) -> StreamsApplication:
        """Return the application of the address; OPTIONS asks for it."""
        return self._application("operate")

    @extend_schema(responses=StreamsApplicationSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List applications with their counts, lag, and whether their own metadata is right."""
        return self.paged(visible(request.user, self.get_queryset()), StreamsApplicationSerializer)

    @extend_schema(responses=StreamsDocumentSerializer)
    def retrieve(self, request: Request, application_id: str) -> Response:
        """Return one application with threads, stores, metadata and restore cost; `tasks/` has its tasks."""
        row = self._application("view")
        picture = picture_of(row)
        told = application_mapping(picture.application, picture.facts, picture.joined)
        shown = {"taken_at": picture.taken_at, "shown_state": told.pop("state")}
        # What the last round left out is in the row.
        del told["left_out"]
        counts = StreamsApplicationSerializer(row).data
        findings = FindingSerializer(queries.findings_of(row), many=True).data
        more = {"cautions": picture.cautions, "findings": findings}
        return Response({**counts, **told, **shown, **more})

    @extend_schema(responses=StreamsTaskSerializer(many=True))
    @action(detail=True, url_path="tasks", url_name="tasks", pagination_class=SequencePagination)
    def list_tasks(self, request: Request, application_id: str) -> Response:
        """List the tasks of an application: who has each, its lag, the size of its state."""
        picture = picture_of(self._application("view"))
        tasks: Any = list(picture.application.placements)
        page = self.paginate_queryset(tasks)
        return self.get_paginated_response(task_mappings(picture.application, picture.facts, page))

    @extend_schema(responses=StreamsRebalanceSerializer(many=True))
    @action(detail=True, url_path="rebalances", url_name="rebalances")
    def list_rebalances(self, request: Request, application_id: str) -> Response:
        """List what changed at each rebalance, the newest first; without a time all that is kept."""
        rows = list_changes(self._application("view"), self.asked.get("time_range"))
        return self.paged(rows, StreamsRebalanceSerializer, "-pk")

    @extend_schema(
        request=NewDescriptionSerializer,
        responses=StreamsApplicationSerializer,
    )
    @action(detail=True, methods=["put"], url_path="description", url_name="description")
    def set_description(self, request: Request, application_id: str) -> Response:
        """Keep what `Topology#describe()` printed; an empty text removes it."""
        row = self._application("operate")
        asked = body_of(NewDescriptionSerializer, request)
        person: Any = request.user
        text = asked["description"]
        actions.set_description(row, text, person, timezone.now())
        return Response(StreamsApplicationSerializer(self._application("operate")).data)

    @extend_schema(request=KeyLookupQuery, responses=KeyLookupSerializer)
    @action(detail=True, methods=["post"], url_path="key-lookup", url_name="key-lookup")
    def key_lookup(self, request: Request, application_id: str) -> Response:
        """Say who serves a key, and what the application answers; changes nothing."""
        row = self._application("view")
        asked = body_of(KeyLookupQuery, request)
        if asked["check_changelog"]:
            require(request.user, "operate", row.cluster_id)
        question = KeyQuestion(**{**asked, "key_format": KeyFormat(asked["key_format"])})
        return Response(look_up(row, question).to_mapping(row))

    def _application(self, right: Action) -> StreamsApplication:
        """Return the application that an address means; raises Http404, or says that a cluster is needed."""
        rows = StreamsApplication.objects.select_related("cluster__streams_round").defer("facts")
        rows = queries.with_findings(rows).filter(application_id=self.kwargs["application_id"])
        if "cluster" in self.asked:
            rows = rows.filter(cluster__alias=self.asked["cluster"])
        found = list(visible(self.request.user, rows).order_by("cluster__alias"))
        if not found:
            raise Http404
        if len(found) > 1:
            aliases = ", ".join(one.cluster.alias for one in found)
            text = f"Several clusters have this application: give one of {aliases}."
            raise serializers.ValidationError({"cluster": text})
        require(self.request.user, right, found[0].cluster_id)
        return found[0]

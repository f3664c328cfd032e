"""Flows over REST."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.clusters.capabilities.serializers import LackingSerializer
from console.frame.errors import or_404
from console.frame.rest.parameters import PageParameters
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.replication.checkpoints.api import ReadinessRoutes
from console.replication.checkpoints.serializers import (
    CheckpointQuery,
    CheckpointSeriesQuery,
    TranslateQuery,
)
from console.replication.control.api import ControlRoutes
from console.replication.findings.api import FindingQuery, FindingRoutes
from console.replication.flows import actions, queries
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.preview import lacking_of, preview_flow
from console.replication.flows.serializers import (
    FlowPartitionSerializer,
    FlowSerializer,
    FlowSettingsSerializer,
    FlowTopicSerializer,
    NewFlowSerializer,
    PartitionQuery,
    SeriesQuery,
    SeriesSerializer,
    TopicNamesSerializer,
    TopicPreviewSerializer,
)
from console.replication.measurement import series
from jobs.replication.flow.spec import FlowSpec


class FlowViewSet(ControlRoutes, FindingRoutes, ReadinessRoutes, ApiViewSet[ReplicationFlow]):
    """Replication flows: settings, what is wanted, what is measured."""

    serializer_class = FlowSerializer
    ordering = "name"
    parameters: ClassVar = {
        "topics": PageParameters,
        "partitions": PartitionQuery,
        "series": SeriesQuery,
        "findings": FindingQuery,
        "checkpoints": CheckpointQuery,
        "checkpoint_series": CheckpointSeriesQuery,
        "translate": TranslateQuery,
    }
    # It answers questions that are too many for an address, and changes nothing.
    access: ClassVar = {"translate_many": "view"}
    where = staticmethod(queries.where)
    # The body names the clusters of these actions: the action checks the right.
    anywhere_actions: ClassVar = ("list", "create", "preview", "preview_capabilities")
    lookup_value_regex = r"\d{1,18}"

    def get_queryset(self) -> QuerySet[ReplicationFlow]:
        return queries.list_flows()

    def _flow(self) -> ReplicationFlow:
        return or_404(queries.get_flow(int(self.kwargs["pk"]), timezone.now()))

    @extend_schema(responses=FlowSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List flows with their status, lag and freshness."""
        page: Iterable[ReplicationFlow] = self.paginate_queryset(self.get_queryset()) or []
        now = timezone.now()
        flows = queries.crashed(queries.with_status(page, now), now)
        queries.with_audits(flows, now)
        return self.get_paginated_response(FlowSerializer(flows, many=True).data)

    @extend_schema(request=NewFlowSerializer, responses={201: FlowSerializer})
    def create(self, request: Request) -> Response:
        """Create a flow between two registered clusters; `start` also starts it."""
        values = body_of(NewFlowSerializer, request)
        start, confirm = values.pop("start", False), values.pop("confirm", "")
        user = person_of(request)
        flow = actions.create_flow(values, user, timezone.now(), start=start, confirm=confirm)
        self.kwargs["pk"] = flow.pk
        return Response(FlowSerializer(self._flow()).data, status.HTTP_201_CREATED)

    @extend_schema(responses=FlowSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one flow."""
        return Response(FlowSerializer(self._flow()).data)

    @extend_schema(request=FlowSettingsSerializer, responses=FlowSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change settings; a running flow is restarted with them."""
        values = body_of(FlowSettingsSerializer, request, partial=True)
        actions.change_flow(self._flow(), values, confirm=values.pop("confirm", ""))
        return Response(FlowSerializer(self._flow()).data)

    @extend_schema(responses={204: None, 202: FlowSerializer})
    def destroy(self, request: Request, pk: str) -> Response:
        """Delete a flow: 204 when it is gone, 202 when its run has to end first."""
        if actions.delete_flow(self._flow(), timezone.now()):
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(FlowSerializer(self._flow()).data, status.HTTP_202_ACCEPTED)

    @extend_schema(request=None, responses=FlowSerializer)
    @action(detail=True, methods=["post"])
    def start(self, request: Request, pk: str) -> Response:
        """Want the flow to run."""
        actions.start_flow(self._flow())
        return Response(FlowSerializer(self._flow()).data)

    @extend_schema(request=None, responses=FlowSerializer)
    @action(detail=True, methods=["post"])
    def stop(self, request: Request, pk: str) -> Response:
        """Want the flow to stop: it flushes, commits its positions and ends."""
        actions.stop_flow(self._flow())
        return Response(FlowSerializer(self._flow()).data)

    @extend_schema(request=TopicNamesSerializer, responses=FlowSerializer)
    @action(detail=True, methods=["post"], url_path="accept-topics")
    def accept_topics(self, request: Request, pk: str) -> Response:
        """Copy topics that were created again from their beginning."""
        asked = body_of(TopicNamesSerializer, request)
        actions.accept_new_topics(self._flow(), asked["topics"])
        return Response(FlowSerializer(self._flow()).data)

    @extend_schema(responses=FlowTopicSerializer(many=True))
    @action(detail=True)
    def topics(self, request: Request, pk: str) -> Response:
        """List the topics of a flow with their lag."""
        return self.paged(queries.list_topics(self._flow()), FlowTopicSerializer, "topic")

    @extend_schema(responses=FlowPartitionSerializer(many=True))
    @action(detail=True)
    def partitions(self, request: Request, pk: str) -> Response:
        """List the partitions of a flow: position, end, lag, state and reason."""
        rows = queries.list_partitions(self._flow(), self.asked["topic"])
        return self.paged(rows, FlowPartitionSerializer, "pk")

    @extend_schema(responses=SeriesSerializer)
    @action(detail=True, pagination_class=None)
    def series(self, request: Request, pk: str) -> Response:
        """Return lag and rate over time as columns, of the flow or of one topic."""
        columns = series.read_series(
            self._flow(), self.asked["topic"], self.asked["time_range"], self.asked["points"]
        )
        return Response(columns)

    @extend_schema(request=NewFlowSerializer, responses=LackingSerializer(many=True))
    @action(detail=False, methods=["post"], pagination_class=None, url_path="preview/capabilities")
    def preview_capabilities(self, request: Request) -> Response:
        """Say what a flow with these settings needs that its clusters do not simply have."""
        found = lacking_of(self._asked_spec(request))
        rows: Any = LackingSerializer(instance=found, many=True)  # type: ignore[arg-type]  # many
        return Response(rows.data)

    def _asked_spec(self, request: Request) -> FlowSpec:
        asked = body_of(NewFlowSerializer, request)
        values = {name: v for name, v in asked.items() if name not in {"start", "confirm"}}
        return actions.check_settings(values, request.user)

    @extend_schema(request=NewFlowSerializer, responses=TopicPreviewSerializer(many=True))
    @action(detail=False, methods=["post"], pagination_class=None)
    def preview(self, request: Request) -> Response:
        """Say what a flow with these settings would do with each topic; writes nothing."""
        preview, _ = preview_flow(self._asked_spec(request))
        rows: Any = TopicPreviewSerializer(instance=preview, many=True)  # type: ignore[arg-type]  # many
        return Response(rows.data)

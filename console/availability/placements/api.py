"""Placements and observers over REST."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.availability.api_lookup import find_cluster
from console.availability.placements import actions, drafts
from console.availability.placements.effects import standings_of
from console.availability.placements.models import TopicPlacement
from console.availability.placements.observers import observers_of, standby_brokers, with_history
from console.availability.placements.pages import narrowed
from console.availability.placements.placements import list_placements, rules_of
from console.availability.placements.serializers import (
    ChangedPlacementSerializer,
    NewPlacementSerializer,
    ObserverFilters,
    ObserversSerializer,
    PlacementFilters,
    PlacementSerializer,
    PreviewQuery,
    PreviewSerializer,
    StandingFilters,
    StandingsSerializer,
)
from console.availability.what_if.cluster_models import snapshot_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import clusters_of


class PlacementViewSet(ApiViewSet[TopicPlacement]):
    """Placements assigned in crosslog; those of topic configs are in `topics`."""

    serializer_class = PlacementSerializer
    ordering = ("pk",)
    lookup_value_regex = r"\d{1,18}"
    parameters: ClassVar = {"list": PlacementFilters, "topics": StandingFilters}
    # The cluster is in the body or the query: the action reads it.
    anywhere_actions: ClassVar = ("list", "create", "preview", "topics")

    def where(self, pk: str, **_: Any) -> Collection[int]:
        """Return the cluster of a placement."""
        return clusters_of(TopicPlacement.objects.filter(pk=int(pk)))

    def get_queryset(self) -> QuerySet[TopicPlacement]:
        return list_placements()

    def _row(self) -> TopicPlacement:
        return or_404(list_placements().filter(pk=int(self.kwargs["pk"])).first())

    @extend_schema(responses=PlacementSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List placements assigned in crosslog."""
        rows = self.get_queryset()
        if "cluster" in self.asked:
            rows = rows.filter(cluster=find_cluster(request.user, self.asked["cluster"]))
        return self.paged(rows, PlacementSerializer)

    @extend_schema(responses=PlacementSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one placement."""
        return Response(PlacementSerializer(self._row()).data)

    @extend_schema(request=NewPlacementSerializer, responses={201: PlacementSerializer})
    def create(self, request: Request) -> Response:
        """Assign a placement to a topic or a pattern; needs the `confirm` of its preview."""
        values = body_of(NewPlacementSerializer, request)
        cluster = find_cluster(request.user, values.pop("cluster"), "operate")
        confirm = values.pop("confirm")
        row = actions.assign_placement(cluster, values, confirm, timezone.now())
        return Response(PlacementSerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(request=ChangedPlacementSerializer, responses=PlacementSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a placement; needs the `confirm` of its preview."""
        values = body_of(ChangedPlacementSerializer, request)
        confirm = values.pop("confirm")
        row = actions.change_placement(self._row(), values, confirm, timezone.now())
        return Response(PlacementSerializer(row).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a placement."""
        actions.remove_placement(self._row())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=PreviewQuery, responses=PreviewSerializer)
    @action(detail=False, methods=["post"], pagination_class=None)
    def preview(self, request: Request) -> Response:
        """Preview a placement; writes nothing. Saving needs its `confirm`."""
        values = body_of(PreviewQuery, request)
        cluster = find_cluster(request.user, values.pop("cluster"), "operate")
        row = None
        if "id" in values:
            row = or_404(list_placements(cluster).filter(pk=values.pop("id")).first())
        draft = drafts.draft_of(cluster, values, row)
        told: Any = {**_fields(drafts.preview(draft)), "confirm": drafts.confirmation_of(draft)}
        return Response(PreviewSerializer(told).data)

    @extend_schema(responses=StandingsSerializer)
    @action(detail=False, pagination_class=None)
    def topics(self, request: Request) -> Response:
        """List topics with a placement and the mismatches of their replicas."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        picture, rules = snapshot_of(cluster), rules_of(cluster)
        standings = standings_of(picture, rules)
        picture = replace(picture, gaps=(*picture.gaps, *rules.problems))
        found = narrowed(standings, self.asked["topic"], is_wrong=self.asked["wrong"])
        told = rows_of(cluster, picture, found, self.asked)
        told["results"] = [standings.topic(index) for index in told["results"]]
        return Response(StandingsSerializer(told).data)


class ObserverViewSet(ApiViewSet[TopicPlacement]):
    """Observers: of placements, and the replicas of fenced standby brokers."""

    queryset = TopicPlacement.objects.none()
    serializer_class = ObserversSerializer
    parameters: ClassVar = {"list": ObserverFilters}
    anywhere_actions: ClassVar = ("list",)
    pagination_class = None

    @extend_schema(responses=ObserversSerializer)
    def list(self, request: Request) -> Response:
        """List observers with their state and its start, and the fenced standby brokers."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        picture = snapshot_of(cluster)
        found = observers_of(picture, rules_of(cluster))
        asked = (self.asked["state"], self.asked["topic"], self.asked.get("broker"))
        told = rows_of(cluster, picture, (), self.asked)
        first = self.asked["offset"]
        rows = list(islice(found.rows(*asked, first=first), self.asked["limit"]))
        told |= {"results": with_history(cluster, rows), "count": found.count(*asked)}
        told |= {"counts": found.counts, "standbys": standby_brokers(found)}
        return Response(ObserversSerializer(told).data)


def rows_of(
    cluster: Cluster, picture: ClusterSnapshot, rows: Sequence[Any], asked: dict[str, Any]
) -> dict[str, Any]:
    """Return the requested page of rows, with their count and age."""
    first = asked["offset"]
    return {
        "cluster": cluster.alias,
        "seen_at": picture.seen_at,
        "gaps": list(picture.gaps),
        "count": len(rows),
        "offset": first,
        "results": list(rows[first : first + asked["limit"]]),
    }


def _fields(shown: Any) -> dict[str, Any]:
    return {name: getattr(shown, name) for name in shown.__dataclass_fields__}

"""Promotions over REST: policies, actions, the stop switch, actors, events and findings."""

from __future__ import annotations

from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied as Denied
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.availability.advice.models import ObserverEvent
from console.availability.api_lookup import find_cluster
from console.availability.promotion import actions, queries
from console.availability.promotion.audit import write_refusal
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from console.availability.promotion.serializers import (
    ActionFilters,
    ActorsQuery,
    ApplyPromotionSerializer,
    ChangedPromotionPolicySerializer,
    NewPromotionPolicySerializer,
    ObserverEventSerializer,
    ObserverFindingFilters,
    OfCluster,
    PromotionActionDetailSerializer,
    PromotionActionSerializer,
    PromotionFindingSerializer,
    PromotionPolicySerializer,
    PromotionStopSerializer,
    PromotionWaySerializer,
    RevertPromotionSerializer,
    TurnStopSerializer,
)
from console.clusters.models import Cluster
from console.findings.models import Finding, Kind
from console.findings.queries import list_findings
from console.findings.serializers import narrowed
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import UUID_PATTERN, ApiViewSet
from console.frame.security.access import require


def asked_cluster(view: ApiViewSet[Any]) -> Cluster | None:
    """Return the cluster of a list's filter; None without one."""
    alias = view.asked.get("cluster")
    return None if alias is None else find_cluster(view.request.user, alias)


class RefusalsWritten(ApiViewSet[Any]):
    """A view set of promotions: a write without the right to it is refused as everywhere, and written.

    `audited` is the name of its writes in the trail, the name of the route's action follows it.
    """

    audited = "promotion"

    def handle_exception(self, exc: Exception) -> Response:
        """Write a refusal, and answer as always."""
        request = self.request
        is_refusal = isinstance(exc, PermissionDenied | Denied | Http404)
        is_known = getattr(request.user, "pk", None)
        if is_refusal and request.method not in SAFE_METHODS and is_known:
            write_refusal(f"{self.audited}.{self.action or 'change'}", request.path)
        return super().handle_exception(exc)


class PolicyViewSet(RefusalsWritten, ApiViewSet[PromotionPolicy]):
    """Promotion policies: trigger, method and mode by topic."""

    audited = "promotion.policy"
    serializer_class = PromotionPolicySerializer
    ordering = ("pk",)
    lookup_value_regex = r"\d{1,18}"
    parameters: ClassVar = {"list": OfCluster}
    # The cluster of a new one is in its body.
    anywhere_actions: ClassVar = ("list", "create")
    where = staticmethod(queries.where_policy)

    def get_queryset(self) -> QuerySet[PromotionPolicy]:
        return queries.list_policies(asked_cluster(self))

    def _row(self) -> PromotionPolicy:
        return or_404(queries.get_policy(self.request.user, int(self.kwargs["pk"])))

    @extend_schema(responses=PromotionPolicySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List policies."""
        return self.paged(self.get_queryset(), PromotionPolicySerializer)

    @extend_schema(responses=PromotionPolicySerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one policy."""
        return Response(PromotionPolicySerializer(self._row()).data)

    @extend_schema(request=NewPromotionPolicySerializer, responses={201: PromotionPolicySerializer})
    def create(self, request: Request) -> Response:
        """Create a policy; mode `act` needs the pattern typed again."""
        values = body_of(NewPromotionPolicySerializer, request)
        cluster = find_cluster(request.user, values.pop("cluster"), "operate")
        row = actions.create_policy(cluster, values, person_of(request), timezone.now())
        return Response(PromotionPolicySerializer(row).data, status.HTTP_201_CREATED)

    @extend_schema(request=ChangedPromotionPolicySerializer, responses=PromotionPolicySerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a policy; other fields stay."""
        row = self._row()
        asked = ChangedPromotionPolicySerializer(data=request.data, context={"policy": row})
        asked.is_valid(raise_exception=True)
        values = {name: value for name, value in asked.validated_data.items() if name != "cluster"}
        row = actions.change_policy(row, values, person_of(request), timezone.now())
        return Response(PromotionPolicySerializer(row).data)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove a policy without a promotion in effect."""
        actions.delete_policy(self._row())
        return Response(status=status.HTTP_204_NO_CONTENT)


class ActionViewSet(RefusalsWritten, ApiViewSet[PromotionAction]):
    """Advice to promote: dry run, confirmation, effect, revert."""

    serializer_class = PromotionActionSerializer
    ordering = ("-advised_at", "pk")
    lookup_value_regex = UUID_PATTERN
    parameters: ClassVar = {"list": ActionFilters}
    where = staticmethod(queries.where_action)

    def get_queryset(self) -> QuerySet[PromotionAction]:
        rows = queries.list_actions(asked_cluster(self))
        given = {name: self.asked[name] for name in ("state", "topic") if name in self.asked}
        return rows.filter(**given)

    def _row(self) -> PromotionAction:
        return or_404(queries.get_action(self.request.user, _uuid(self.kwargs["pk"])))

    @extend_schema(responses=PromotionActionSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List actions, newest first."""
        return self.paged(self.get_queryset(), PromotionActionSerializer)

    @extend_schema(responses=PromotionActionDetailSerializer)
    def retrieve(self, request: Request, pk: str) -> Response:
        """Return one action with its evidence, its dry run and its outcome."""
        return Response(PromotionActionDetailSerializer(self._row()).data)

    @extend_schema(request=None, responses=PromotionActionDetailSerializer)
    @action(detail=True, methods=["post"])
    def plan(self, request: Request, pk: str) -> Response:
        """Make the dry run: the cluster is queried, not changed."""
        row = actions.plan_action(self._row(), person_of(request), timezone.now())
        return Response(PromotionActionDetailSerializer(row).data)

    @extend_schema(request=ApplyPromotionSerializer, responses=PromotionActionDetailSerializer)
    @action(detail=True, methods=["post"])
    def apply(self, request: Request, pk: str) -> Response:
        """Confirm a planned promotion; it is checked again and carried out within seconds."""
        asked = body_of(ApplyPromotionSerializer, request)
        typed = asked["confirm"]
        row = actions.apply_action(self._row(), typed, person_of(request), timezone.now())
        return Response(PromotionActionDetailSerializer(row).data)

    @extend_schema(request=RevertPromotionSerializer, responses=PromotionActionDetailSerializer)
    @action(detail=True, methods=["post"])
    def revert(self, request: Request, pk: str) -> Response:
        """Request the revert of a promotion; also while the stop switch is on."""
        given = body_of(RevertPromotionSerializer, request)
        row = actions.revert_action(
            self._row(), given["confirm"], given["reason"], person_of(request), timezone.now()
        )
        return Response(PromotionActionDetailSerializer(row).data)


class StopViewSet(RefusalsWritten, ApiViewSet[Any]):
    """Stop switches: while one is on, no promotion starts; promoted brokers stay promoted."""

    audited = "promotion.stop"
    serializer_class = PromotionStopSerializer
    ordering = ("pk",)
    anywhere_actions: ClassVar = ("list", "create")
    parameters: ClassVar = {"list": OfCluster}

    def get_queryset(self) -> QuerySet[Any]:
        cluster = asked_cluster(self)
        rows = queries.list_stops()
        return rows if cluster is None else rows.filter(cluster=cluster)

    @extend_schema(responses=PromotionStopSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the switches that were ever turned; that of all clusters needs the right to view all."""
        return self.paged(self.get_queryset(), PromotionStopSerializer)

    @extend_schema(request=TurnStopSerializer, responses={200: PromotionStopSerializer})
    def create(self, request: Request) -> Response:
        """Turn a switch on or off."""
        given = body_of(TurnStopSerializer, request)
        cluster = None
        if given.get("cluster"):
            cluster = find_cluster(request.user, given["cluster"], "operate")
        else:
            require(request.user, "operate")
        turn = actions.stop_promotions if given["is_on"] else actions.allow_promotions
        row = turn(cluster, given["why"], person_of(request), timezone.now())
        return Response(PromotionStopSerializer(row).data)


class ActorViewSet(ApiViewSet[Any]):
    """The four promotion methods."""

    serializer_class = PromotionWaySerializer
    pagination_class = None
    parameters: ClassVar = {"list": ActorsQuery}
    anywhere_actions: ClassVar = ("list",)
    queryset = PromotionAction.objects.none()

    @extend_schema(responses=PromotionWaySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the methods with availability, cost and blocking conditions; empty before the first round."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        row = queries.round_of(cluster)
        return Response(PromotionWaySerializer(row.actors if row else [], many=True).data)


class EventViewSet(mixins.ListModelMixin, ApiViewSet[ObserverEvent]):
    """Observer events."""

    serializer_class = ObserverEventSerializer
    ordering = ("-at", "-pk")
    parameters: ClassVar = {"list": OfCluster}
    anywhere_actions: ClassVar = ("list",)

    def get_queryset(self) -> QuerySet[ObserverEvent]:
        return queries.list_events(asked_cluster(self))


class PromotionFindingViewSet(mixins.ListModelMixin, ApiViewSet[Finding]):
    """Findings about observers and leaders."""

    serializer_class = PromotionFindingSerializer
    ordering = ("-opened_at", "pk")
    parameters: ClassVar = {"list": ObserverFindingFilters}
    anywhere_actions: ClassVar = ("list",)

    def get_queryset(self) -> QuerySet[Finding]:
        rows = list_findings(Kind.OBSERVERS, cluster=asked_cluster(self))
        return narrowed(rows, self.asked)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Http404 from None

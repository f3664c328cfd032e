"""Clusters, brokers, topics, partitions and groups over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters import actions, queries
from console.clusters.capabilities.serializers import CapabilitiesSerializer
from console.clusters.counted import in_count, on_step
from console.clusters.mirror.api import PARAMETERS, MirrorRoutes
from console.clusters.models import Broker, Cluster, Group, GroupOffset, Partition, Topic
from console.clusters.serializers import (
    BrokerSerializer,
    ChangedClusterSerializer,
    ClusterIdSerializer,
    ClusterSerializer,
    ConnectionCheckSerializer,
    GroupFilters,
    GroupOffsetFilters,
    GroupOffsetSerializer,
    GroupSerializer,
    NewCheckSerializer,
    NewClusterSerializer,
    PartitionFilters,
    PartitionSerializer,
    SeenFilters,
    TopicFilters,
    TopicSerializer,
)
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import FreshnessSerializer
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import require


class CapabilityRoutes:
    """The route below a cluster; for its view set."""

    _cluster: Callable[[], Cluster]

    @extend_schema(responses=CapabilitiesSerializer)
    @action(detail=True, pagination_class=None)
    def capabilities(self, request: Request, alias: str) -> Response:
        """Return the Kafka version of each broker and the capabilities of the cluster, with reasons."""
        return Response(CapabilitiesSerializer(self._cluster().offers).data)


class ClusterViewSet(CapabilityRoutes, MirrorRoutes, ApiViewSet[Cluster]):
    """The registry of clusters."""

    serializer_class = ClusterSerializer
    ordering = "alias"
    lookup_field = "alias"
    lookup_value_regex = r"[A-Za-z0-9][A-Za-z0-9_-]*"
    # Offsets of a group are read from the cluster itself: viewing rights are not enough.
    access: ClassVar = {
        "write": "administer",
        "check": "operate",
        "mirror_consumer_offsets": "operate",
    }
    parameters: ClassVar = PARAMETERS
    where = staticmethod(queries.where)
    # A setting may refer to the secret of any cluster and send it to any address.
    everywhere_actions: ClassVar = ("partial_update",)

    def get_queryset(self) -> QuerySet[Cluster]:
        return queries.list_clusters()

    def _cluster(self) -> Cluster:
        return or_404(queries.get_cluster(self.kwargs["alias"]))

    def _answer(self, http_status: int = status.HTTP_200_OK) -> Response:
        return Response(ClusterSerializer(self._cluster()).data, http_status)

    @extend_schema(responses=ClusterSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List clusters with status, counts and freshness."""
        return self.paged(self.get_queryset(), ClusterSerializer)

    def retrieve(self, request: Request, alias: str) -> Response:
        """Return one cluster."""
        return self._answer()

    @extend_schema(request=NewClusterSerializer, responses={201: ClusterSerializer})
    def create(self, request: Request) -> Response:
        """Register a cluster after a connection check."""
        values, save_unchecked = _settings(NewClusterSerializer(data=request.data))
        now = timezone.now()
        cluster = actions.create_cluster(values, now, save_unchecked=save_unchecked)
        self.kwargs["alias"] = cluster.alias
        return self._answer(status.HTTP_201_CREATED)

    @extend_schema(request=ChangedClusterSerializer, responses=ClusterSerializer)
    def partial_update(self, request: Request, alias: str) -> Response:
        """Change some settings; changed connection settings are checked first."""
        asked = ChangedClusterSerializer(data=request.data, partial=True)
        values, save_unchecked = _settings(asked)
        now = timezone.now()
        actions.change_cluster(self._cluster(), values, now, save_unchecked=save_unchecked)
        return self._answer()

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, alias: str) -> Response:
        """Remove a cluster that no flow uses."""
        actions.delete_cluster(self._cluster())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        operation_id="clusters_check_settings",
        request=NewCheckSerializer,
        responses=ConnectionCheckSerializer,
    )
    @action(detail=False, methods=["post"], url_path="check", url_name="check-settings")
    def check_settings(self, request: Request) -> Response:
        """Try settings without saving them."""
        values, _ = _settings(NewCheckSerializer(data=request.data))
        return Response(ConnectionCheckSerializer(actions.check_settings(values)).data)

    @extend_schema(request=None, responses=ConnectionCheckSerializer)
    @action(detail=True, methods=["post"])
    def check(self, request: Request, alias: str) -> Response:
        """Check a registered cluster again."""
        found = actions.recheck_cluster(self._cluster(), timezone.now())
        return Response(ConnectionCheckSerializer(found).data)

    @extend_schema(request=ClusterIdSerializer, responses=ClusterSerializer)
    @action(detail=True, methods=["post"], url_path="confirm-cluster-id")
    def confirm_cluster_id(self, request: Request, alias: str) -> Response:
        """Confirm the id of another cluster at the same address; the data of the old one is deleted."""
        asked = body_of(ClusterIdSerializer, request)
        actions.confirm_cluster_id(self._cluster(), asked["cluster_id"])
        return self._answer()

    @extend_schema(responses=FreshnessSerializer(many=True))
    @action(detail=True, pagination_class=None)
    def freshness(self, request: Request, alias: str) -> Response:
        """Return the collection status: age of each kind of data, and the last error."""
        rounds: Any = queries.freshness_of(self._cluster())
        return Response(FreshnessSerializer(rounds, many=True).data)


class _SeenViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """A list of seen things; an unknown cluster is a 404."""

    parameters: ClassVar = {"list": SeenFilters}
    anywhere_actions: ClassVar = ("list",)

    def cluster(self) -> Cluster | None:
        if "cluster" not in self.asked:
            return None
        cluster = or_404(queries.get_cluster(self.asked["cluster"]))
        require(self.request.user, "view", cluster.pk)
        return cluster


class BrokerViewSet(_SeenViewSet):
    """Brokers that are registered or have replicas."""

    serializer_class = BrokerSerializer
    ordering = ("broker_id", "pk")

    def get_queryset(self) -> QuerySet[Broker]:
        return queries.list_brokers(self.cluster())


class TopicViewSet(_SeenViewSet):
    """Topics."""

    serializer_class = TopicSerializer
    ordering = ("name", "pk")
    parameters: ClassVar = {"list": TopicFilters}

    def get_queryset(self) -> QuerySet[Topic]:
        topics = queries.list_topics(self.cluster())
        return _narrowed(topics, self.asked, name="name")


class PartitionViewSet(_SeenViewSet):
    """Partitions with placement, severity and offsets."""

    serializer_class = PartitionSerializer
    # Topics may have thousands of partitions: only a unique position pages through them exactly.
    ordering = ("pk",)
    parameters: ClassVar = {"list": PartitionFilters}

    def get_queryset(self) -> QuerySet[Partition]:
        partitions = queries.list_partitions(self.cluster())
        return _narrowed(partitions, self.asked, topic="topic__name")


class GroupViewSet(_SeenViewSet):
    """Groups of every type with their lag."""

    serializer_class = GroupSerializer
    ordering = ("group_id", "pk")
    parameters: ClassVar = {"list": GroupFilters}

    def get_queryset(self) -> QuerySet[Group]:
        groups = queries.list_groups(self.cluster())
        return _narrowed(groups, self.asked, group="group_id", state="state", type="type")


class GroupOffsetViewSet(_SeenViewSet):
    """Committed offsets and lag per partition."""

    serializer_class = GroupOffsetSerializer
    ordering = ("pk",)
    parameters: ClassVar = {"list": GroupOffsetFilters}

    def get_queryset(self) -> QuerySet[GroupOffset]:
        cluster = self.cluster()
        offsets = queries.list_group_offsets()
        if cluster is not None:
            offsets = offsets.filter(group__cluster=cluster)
        return _narrowed(offsets, self.asked, group="group__group_id", topic="topic")


def _narrowed(rows: QuerySet[Any], asked: dict[str, Any], **paths: str) -> QuerySet[Any]:
    wanted = {path: asked[name] for name, path in paths.items() if name in asked}
    if "severity" in asked:
        topics = rows.model is Topic
        unsure = Q(unsure_count__gt=0) if topics else Q(is_unsure=True)
        rows = rows.filter(on_step(asked["severity"], unsure))
    if "counted_as" in asked:
        rows = rows.filter(in_count(asked["counted_as"]))
    return rows.filter(**wanted)


def _settings(asked: serializers.Serializer[Any]) -> tuple[dict[str, Any], bool]:
    asked.is_valid(raise_exception=True)
    values = dict(asked.validated_data)
    return values, bool(values.pop("save_unchecked", False))

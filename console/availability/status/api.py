"""Availability over REST: summaries, partitions and their history, absences, brokers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.availability.status import history, queries, series, tables
from console.availability.status.api_filters import (
    AbsenceFilters,
    BrokerFilters,
    CountSeriesFilters,
    HistoryFilters,
    RollupFilters,
    StatusFilters,
    StretchFilters,
    UncleanFilters,
)
from console.availability.status.models import PartitionStatus
from console.availability.status.serializers import (
    AbsenceSerializer,
    AvailabilitySerializer,
    BrokerStatusSerializer,
    CountSeriesSerializer,
    HistorySerializer,
    PartitionStatusSerializer,
    RollupSerializer,
    StretchSerializer,
    UncleanElectionSerializer,
)
from console.clusters.counted import in_count, on_step
from console.clusters.models import NOT_RESERVED, Cluster
from console.frame.errors import or_404
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import clusters_of, require
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import ScopeKind

_SEVERITY = {one.word: one for one in Severity}


def find_cluster(alias: str) -> Cluster:
    """Return a cluster with its counts; raises Http404."""
    return or_404(queries.get_cluster(alias))


class AvailabilityViewSet(ApiViewSet[Cluster]):
    """Availability of clusters."""

    serializer_class = AvailabilitySerializer
    ordering = "alias"
    lookup_field = "alias"
    lookup_value_regex = rf"{NOT_RESERVED}[A-Za-z0-9][A-Za-z0-9_-]*"
    parameters: ClassVar = {"series": CountSeriesFilters}
    where = staticmethod(queries.where)

    def get_queryset(self) -> QuerySet[Cluster]:
        return queries.list_clusters()

    @extend_schema(responses=AvailabilitySerializer(many=True))
    def list(self, request: Request) -> Response:
        """List clusters with status, counts and freshness."""
        return self.paged(self.get_queryset(), AvailabilitySerializer)

    def retrieve(self, request: Request, alias: str) -> Response:
        """Return one cluster."""
        return Response(AvailabilitySerializer(find_cluster(alias)).data)

    @extend_schema(responses=CountSeriesSerializer)
    @action(detail=True)
    def series(self, request: Request, alias: str) -> Response:
        """Return counts over time, the maximum of each interval."""
        cluster, asked, now = find_cluster(alias), self.asked, timezone.now()
        kind, time_range = ScopeKind(asked["kind"]), asked["time_range"]
        if kind is ScopeKind.CLUSTER:
            return Response(series.read_counts(cluster, time_range, now, asked["points"]))
        return Response(
            series.read_parts(cluster, kind, asked["measure"], time_range, now, asked["points"])
        )


class _OfClusters(mixins.ListModelMixin, ApiViewSet[Any]):
    """Rows of clusters; an unknown cluster is a 404."""

    anywhere_actions: ClassVar = ("list",)

    def _cluster(self) -> Cluster | None:
        alias = self.asked.get("cluster")
        if alias is None:
            return None
        cluster = find_cluster(alias)
        require(self.request.user, "view", cluster.pk)
        return cluster

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: self.asked[name] for name in names if name in self.asked}


def where_partition(pk: str, **_: Any) -> Collection[int]:
    """Return the cluster of a partition's address."""
    return clusters_of(PartitionStatus.objects.filter(pk=pk))


class PartitionStatusViewSet(_OfClusters):
    """Partitions: state, start, cause."""

    serializer_class = PartitionStatusSerializer
    ordering = ("topic", "partition", "pk")
    lookup_value_regex = r"\d{1,18}"
    parameters: ClassVar = {"list": StatusFilters, "history": HistoryFilters}
    where = staticmethod(where_partition)

    def get_queryset(self) -> QuerySet[PartitionStatus]:
        rows = queries.list_statuses(self._cluster()).filter(**self._given("topic"))
        asked = self.asked
        if "counted_as" in asked:
            rows = rows.filter(in_count(asked["counted_as"]))
        if "severity" in asked:
            rows = rows.filter(on_step(asked["severity"]))
        if asked.get("is_wrong") is not None:
            rows = rows.filter(Q(severity__gt=0) if asked["is_wrong"] else on_step("ok"))
        if "broker" in asked:
            rows = rows.filter(queries.with_replica([asked["broker"]]))
        if "missing" in asked:
            rows = rows.filter(queries.with_replica([asked["missing"]], "missing_text"))
        return self._in_rack(rows)

    def _in_rack(self, rows: QuerySet[PartitionStatus]) -> QuerySet[PartitionStatus]:
        if "rack" not in self.asked:
            return rows
        cluster = self._cluster()
        if cluster is None:
            raise serializers.ValidationError({"rack": "Name the cluster as well."})
        brokers = queries.racks_of(cluster).get(self.asked["rack"])
        if brokers is None:
            text = f"No broker of {cluster.alias} is in rack {self.asked['rack']!r}."
            raise serializers.ValidationError({"rack": text})
        return rows.filter(queries.with_replica(brokers))

    @extend_schema(responses=HistorySerializer)
    @action(detail=True)
    def history(self, request: Request, pk: str) -> Response:
        """Return the history of a partition in a time range, with causes."""
        row = or_404(queries.list_statuses().filter(pk=pk).first())
        time_range = self.asked["time_range"]
        told = history.read_history(row, time_range)
        end = min(timezone.now(), time_range.end)
        answer = {
            "partition": row,
            "moments": told.moments,
            "stretches": told.severities,
            "out_of_sync": told.absences,
            "unclean_elections": told.unclean,
            "leaderless_s": told.leaderless_s(time_range.start, end),
            "unknown": [{"from_at": start, "to_at": end} for start, end in told.unknown],
        }
        return Response(HistorySerializer(answer).data)


class AbsenceViewSet(_OfClusters):
    """Out-of-sync replicas: start, cause, lag."""

    serializer_class = AbsenceSerializer
    ordering = ("began_at", "pk")
    parameters: ClassVar = {"list": AbsenceFilters}

    def get_queryset(self) -> QuerySet[Any]:
        rows = queries.list_absences(self._cluster(), is_open=self.asked["is_open"])
        return rows.filter(**self._given("topic", "broker"))


class StretchViewSet(_OfClusters):
    """Intervals in which partitions were unhealthy."""

    serializer_class = StretchSerializer
    ordering = ("-began_at", "pk")
    parameters: ClassVar = {"list": StretchFilters}

    def get_queryset(self) -> QuerySet[Any]:
        least = _SEVERITY[self.asked["least"]]
        return queries.list_stretches(self._cluster(), self.asked["time_range"], least)


class UncleanElectionViewSet(_OfClusters):
    """Unclean elections: leaders elected outside the ISR."""

    serializer_class = UncleanElectionSerializer
    ordering = ("-at", "pk")
    parameters: ClassVar = {"list": UncleanFilters}

    def get_queryset(self) -> QuerySet[Any]:
        return queries.list_unclean(self._cluster(), self.asked["time_range"])


class RollupViewSet(_OfClusters):
    """Counts by topic, broker, rack or cluster, by severity."""

    serializer_class = RollupSerializer
    ordering = ("-worst", "name", "pk")
    parameters: ClassVar = {"list": RollupFilters}

    def get_queryset(self) -> QuerySet[Any]:
        rows = queries.list_rollups(ScopeKind(self.asked["kind"]), self._cluster())
        return rows.filter(tables.NOT_WELL) if self.asked["is_wrong"] else rows


class BrokerStatusViewSet(_OfClusters):
    """Brokers: state, out-of-sync replicas, ISR and leadership churn."""

    serializer_class = BrokerStatusSerializer
    ordering = ("broker_id", "pk")
    parameters: ClassVar = {"list": BrokerFilters}

    def get_queryset(self) -> QuerySet[Any]:
        rows = queries.list_brokers(self._cluster(), self.asked["time_range"])
        return rows.filter(**self._given("rack"))

"""Quorums, voters, elections and metadata changes over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.models import NOT_RESERVED
from console.findings.models import Kind as FindingKind
from console.findings.queries import list_findings
from console.findings.serializers import FindingFilters, narrowed
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.timerange import TimeRange
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import require
from console.quorum import queries
from console.quorum.advisor.advice import VoterChangeRequest, advise
from console.quorum.advisor.pages import ChangeForm
from console.quorum.api_filters import (
    AdviceFilters,
    ChangeFilters,
    DifferenceFilters,
    PartitionChangeFilters,
    RecordFilters,
    StateFilters,
    TimedFilters,
)
from console.quorum.forms import read_time
from console.quorum.history import queries as history
from console.quorum.history.queries import Moment, OutsideHistory
from console.quorum.labels import Kind
from console.quorum.log.records import read_records
from console.quorum.models import Election, MetadataChange, MetadataLog, VoterSetEntry
from console.quorum.serializers import (
    ComparedSerializer,
    ElectionSerializer,
    FoundRecordsSerializer,
    GapSerializer,
    MetadataChangeSerializer,
    PartitionChangeSerializer,
    PlanSerializer,
    QuorumFindingSerializer,
    QuorumSerializer,
    SubjectStateSerializer,
    VoterSetSerializer,
)

# More than anybody reads, and as much as an answer should hold.
MOST_DIFFERENCES = 5000


def find_log(name: str) -> MetadataLog:
    """Return a log that is kept; raises Http404."""
    return or_404(queries.get_log(name))


class QuorumViewSet(ApiViewSet[MetadataLog]):
    """Quorums: replicas, findings, state by the metadata log."""

    serializer_class = QuorumSerializer
    ordering = "name"
    lookup_field = "alias"
    lookup_value_regex = rf"{NOT_RESERVED}[A-Za-z0-9_][A-Za-z0-9_-]*"
    parameters: ClassVar = {
        "findings": FindingFilters,
        "state": StateFilters,
        "diff": DifferenceFilters,
        "records": RecordFilters,
        "advice": AdviceFilters,
    }
    where = staticmethod(queries.where)

    def get_queryset(self) -> QuerySet[MetadataLog]:
        return queries.list_logs()

    def _log(self) -> MetadataLog:
        return find_log(self.kwargs["alias"])

    @extend_schema(responses=QuorumSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List quorums with their replicas and the known range of their logs."""
        return self.paged(self.get_queryset(), QuorumSerializer)

    def retrieve(self, request: Request, alias: str) -> Response:
        """Return one quorum."""
        log = self._log()
        if log.pk is None:
            log.open_count = 0
        return Response(QuorumSerializer(log).data)

    @extend_schema(responses=QuorumFindingSerializer(many=True))
    @action(detail=True)
    def findings(self, request: Request, alias: str) -> Response:
        """List the findings of a quorum."""
        rows = narrowed(list_findings(FindingKind.QUORUM, log=self._log().pk or 0), self.asked)
        return self.paged(rows, QuorumFindingSerializer, "-pk")

    @extend_schema(responses=SubjectStateSerializer(many=True))
    @action(detail=True)
    def state(self, request: Request, alias: str) -> Response:
        """List the state at an offset or a time; without both, at the end of the log."""
        log = self._log()
        moment = self._moment(log, "offset", "time") or Moment(max(log.next_offset - 1, 0))
        rows: Any = history.states_at(log, moment, self.asked["kind"])
        if "topic" in self.asked:
            rows = rows.filter(topic=self.asked["topic"])
        self.ordering = "pk"
        page = self.paginate_queryset(rows) or []
        history.with_states(page, moment)
        answer = self.get_paginated_response(SubjectStateSerializer(page, many=True).data)
        answer.data["unsure"] = queries.why_unsure(log, moment)
        return answer

    @extend_schema(responses=ComparedSerializer)
    @action(detail=True)
    def diff(self, request: Request, alias: str) -> Response:
        """Return the differences between two moments, the first 5,000 in the order of the last change."""
        log = self._log()
        before = self._moment(log, "from_offset", "from_time")
        if before is None:
            raise serializers.ValidationError({"from_offset": "Say from where: offset or time."})
        after = self._moment(log, "to_offset", "to_time") or Moment(max(log.next_offset - 1, 0))
        found = history.differences(log, before, after, self.asked.get("kind", ""))
        answer = {
            "from_offset": before.offset,
            "to_offset": after.offset,
            "count": len(found),
            "differences": found[:MOST_DIFFERENCES],
            "unsure": queries.why_unsure(log, after) or queries.why_unsure(log, before),
        }
        return Response(ComparedSerializer(answer).data)

    @extend_schema(responses=FoundRecordsSerializer)
    @action(detail=True)
    def records(self, request: Request, alias: str) -> Response:
        """Return the raw records at an offset, from the archive."""
        found = read_records(self._log(), self.asked["offset"])
        return Response(FoundRecordsSerializer(found).data)

    @extend_schema(responses=PlanSerializer)
    @action(detail=True)
    def advice(self, request: Request, alias: str) -> Response:
        """Return a voter change plan, or why there is no safe one; nothing is changed."""
        log = self._log()
        status = queries.status_of(log)
        if status is None:
            raise ActionRefused("not_described", "The quorum was not described yet.")
        if status.unjudged:
            raise ActionRefused("not_judged", status.unjudged)
        form = ChangeForm(self.asked)
        if not form.is_valid():
            raise serializers.ValidationError(
                {name: [*texts] for name, texts in form.errors.items()}
            )
        plan = advise(log, status, VoterChangeRequest(**form.cleaned_data))
        return Response(PlanSerializer(plan.to_mapping()).data)

    def _moment(self, log: MetadataLog, offset: str, time: str) -> Moment | None:
        """Return the requested moment, if the query has one; a wrong one is an error of the client."""
        if offset in self.asked and time in self.asked:
            raise serializers.ValidationError({time: f"Give {offset} or {time}, not both."})
        try:
            if offset in self.asked:
                return history.moment_of(log, self.asked[offset])
            if time in self.asked:
                return history.moment_at(log, read_time(self.asked[time]))
        except (OutsideHistory, ValueError) as problem:
            name = offset if offset in self.asked else time
            raise serializers.ValidationError({name: str(problem)}) from None
        return None


class _LogViewSet(mixins.ListModelMixin, ApiViewSet[Any]):
    """Rows of logs; an unknown log is a 404."""

    ordering: Any = ("offset", "pk")
    parameters: ClassVar = {"list": TimedFilters}
    anywhere_actions: ClassVar = ("list",)

    def get_paginated_response(self, data: Any) -> Response:
        # What is not among the rows may have happened in the gaps of their logs.
        answer = super().get_paginated_response(data)
        names = {row["cluster"] for row in data} | {self.asked.get("cluster")}
        logs = MetadataLog.objects.filter(name__in=names).exclude(gaps=[]).order_by("name")
        answer.data["gaps"] = [
            {"cluster": log.name, **gap}
            for log in logs
            for gap in GapSerializer(log.gaps, many=True).data
        ]
        return answer

    def _rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        if "cluster" in self.asked:
            log = find_log(self.asked["cluster"])
            require(self.request.user, "view", *queries.where(log.name))
            rows = rows.filter(log=log.pk or 0)
        time_range = self.asked.get("time_range")
        return rows if time_range is None else self._within(rows, time_range)

    def _within(self, rows: QuerySet[Any], time_range: TimeRange) -> QuerySet[Any]:
        return rows.filter(at__gte=time_range.start, at__lte=time_range.end)


class VoterSetViewSet(_LogViewSet):
    """Voter sets over time; of a time range also the set in effect at its start."""

    serializer_class = VoterSetSerializer

    def get_queryset(self) -> QuerySet[VoterSetEntry]:
        return self._rows(queries.list_voter_sets())

    def _within(self, rows: QuerySet[Any], time_range: TimeRange) -> QuerySet[Any]:
        return queries.within(rows, time_range)


class ElectionViewSet(_LogViewSet):
    """Leader elections."""

    serializer_class = ElectionSerializer

    def get_queryset(self) -> QuerySet[Election]:
        return self._rows(queries.list_elections())


class MetadataChangeViewSet(_LogViewSet):
    """Changes by the metadata log, newest first."""

    serializer_class = MetadataChangeSerializer
    ordering = ("-offset", "number", "pk")
    parameters: ClassVar = {"list": ChangeFilters}

    def get_queryset(self) -> QuerySet[MetadataChange]:
        asked = self.asked
        given = {n: asked[n] for n in ("topic", "broker", "kind", "type") if n in asked}
        if "type" in given:
            given["type"] = given["type"].upper()
        return self._rows(history.list_changes()).filter(**given)


class PartitionChangeViewSet(_LogViewSet):
    """Leaders, ISR and ELR of partitions over time, newest first."""

    serializer_class = PartitionChangeSerializer
    ordering = ("-offset", "number", "pk")
    parameters: ClassVar = {"list": PartitionChangeFilters}

    def get_queryset(self) -> QuerySet[MetadataChange]:
        given = {name: self.asked[name] for name in ("topic", "partition") if name in self.asked}
        return self._rows(history.list_changes(kind=Kind.PARTITION)).filter(**given)

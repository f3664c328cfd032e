"""Failovers over REST."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.accounts.asked_rights import person_of
from console.frame.errors import or_404
from console.frame.rest.parsing import body_of
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import require
from console.replication.failover import actions, queries
from console.replication.failover.models import FailoverPlan, FailoverRun
from console.replication.failover.page_context import commands_of
from console.replication.failover.queries import report_key
from console.replication.failover.serializers import (
    ApplySerializer,
    FailoverPlanDetailSerializer,
    FailoverPlanSerializer,
    FailoverRunSerializer,
    GroupsQuery,
    NewPlanSerializer,
    PlanCommandsSerializer,
    PlanGroupSerializer,
    ReportKeySerializer,
    ReportQuery,
    SignedReportSerializer,
    UndoSerializer,
)
from console.replication.flows.models import ReplicationFlow
from jobs.replication.failover.model import Direction
from jobs.replication.failover.reports.signing import ALGORITHM

_FLOW = OpenApiParameter("flow_id", int, OpenApiParameter.PATH, description="The flow.")


@extend_schema(parameters=[_FLOW])
class FailoverPlanViewSet(ApiViewSet[FailoverPlan]):
    """Plans to move groups between the clusters of a flow.

    Users who see both clusters see plans and reports. Everything else needs the role operator on the cluster
    whose groups are set: the target of a failover, the source of a failback.
    """

    serializer_class = FailoverPlanSerializer
    ordering = "-created_at"
    parameters: ClassVar = {"groups": GroupsQuery, "report": ReportQuery}
    everywhere_actions: ClassVar = ()
    lookup_value_regex = r"\d{1,18}"
    queryset = FailoverPlan.objects.none()

    def where(self, flow_id: str, pk: str = "0", **_: Any) -> Collection[int]:
        """Return the clusters on which the right is needed."""
        if self.request.method in {"GET", "HEAD", "OPTIONS"}:
            return queries.where(int(flow_id))
        asked = self.request.data if not int(pk) else {}
        direction = asked.get("direction", "") if isinstance(asked, dict) else ""
        return queries.where_set(int(flow_id), int(pk), str(direction))

    def get_queryset(self) -> QuerySet[FailoverPlan]:
        return queries.list_plans(self.kwargs.get("flow_id", 0))

    def _plan(self) -> FailoverPlan:
        return or_404(
            queries.get_plan(self.request.user, int(self.kwargs["flow_id"]), int(self.kwargs["pk"]))
        )

    @extend_schema(responses=FailoverPlanSerializer(many=True))
    def list(self, request: Request, flow_id: str) -> Response:
        """List the plans of a flow, newest first."""
        return self.paged(self.get_queryset(), FailoverPlanSerializer)

    @extend_schema(request=NewPlanSerializer, responses={201: FailoverPlanDetailSerializer})
    def create(self, request: Request, flow_id: str) -> Response:
        """Create a plan; both clusters are queried within seconds. No offset is changed."""
        asked = body_of(NewPlanSerializer, request)
        flow = or_404(
            ReplicationFlow.objects.select_related("source", "target").filter(pk=flow_id).first()
        )
        require(request.user, "view", flow.source_id, flow.target_id)
        is_back = asked.get("direction") == Direction.FAILBACK
        require(request.user, "operate", flow.source_id if is_back else flow.target_id)
        plan = actions.create_plan(flow, asked, person_of(self.request), timezone.now())
        return Response(FailoverPlanDetailSerializer(plan).data, status.HTTP_201_CREATED)

    @extend_schema(responses=FailoverPlanDetailSerializer)
    def retrieve(self, request: Request, flow_id: str, pk: str) -> Response:
        """Return a plan with its pre-checks."""
        return Response(FailoverPlanDetailSerializer(self._plan()).data)

    @extend_schema(responses=PlanGroupSerializer(many=True))
    @action(detail=True)
    def groups(self, request: Request, flow_id: str, pk: str) -> Response:
        """List the groups of a plan: pre-checks, and the translated offsets with their evidence."""
        rows = self._plan().plan_groups.all()
        if self.asked.get("group"):
            rows = rows.filter(group=self.asked["group"])
        return self.paged(rows, PlanGroupSerializer, "group")

    @extend_schema(request=None, responses=FailoverPlanDetailSerializer)
    @action(detail=True, methods=["post"])
    def refresh(self, request: Request, flow_id: str, pk: str) -> Response:
        """Query both clusters again."""
        actions.refresh_plan(self._plan(), person_of(self.request))
        return Response(FailoverPlanDetailSerializer(self._plan()).data)

    @extend_schema(request=None, responses={201: FailoverRunSerializer})
    @action(detail=True, methods=["post"])
    def rehearse(self, request: Request, flow_id: str, pk: str) -> Response:
        """Start a dry run of a plan: no offset is set; the run has a signed report."""
        run = actions.rehearse_plan(self._plan(), person_of(self.request), timezone.now())
        return _started(run)

    @extend_schema(request=ApplySerializer, responses={201: FailoverRunSerializer})
    @action(detail=True, methods=["post"])
    def apply(self, request: Request, flow_id: str, pk: str) -> Response:
        """Set the offsets of a plan and verify them; previous offsets are stored."""
        given = body_of(ApplySerializer, request)
        run = actions.apply_plan(
            self._plan(),
            given["confirm"],
            person_of(self.request),
            timezone.now(),
            given.get("groups"),
        )
        return _started(run)

    @extend_schema(request=UndoSerializer, responses={201: FailoverRunSerializer})
    @action(detail=True, methods=["post"])
    def undo(self, request: Request, flow_id: str, pk: str) -> Response:
        """Restore the previous offsets of the groups, and delete offsets that did not exist before."""
        given = body_of(UndoSerializer, request)
        run = actions.undo_plan(
            self._plan(),
            given["confirm"],
            person_of(self.request),
            timezone.now(),
            even_if_moved=given["even_if_moved"],
        )
        return _started(run)

    @extend_schema(responses=FailoverRunSerializer(many=True))
    @action(detail=True)
    def runs(self, request: Request, flow_id: str, pk: str) -> Response:
        """List the runs of a plan, newest first."""
        rows = queries.list_runs(self._plan())
        return self.paged(rows, FailoverRunSerializer)

    @extend_schema(responses=SignedReportSerializer)
    @action(detail=True, pagination_class=None)
    def report(self, request: Request, flow_id: str, pk: str) -> Response:
        """Return the signed report of a run of a plan; it is verified with the key of `report-key`."""
        run = queries.get_run(self._plan(), self.asked.get("run"))
        if run is None or not run.report:
            raise Http404
        return Response(json.loads(run.report))

    @extend_schema(responses=PlanCommandsSerializer)
    @action(detail=True, pagination_class=None)
    def commands(self, request: Request, flow_id: str, pk: str) -> Response:
        """Return files and kafka-consumer-groups.sh commands that apply a plan and roll it back."""
        found = commands_of(self._plan())
        return Response({which: asdict(one) for which, one in found.items()})


class ReportKeyViewSet(ApiViewSet[FailoverRun]):
    """The key that verifies signed reports."""

    serializer_class = ReportKeySerializer
    pagination_class = None
    anywhere_actions: ClassVar = ("list",)
    queryset = FailoverRun.objects.none()

    # The library leaves its helper without types.
    @extend_schema(responses=forced_singular_serializer(ReportKeySerializer))  # type: ignore[no-untyped-call]
    def list(self, request: Request) -> Response:
        """Return the public key that verifies reports of this installation."""
        key = report_key()
        told = {"algorithm": ALGORITHM, "key_id": key.key_id, "public_key_pem": key.public_pem}
        return Response(told)


def _started(run: FailoverRun) -> Response:
    return Response(FailoverRunSerializer(run).data, status.HTTP_201_CREATED)

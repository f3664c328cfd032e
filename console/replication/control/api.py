"""Runtime controls of a flow over REST."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.rest.parsing import body_of
from console.replication.control import actions as control_actions
from console.replication.control import control as rules
from console.replication.control.serializers import ControlSerializer, PartNamesSerializer
from console.replication.flows.models import ReplicationFlow


class ControlRoutes:
    """The routes of a flow's control, for its view set."""

    _flow: Callable[[], ReplicationFlow]

    @extend_schema(responses=ControlSerializer)
    @action(detail=True, url_path="control", pagination_class=None)
    def control(self, request: Request, pk: str) -> Response:
        """Return the runtime controls of a flow."""
        return Response(rules.shown(self._flow()))

    @extend_schema(request=ControlSerializer, responses=ControlSerializer)
    @control.mapping.patch
    def change_control(self, request: Request, pk: str) -> Response:
        """Change the runtime controls of a flow; no run is restarted."""
        asked = body_of(ControlSerializer, request, partial=True)
        flow = self._flow()
        control_actions.change_control(flow, asked)
        return Response(rules.shown(flow))

    @extend_schema(request=PartNamesSerializer, responses=ControlSerializer)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, pk: str) -> Response:
        """Pause topics and partitions until they are resumed; the others are still replicated."""
        return self._steer(control_actions.pause, request)

    @extend_schema(request=PartNamesSerializer, responses=ControlSerializer)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, pk: str) -> Response:
        """Resume paused topics and partitions at their positions."""
        return self._steer(control_actions.resume, request)

    @extend_schema(request=PartNamesSerializer, responses=ControlSerializer)
    @action(detail=True, methods=["post"])
    def restart(self, request: Request, pk: str) -> Response:
        """Restart topics and partitions at their committed positions, failed ones included."""
        return self._steer(control_actions.restart_parts, request)

    def _steer(
        self, act: Callable[[ReplicationFlow, Sequence[str]], None], request: Request
    ) -> Response:
        asked = body_of(PartNamesSerializer, request)
        flow = self._flow()
        act(flow, asked["names"])
        return Response(rules.shown(flow))

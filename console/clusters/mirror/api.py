"""The questions of Kafka's MirrorClient over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.mirror import answers as mirror
from console.clusters.mirror.serializers import (
    MirroredSerializer,
    MirrorNamesQuery,
    RemoteOffsetSerializer,
    RemoteOffsetsQuery,
)
from console.clusters.models import Cluster
from console.frame.rest.parameters import Parameters
from console.frame.rest.serializers import ErrorSerializer

_NOT_ASKED = OpenApiResponse(
    ErrorSerializer, "The cluster was not asked, or did not allow it; `code` says why."
)
PARAMETERS: dict[str, type[Parameters]] = {
    "mirror": MirrorNamesQuery,
    "mirror_consumer_offsets": RemoteOffsetsQuery,
}


class MirrorRoutes:
    """The routes below a cluster; for its view set."""

    _cluster: Callable[[], Cluster]
    asked: dict[str, Any]

    @extend_schema(responses=MirroredSerializer)
    @action(detail=True, pagination_class=None)
    def mirror(self, request: Request, alias: str) -> Response:
        """Return which clusters arrive here, over how many flows, with which topics."""
        found = mirror.mirrored(self._cluster(), mirror.policy_from(self.asked))
        return Response(MirroredSerializer(found).data)

    @extend_schema(responses={200: RemoteOffsetSerializer(many=True), 409: _NOT_ASKED})
    @action(detail=True, url_path="mirror/consumer-offsets", pagination_class=None)
    def mirror_consumer_offsets(self, request: Request, alias: str) -> Response:
        """Ask the cluster where a group of another cluster goes on here, by its checkpoints."""
        group, source = self.asked["group"], self.asked["source"]
        policy = mirror.policy_from(self.asked)
        rows: Any = mirror.consumer_offsets(self._cluster(), policy, group, source)
        return Response(RemoteOffsetSerializer(rows, many=True).data)

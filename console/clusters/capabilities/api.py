"""What works on a cluster, over REST."""

from __future__ import annotations

from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.capabilities.serializers import CapabilitiesSerializer
from console.clusters.models import Cluster


class CapabilityRoutes:
    """The route below a cluster; for its view set."""

    _cluster: Callable[[], Cluster]

    @extend_schema(responses=CapabilitiesSerializer)
    @action(detail=True, pagination_class=None)
    def capabilities(self, request: Request, alias: str) -> Response:
        """Return the Kafka version of each broker, what works on the cluster, and what does not and why."""
        return Response(CapabilitiesSerializer(self._cluster().offers).data)

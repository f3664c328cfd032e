"""Controller sites over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.availability.api_lookup import find_cluster
from console.availability.controller_sites.sites import ControllerPlace, places_of, save_sites
from console.availability.placements.models import ControllerSite
from console.availability.placements.serializers import ClusterParameters
from console.availability.what_if.cluster_models import snapshot_of
from console.clusters.models import Cluster
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import BodySerializer
from console.frame.rest.viewset import ApiViewSet


class ControllerSiteSerializer(serializers.Serializer[Any]):
    """A voter of the quorum and its site."""

    node_id = serializers.IntegerField()
    rack = serializers.CharField(help_text="broker.rack of the same node; empty: it is no broker.")
    site = serializers.CharField(help_text="The configured site; empty: none.")


class SaveControllerSites(BodySerializer):
    """Controller sites; replaces all earlier ones."""

    cluster = serializers.CharField(max_length=63, help_text="Alias of the cluster.")
    sites = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=1000),
        help_text="Site by node id: `{'4': 'west'}`. Nodes that are not given lose their site.",
    )


class ControllerSiteViewSet(ApiViewSet[Any]):
    """Sites of controllers that are not brokers: input of failure simulation."""

    queryset = ControllerSite.objects.none()
    serializer_class = ControllerSiteSerializer
    parameters: ClassVar = {"list": ClusterParameters}
    anywhere_actions: ClassVar = ("list", "create")
    pagination_class = None

    @extend_schema(responses=ControllerSiteSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the voters of a quorum with their sites; empty before the first collection."""
        cluster = find_cluster(request.user, self.asked["cluster"])
        return Response(ControllerSiteSerializer(_places(cluster), many=True).data)

    @extend_schema(
        request=SaveControllerSites, responses={200: ControllerSiteSerializer(many=True)}
    )
    def create(self, request: Request) -> Response:
        """Save controller sites; nothing is written to the cluster."""
        given = body_of(SaveControllerSites, request)
        cluster = find_cluster(request.user, given["cluster"], "operate")
        save_sites(cluster, given["sites"], _places(cluster), timezone.now())
        return Response(ControllerSiteSerializer(_places(cluster), many=True).data)


def _places(cluster: Cluster) -> list[ControllerPlace]:
    picture = snapshot_of(cluster)
    return places_of(cluster, picture.voters, picture.racks)

"""The questions of Kafka's MirrorClient over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.mirror import answers as mirror
from console.clusters.mirror.answers import DEFAULT, IDENTITY
from console.clusters.models import Cluster
from console.frame.rest.parameters import Parameters
from console.frame.rest.serializers import ErrorSerializer


class MirrorQuery(Parameters):
    """How remote topics are named."""

    policy = serializers.ChoiceField(
        choices=[DEFAULT, IDENTITY], required=False, help_text="The naming policy; default."
    )
    separator = serializers.RegexField(
        r"^[A-Za-z0-9._-]{1,10}$",
        required=False,
        help_text="Between alias and topic; without it a dot.",
    )
    internal_separator = serializers.BooleanField(
        required=False,
        default=True,
        help_text="Whether internal topics have the separator too (KIP-949); else a dot.",
    )


class MirrorNamesQuery(MirrorQuery):
    """Likewise, for what the names of topics tell."""

    source = serializers.CharField(  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source
        required=False, max_length=100, help_text="The alias that an identity policy is given."
    )


class RemoteOffsetsQuery(MirrorQuery):
    """Likewise, with a group of another cluster."""

    group = serializers.CharField(
        max_length=255, help_text="A consumer group of the source cluster."
    )
    source = serializers.CharField(max_length=100, help_text="The alias of the source cluster.")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source


class UpstreamSerializer(serializers.Serializer[Any]):
    """A cluster that arrives here: `replication_hops` -1 when no heartbeats of it do."""

    alias = serializers.CharField()
    replication_hops = serializers.IntegerField()
    remote_topics = serializers.ListField(child=serializers.CharField())
    checkpoints_topic = serializers.CharField()
    has_checkpoints = serializers.BooleanField()


class MirroredSerializer(serializers.Serializer[Any]):
    """What the names of topics tell of the flows that end here."""

    upstream_clusters = UpstreamSerializer(many=True)
    heartbeat_topics = serializers.ListField(child=serializers.CharField())
    checkpoint_topics = serializers.ListField(child=serializers.CharField())


class RemoteOffsetSerializer(serializers.Serializer[Any]):
    """Translated offset of a group in a partition of this cluster, by its last checkpoint."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    metadata = serializers.CharField()


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
        """Return the translated offsets of a group of a source cluster, by its checkpoints."""
        group, source = self.asked["group"], self.asked["source"]
        policy = mirror.policy_from(self.asked)
        rows: Any = mirror.consumer_offsets(self._cluster(), policy, group, source)
        return Response(RemoteOffsetSerializer(rows, many=True).data)

"""MirrorMaker 2's configuration, and naming policies told from topics, over REST."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from console.clusters.models import Cluster, Topic
from console.frame.errors import or_404
from console.frame.rest.parameters import Parameters
from console.frame.rest.parsing import body_of
from console.frame.rest.serializers import BodySerializer
from console.frame.rest.viewset import ApiViewSet
from console.frame.security.access import visible
from console.replication.flows.models import ReplicationFlow
from console.replication.mirror_config.explanation import explain
from jobs.cluster.errors import InvalidFields
from jobs.replication.mirror_config.read.text_input import InputFile
from jobs.replication.naming.detection import Sureness, detect_policies

MOST_FILES = 10


class ConfigFileSerializer(BodySerializer):
    """A file of a configuration; its name is used in findings."""

    name = serializers.CharField(max_length=200, required=False, default="file")
    text = serializers.CharField(trim_whitespace=False)


class MirrorConfigQuery(BodySerializer):
    """Files that belong together, and maybe the one flow to explain."""

    files = ConfigFileSerializer(many=True, allow_empty=False)
    flow = serializers.CharField(
        max_length=500, required=False, allow_blank=True, help_text="Only this flow, as in A->B."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse too many of them."""
        if len(attrs["files"]) > MOST_FILES:
            raise serializers.ValidationError({"files": f"At most {MOST_FILES} files at a time."})
        return attrs


class MirrorConfigSerializer(serializers.Serializer[Any]):
    """An explained configuration; docs/formats.md describes its parts."""

    files = serializers.ListField(child=serializers.DictField())
    clusters = serializers.DictField(child=serializers.DictField())
    cluster_pairs = serializers.ListField(child=serializers.CharField())
    topology = serializers.DictField()
    flows = serializers.ListField(child=serializers.DictField())
    findings = serializers.ListField(child=serializers.DictField())


class MirrorConfigViewSet(ApiViewSet[ReplicationFlow]):
    """MirrorMaker 2's configuration: nothing of it is stored."""

    queryset = ReplicationFlow.objects.none()
    serializer_class = MirrorConfigSerializer
    anywhere_actions: ClassVar = ("create",)
    # It writes nothing. Answers are not cached: they may hold confidential names.
    access: ClassVar = {"create": "view"}
    secret_answers: ClassVar = ("create",)

    @extend_schema(request=MirrorConfigQuery, responses={200: MirrorConfigSerializer})
    def create(self, request: Request) -> Response:
        """Explain a configuration of MirrorMaker 2: effective values, their origin, findings."""
        given = body_of(MirrorConfigQuery, request)
        files = [InputFile(one["name"], one["text"].encode()) for one in given["files"]]
        try:
            explained = explain(request.user, files, given.get("flow", ""))
        except InvalidFields as invalid:
            errors = {("files" if k == "text" else k): v for k, v in invalid.errors.items()}
            raise InvalidFields(errors) from None
        return Response(explained.report())


class NamingQuery(Parameters):
    """Which cluster's topics to look at."""

    cluster = serializers.CharField(max_length=63, help_text="Alias of the cluster.")


class NamingEvidenceSerializer(serializers.Serializer[Any]):
    """A topic, and what its name tells."""

    topic = serializers.CharField(allow_blank=True)
    tells = serializers.CharField()


class NamingSerializer(serializers.Serializer[Any]):
    """A naming policy that explains topics of a cluster."""

    policy = serializers.ChoiceField(choices=["default", "identity", "custom"])
    template = serializers.CharField()
    separator = serializers.CharField()
    internal_separator = serializers.BooleanField()
    sources = serializers.ListField(child=serializers.CharField())
    remote_topics = serializers.IntegerField()
    examples = serializers.ListField(child=serializers.CharField())
    sureness = serializers.ChoiceField(choices=[one.value for one in Sureness])
    evidence = NamingEvidenceSerializer(many=True)


class NamingViewSet(ApiViewSet[ReplicationFlow]):
    """Naming policies, told from the topics that were last seen on a cluster."""

    queryset = ReplicationFlow.objects.none()
    serializer_class = NamingSerializer
    parameters: ClassVar = {"list": NamingQuery}
    anywhere_actions: ClassVar = ("list",)
    pagination_class = None

    @extend_schema(responses=NamingSerializer(many=True))
    def list(self, request: Request) -> Response:
        """Say which naming policies explain the topics of a cluster, with evidence."""
        cluster = or_404(
            visible(request.user, Cluster.objects.filter(alias=self.asked["cluster"])).first()
        )
        found = detect_policies(names_on(cluster))
        return Response([one.to_mapping() for one in found])


def names_on(cluster: Cluster) -> list[str]:
    """Return the names of the topics that were last seen on a cluster."""
    return list(Topic.objects.filter(cluster=cluster).order_by().values_list("name", flat=True))

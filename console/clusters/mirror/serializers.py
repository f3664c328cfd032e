"""The shapes of MirrorClient's questions and answers in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.clusters.mirror.answers import DEFAULT, IDENTITY
from console.frame.rest.parameters import Parameters


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

    group = serializers.CharField(max_length=255, help_text="A group of the other cluster.")
    source = serializers.CharField(max_length=100, help_text="The alias of the other cluster.")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source


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
    """Where a group goes on in a partition of this cluster, by its last checkpoint."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    metadata = serializers.CharField()

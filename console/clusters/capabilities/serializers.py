"""The shapes of what works on clusters in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.cluster.capabilities.releases import NOT_KNOWN, Mode
from jobs.cluster.capabilities.verdicts import ClusterVersions, Judged, Verdict

VERDICTS = [(verdict.value, verdict.value) for verdict in Verdict]


class BrokerVersionSerializer(serializers.Serializer[Any]):
    """The Kafka release of a broker, as far as its answer to ApiVersions tells."""

    broker_id = serializers.IntegerField()
    release = serializers.CharField(help_text="As 3.9, 3.3 or 3.4, 4.3 or newer, not known.")
    why = serializers.CharField(help_text="What contradicts itself, or why it did not answer.")


class CapabilitySerializer(serializers.Serializer[Judged]):
    """Something that crosslog can do, and whether it works on this cluster."""

    code = serializers.CharField()
    title = serializers.CharField()
    verdict = serializers.ChoiceField(choices=VERDICTS)
    why = serializers.CharField(
        help_text="Empty where it works; the other way, where there is one."
    )
    since = serializers.CharField(help_text="The first Kafka release that has it.")


class CapabilitiesSerializer(serializers.Serializer[ClusterVersions]):
    """The Kafka versions of a cluster, and what works on it."""

    read_at = serializers.DateTimeField(
        allow_null=True, help_text="When the brokers said so; null: they never did."
    )
    versions = serializers.CharField(source="text")
    mode = serializers.ChoiceField(choices=[mode.value for mode in Mode])
    metadata_version = serializers.CharField(help_text="Finalized; empty where it is not reported.")
    has_topic_ids = serializers.BooleanField(allow_null=True)
    brokers = serializers.SerializerMethodField()
    contradictions = serializers.ListField(child=serializers.CharField())
    capabilities = CapabilitySerializer(source="judge", many=True)

    @extend_schema_field(BrokerVersionSerializer(many=True))
    def get_brokers(self, offers: ClusterVersions) -> list[dict[str, Any]]:
        """Return brokers that answered and those that did not."""
        told = [(i, one.text, one.why) for i, one in offers.releases.items()]
        silent = [(i, NOT_KNOWN, why) for i, why in offers.silent.items()]
        return [{"broker_id": i, "release": r, "why": w} for i, r, w in sorted(told + silent)]


class LackingSerializer(CapabilitySerializer):
    """A capability that a flow needs and that one of its clusters does not simply have."""

    cluster = serializers.CharField()
    read_at = serializers.DateTimeField(
        allow_null=True, help_text="When its brokers said so; null: they never did."
    )

"""The shapes of clusters, and of what was seen of them, in the API."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.clusters import queries
from console.clusters.counted import UNKNOWN, UNSURE
from console.clusters.models import (
    CONNECTION_FIELDS,
    Broker,
    Cluster,
    Group,
    GroupOffset,
    Partition,
    Topic,
)
from console.clusters.status import ClusterState, ClusterStatus
from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer, FreshnessSerializer
from jobs.availability.status.severity import Counted, Severity
from jobs.cluster.connection import SaslMechanism, SecurityProtocol, unknown_setting
from jobs.severity import Severity as PageSeverity

SECRET = "A reference, env:CROSSLOG_SECRET_NAME or file:NAME; the secret itself is never stored."  # noqa: S105


class ClusterStatusSerializer(serializers.Serializer[ClusterStatus]):
    """How the cluster is doing, why, and what to do."""

    state = serializers.ChoiceField(choices=[state.value for state in ClusterState])
    severity = serializers.ChoiceField(choices=[severity.value for severity in PageSeverity])
    reason = serializers.CharField()
    hint = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)


class ClusterSerializer(serializers.ModelSerializer[Cluster]):
    """A registered cluster: settings, what the check said, what is counted on it."""

    status = serializers.SerializerMethodField()
    freshness = serializers.SerializerMethodField()
    broker_count = serializers.IntegerField(
        source="live_count", allow_null=True, help_text="Live brokers; null before the first round."
    )
    missing_broker_count = serializers.IntegerField(source="dead_count", allow_null=True)
    topic_count = serializers.IntegerField(allow_null=True)
    partition_count = serializers.IntegerField(allow_null=True)
    under_replicated_count = serializers.IntegerField(allow_null=True)
    unsure_count = serializers.IntegerField(allow_null=True, help_text=UNSURE)
    offline_count = serializers.IntegerField(allow_null=True)
    group_count = serializers.IntegerField(allow_null=True)
    sasl_mechanism = serializers.CharField(help_text="Empty without SASL.")
    operations = serializers.ListField(child=serializers.CharField(), allow_null=True)
    findings = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Cluster
        fields = (
            *CONNECTION_FIELDS,
            "cluster_id",
            "seen_cluster_id",
            "is_enabled",
            "created_at",
            "checked_at",
            "operations",
            "findings",
            "status",
            "broker_count",
            "missing_broker_count",
            "topic_count",
            "partition_count",
            "under_replicated_count",
            "unsure_count",
            "offline_count",
            "group_count",
            "freshness",
        )
        read_only_fields = fields

    def get_status(self, cluster: Cluster) -> ClusterStatusSerializer:
        """Return how the cluster is doing."""
        return ClusterStatusSerializer(queries.status_of(cluster, timezone.now())).data  # type: ignore[return-value]  # the schema reads the annotation

    @extend_schema_field(FreshnessSerializer(many=True))
    def get_freshness(self, cluster: Cluster) -> list[dict[str, Any]]:
        """Return the freshness per noun."""
        return [dict(FreshnessSerializer(entry).data) for entry in queries.freshness_of(cluster)]


class ClusterSettingsSerializer(BodySerializer):
    """How to reach a cluster. Unknown settings are refused."""

    bootstrap_servers = serializers.CharField(max_length=4000, help_text="host:port, host:port")
    security_protocol = serializers.ChoiceField(
        choices=[p.value for p in SecurityProtocol], required=False
    )
    sasl_mechanism = serializers.ChoiceField(
        choices=[m.value for m in SaslMechanism], required=False, allow_blank=True
    )
    sasl_username = serializers.CharField(max_length=255, required=False, allow_blank=True)
    sasl_password = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text=SECRET
    )
    sasl_oauthbearer_token_url = serializers.CharField(
        max_length=1000,
        required=False,
        allow_blank=True,
        help_text="OAUTHBEARER: URL of the OAuth 2 token endpoint (client credentials).",
    )
    sasl_oauthbearer_scope = serializers.CharField(max_length=255, required=False, allow_blank=True)
    ssl_ca = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text=SECRET
    )
    ssl_certificate = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text=SECRET
    )
    ssl_key = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text=SECRET
    )
    ssl_key_password = serializers.CharField(
        max_length=255, required=False, allow_blank=True, help_text=SECRET
    )
    ssl_check_hostname = serializers.BooleanField(required=False)

    def unknown_field(self, name: str) -> str:
        """Return what the connection says of a setting that it does not have."""
        return unknown_setting(name)


class NewCheckSerializer(ClusterSettingsSerializer):
    """Settings to try without saving them."""

    alias = serializers.CharField(max_length=63)


class ChangedClusterSerializer(ClusterSettingsSerializer):
    """Changed settings of a registered cluster; its alias stays."""

    is_enabled = serializers.BooleanField(
        required=False, help_text="Whether crosslog collects from this cluster."
    )
    save_unchecked = serializers.BooleanField(
        required=False, default=False, help_text="Save without a connection check."
    )


class NewClusterSerializer(ChangedClusterSerializer):
    """A cluster to be registered."""

    alias = serializers.CharField(
        max_length=63,
        help_text="Letters, digits, - and _: prefix of remote topics, permanent.",
    )


class ClusterIdSerializer(BodySerializer):
    """The id of the cluster that answers at the address now."""

    cluster_id = serializers.CharField(max_length=64)


class CheckedBrokerSerializer(serializers.Serializer[Any]):
    """A live broker."""

    broker_id = serializers.IntegerField()
    host = serializers.CharField()
    port = serializers.IntegerField()
    rack = serializers.CharField(allow_null=True)


class ConnectionCheckSerializer(serializers.Serializer[Any]):
    """What a check found; `findings` are sentences about what will not work or is worth knowing."""

    cluster_id = serializers.CharField()
    brokers = CheckedBrokerSerializer(many=True)
    operations = serializers.ListField(child=serializers.CharField())
    findings = serializers.ListField(child=serializers.CharField())


class BrokerSerializer(serializers.ModelSerializer[Broker]):
    """A broker; one that is not live still has replicas."""

    cluster = serializers.CharField(source="cluster.alias")

    class Meta:
        model = Broker
        fields = (
            "cluster", "broker_id", "host", "port", "rack", "is_live", "leader_count",
            "replica_count", "seen_at", "changed_at",
        )  # fmt: skip
        read_only_fields = fields


SEVERITY_CHOICES = [(severity.word, severity.word) for severity in Severity]
STATE_CHOICES = [*SEVERITY_CHOICES, (UNKNOWN, UNKNOWN)]
ADDING = "Replicas that a reassignment adds; null: whether there is one is not known."
COUNTED_AS = (
    "Only those in this count of Kafka's; the counts overlap. `broker_...`: as the brokers' metrics count, "
    "by the smaller one of min.insync.replicas and the number of replicas; the others as kafka-topics.sh."
)


class SeverityField(serializers.ChoiceField):
    """A step of the ladder as a word; `unknown` where replicas are missing or being added."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=STATE_CHOICES, **kwargs)

    def get_attribute(self, instance: Any) -> Any:
        """Return the word itself where no step is known."""
        return UNKNOWN if getattr(instance, "is_unsure", False) else super().get_attribute(instance)

    def to_representation(self, value: Any) -> str:
        """Return the word."""
        return UNKNOWN if value == UNKNOWN else Severity(value).word


class TopicSerializer(serializers.ModelSerializer[Topic]):
    """A topic with the sums over its partitions."""

    cluster = serializers.CharField(source="cluster.alias")
    severity = SeverityField()
    configs = serializers.DictField(child=serializers.CharField())

    class Meta:
        model = Topic
        fields = (
            "cluster", "name", "topic_id", "is_internal", "partition_count", "replication_factor",
            "min_insync_replicas", "severity", "under_replicated_count", "offline_count",
            "unsure_count", "record_count", "configs", "configs_read_at", "error", "changed_at",
        )  # fmt: skip
        read_only_fields = fields


class PartitionSerializer(serializers.ModelSerializer[Partition]):
    """A partition: placement, severity, offsets."""

    cluster = serializers.CharField(source="cluster.alias")
    topic = serializers.CharField(source="topic.name")
    severity = SeverityField()
    min_insync_replicas = serializers.IntegerField(
        source="topic.min_insync_replicas", allow_null=True
    )
    replicas = serializers.ListField(child=serializers.IntegerField())
    isr = serializers.ListField(child=serializers.IntegerField())
    adding = serializers.ListField(
        child=serializers.IntegerField(), allow_null=True, help_text=ADDING
    )
    removing = serializers.ListField(child=serializers.IntegerField())
    open_transaction = serializers.DictField(
        allow_null=True,
        help_text="What holds the last stable offset at `offset` since `seen_ms`; null: nothing.",
    )

    class Meta:
        model = Partition
        fields = (
            "cluster",
            "topic",
            "partition",
            "leader",
            "replicas",
            "isr",
            "adding",
            "removing",
            "min_insync_replicas",
            "severity",
            "log_start_offset",
            "end_offset",
            "high_watermark",
            "max_timestamp_ms",
            "open_transaction",
            "error",
            "changed_at",
        )
        read_only_fields = fields


class GroupSerializer(serializers.ModelSerializer[Group]):
    """A group with the sums over its partitions.

    `lag` and `lag_ms` are over the partitions that have a number, null without any; `unknown_count` and
    `unknown_ms_count` are how many have none: with some, a total is at least what is shown.
    """

    cluster = serializers.CharField(source="cluster.alias")

    class Meta:
        model = Group
        fields = (
            "cluster",
            "group_id",
            "state",
            "type",
            "protocol",
            "assignor",
            "member_count",
            "coordinator",
            "topic_count",
            "partition_count",
            "unknown_count",
            "unknown_ms_count",
            "lag",
            "lag_to_high_watermark",
            "lag_ms",
            "error",
            "changed_at",
        )
        read_only_fields = fields


class GroupOffsetSerializer(serializers.ModelSerializer[GroupOffset]):
    """Where a group is in one partition: at its commit, or of a share group from its start offset on."""

    cluster = serializers.CharField(source="group.cluster.alias")
    group = serializers.CharField(source="group.group_id")

    class Meta:
        model = GroupOffset
        fields = (
            "cluster",
            "group",
            "topic",
            "partition",
            "is_assigned",
            "committed_offset",
            "start_offset",
            "log_start_offset",
            "end_offset",
            "high_watermark",
            "lag",
            "lag_to_high_watermark",
            "lag_status",
            "lag_ms",
            "error",
            "changed_at",
        )
        read_only_fields = fields


class SeenFilters(PageParameters):
    """What every list of seen things can be narrowed down to."""

    cluster = serializers.CharField(required=False, help_text="Alias of a cluster.")


class TopicFilters(SeenFilters):
    """Filters of topics."""

    name = serializers.CharField(required=False, help_text="Only this topic.")
    severity = serializers.ChoiceField(
        choices=STATE_CHOICES, required=False, help_text="Only rows with this state."
    )


class PartitionFilters(SeenFilters):
    """Filters of partitions."""

    topic = serializers.CharField(required=False, help_text="Only this topic.")
    counted_as = serializers.ChoiceField(
        choices=[one.value for one in Counted],
        required=False,
        help_text=COUNTED_AS,
    )
    severity = serializers.ChoiceField(
        choices=STATE_CHOICES, required=False, help_text="Only rows with this state."
    )


class GroupFilters(SeenFilters):
    """Filters of groups."""

    group = serializers.CharField(required=False, help_text="Only this group.")
    state = serializers.CharField(
        required=False, help_text="Kafka's value: Stable, Empty, Dead ..."
    )
    type = serializers.CharField(
        required=False, help_text="Kafka's value: classic, consumer, share, streams."
    )


class GroupOffsetFilters(SeenFilters):
    """Filters of group offsets."""

    group = serializers.CharField(required=False, help_text="Only this group.")
    topic = serializers.CharField(required=False, help_text="Only this topic.")

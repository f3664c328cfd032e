"""The shapes of flows in the API."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.frame.rest.parameters import PageParameters, TimeRangeParameters
from console.frame.rest.serializers import BodySerializer, FreshnessSerializer
from console.frame.series import MOST_POINTS
from console.replication.checkpoints.serializers import CheckpointWritingSerializer
from console.replication.control.serializers import TopicSyncSerializer
from console.replication.control.stages import STAGES, Stage, stages_of
from console.replication.control.steering import LIMIT, PAUSED, Steering, steering_of
from console.replication.flows.audits import DIFFERENCES, FlowAudit, Verdict
from console.replication.flows.models import SETTINGS, FlowPartition, FlowTopic, ReplicationFlow
from console.replication.flows.preview import TopicPreview
from console.replication.flows.queries import freshness_of
from console.replication.flows.status import FlowState, FlowStatus
from console.replication.measurement.store import MEASURED
from console.runs.serializers import HostingSerializer
from jobs.replication.flow.spec import (
    HIGHEST_BYTES_PER_S,
    LONGEST_CHECKPOINTS_S,
    LONGEST_COMMIT_MS,
    LOWEST_BYTES_PER_S,
    MAX_TASKS,
    SHORTEST_COMMIT_MS,
    CopiedBy,
    CopyPath,
    FlowEngine,
    Guarantee,
    HeartbeatsTo,
    IsolationLevel,
    OnExisting,
    OnRecreated,
    PolicyName,
    SyncsLocation,
)


class FlowStatusSerializer(serializers.Serializer[FlowStatus]):
    """State, reason and what to do."""

    state = serializers.ChoiceField(choices=[state.value for state in FlowState])
    severity = serializers.CharField()
    reason = serializers.CharField()
    hint = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True)
    steered = serializers.CharField(help_text="Paused parts and limits, by whom and since when.")


class SteeringSerializer(serializers.Serializer[Steering]):
    """A paused topic or partition (`name`), or the limit of the flow (`bytes_per_s`).

    `by` is empty and `at` null where it was not noted, and for a limit that is a setting of the flow.
    """

    what = serializers.ChoiceField(choices=[PAUSED, LIMIT])
    name = serializers.CharField()
    bytes_per_s = serializers.IntegerField(allow_null=True)
    by = serializers.CharField()
    at = serializers.DateTimeField(allow_null=True)
    is_setting = serializers.BooleanField()


class _Patterns(serializers.ListField):
    child = serializers.CharField(max_length=500)


class CrashesSerializer(serializers.Serializer[Any]):
    """Crashes of the flow's runs and tasks in the last 24 hours; a wanted flow is restarted after each."""

    count = serializers.IntegerField()
    last_at = serializers.DateTimeField(allow_null=True)


class StageSerializer(serializers.Serializer[Stage]):
    """A stage of the start of the newest run; `seconds` are so far while it is not done."""

    name = serializers.ChoiceField(choices=[name for name, *_ in STAGES])
    seconds = serializers.FloatField()
    is_done = serializers.BooleanField()


def _fact(name: str, text: str) -> serializers.IntegerField:
    source = f"facts.{name}"
    return serializers.IntegerField(source=source, default=None, allow_null=True, help_text=text)


class FlowAuditSerializer(serializers.Serializer[FlowAudit]):
    """The copy audit that counts: the latest, or an earlier one that differs and was not audited again."""

    verdict = serializers.ChoiceField(choices=[(one.value, one.value) for one in Verdict])
    level = serializers.CharField(help_text="L0 to L3; empty: never audited.")
    at = serializers.DateTimeField(
        allow_null=True, help_text="When the ends of the logs were read."
    )
    is_old = serializers.BooleanField(help_text="Whether it is older than 7 days.")
    topics = _fact("topics", "Topics audited.")
    topics_of_flow = _fact("topics_of_flow", "Topics of the flow.")
    records_compared = _fact("records_compared", "Pairs of records.")
    partitions_unknown = _fact("partitions_unknown", "Partitions that were not judged.")
    counts = serializers.DictField(
        child=serializers.IntegerField(),
        help_text=f"Records that differ, without zeros: {', '.join(DIFFERENCES)}.",
    )
    found = serializers.ListField(
        child=serializers.CharField(), help_text="The first differences, with their offsets."
    )
    run = serializers.UUIDField(allow_null=True)
    later = serializers.CharField(help_text="A later audit that runs or failed.")


class FlowSerializer(serializers.ModelSerializer[ReplicationFlow]):
    """A flow: settings, whether it should run, status, totals."""

    source = serializers.CharField(source="source.alias")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source
    target = serializers.CharField(source="target.alias")
    topics = _Patterns(read_only=True)
    topics_exclude = _Patterns(read_only=True)
    groups = _Patterns(read_only=True)
    groups_exclude = _Patterns(read_only=True)
    custom_policy = serializers.DictField(child=serializers.CharField(), read_only=True)
    config_properties_exclude = _Patterns(read_only=True)
    states = serializers.DictField(child=serializers.IntegerField(), read_only=True)
    status = FlowStatusSerializer()
    freshness = serializers.SerializerMethodField()
    held_back = serializers.DictField(
        child=serializers.IntegerField(), help_text="Paused partitions, by reason."
    )
    topic_sync = serializers.SerializerMethodField()
    checkpoint_writing = serializers.SerializerMethodField()
    crashes = CrashesSerializer()
    audit = FlowAuditSerializer()
    hosting = HostingSerializer(allow_null=True)
    run = serializers.UUIDField(source="run_id", allow_null=True)
    start_stages = serializers.SerializerMethodField()
    steering = serializers.SerializerMethodField()

    class Meta:
        model = ReplicationFlow
        fields = (
            "id",
            "name",
            "source",
            "target",
            *SETTINGS[1:],
            "is_wanted",
            "status",
            "run",
            "hosting",
            "set_apart_at",
            "start_stages",
            "failures",
            "next_try_at",
            "partition_count",
            "states",
            "lag",
            "lag_ms",
            "unknown_count",
            "unknown_ms_count",
            "rate_per_s",
            "eta_s",
            "held_back",
            "steering",
            "control_problem",
            "topic_sync",
            "checkpoint_writing",
            "crashes",
            "audit",
            "measured_at",
            "freshness",
            "created_at",
        )
        read_only_fields = fields

    @extend_schema_field(FreshnessSerializer(many=True))
    def get_freshness(self, flow: ReplicationFlow) -> list[dict[str, Any]]:
        """Return the freshness of positions and of source offsets."""
        return [dict(FreshnessSerializer(entry).data) for entry in freshness_of(flow)]

    @extend_schema_field(SteeringSerializer(many=True))
    def get_steering(self, flow: ReplicationFlow) -> list[dict[str, Any]]:
        """Return paused parts of the flow, and its limit."""
        return [dict(SteeringSerializer(one).data) for one in steering_of(flow)]

    @extend_schema_field(StageSerializer(many=True))
    def get_start_stages(self, flow: ReplicationFlow) -> list[dict[str, Any]]:
        """Return how long each stage of the newest run's start took, up to the one that it is in."""
        return [dict(StageSerializer(one).data) for one in stages_of(flow.run, timezone.now())]

    @extend_schema_field(TopicSyncSerializer(allow_null=True))
    def get_topic_sync(self, flow: ReplicationFlow) -> dict[str, Any] | None:
        """Return the last sync of remote topics; None before the first one."""
        return TopicSyncSerializer(flow.topic_sync).data if flow.topic_sync else None

    @extend_schema_field(CheckpointWritingSerializer(allow_null=True))
    def get_checkpoint_writing(self, flow: ReplicationFlow) -> dict[str, Any] | None:
        """Return the newest run's report of its checkpoints; None before the first one."""
        told = flow.checkpoint_writing
        return CheckpointWritingSerializer(told).data if told else None


# The schema names this set: other rooms have policies, too.
POLICY_NAMES = [(word.value, word.value) for word in PolicyName]


def _one_of(words: type[StrEnum]) -> serializers.ChoiceField:
    return serializers.ChoiceField(choices=[word.value for word in words], required=False)


class FlowSettingsSerializer(BodySerializer):
    """The settings of a flow; patterns are regular expressions that match a whole name."""

    shown_by = FlowSerializer

    name = serializers.CharField(max_length=100)
    confirm = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="The flow's name, to confirm a caution: no topic is selected, remote topics are replicated "
        "back to their source, or topics with one replica are created on several brokers.",
    )
    topics = _Patterns(required=False, max_length=500)
    topics_exclude = _Patterns(required=False, max_length=500)
    groups = _Patterns(required=False, max_length=500)
    groups_exclude = _Patterns(required=False, max_length=500)
    copied_by = _one_of(CopiedBy)
    policy = _one_of(PolicyName)
    separator = serializers.CharField(max_length=10, required=False)
    custom_policy = serializers.DictField(
        child=serializers.CharField(max_length=200, allow_blank=True),
        required=False,
        help_text="Templates of the policy `custom`: remote_topic, offset_syncs, checkpoints, heartbeats.",
    )
    replication_factor = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=32767
    )
    tasks = serializers.IntegerField(required=False, min_value=1, max_value=MAX_TASKS)
    on_recreated = _one_of(OnRecreated)
    path = _one_of(CopyPath)
    delivery = _one_of(Guarantee)
    isolation_level = _one_of(IsolationLevel)
    offset_syncs = _one_of(SyncsLocation)
    heartbeats = _one_of(HeartbeatsTo)
    commit_interval_ms = serializers.IntegerField(
        required=False,
        min_value=SHORTEST_COMMIT_MS,
        max_value=LONGEST_COMMIT_MS,
        help_text="Maximum time between two commits; a flow without lag commits sooner.",
    )
    engine = _one_of(FlowEngine)
    client_rack = serializers.CharField(max_length=100, required=False, allow_blank=True)
    on_existing = _one_of(OnExisting)
    grow_partitions = serializers.BooleanField(required=False)
    sync_configs = serializers.BooleanField(required=False)
    delete_target_overrides = serializers.BooleanField(required=False)
    config_properties_exclude = _Patterns(required=False, max_length=500)
    sync_acls = serializers.BooleanField(required=False)
    emit_checkpoints_interval_s = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=LONGEST_CHECKPOINTS_S,
        help_text="Interval of checkpoints; 0: none.",
    )
    sync_group_offsets = serializers.BooleanField(
        required=False,
        help_text="Whether offsets of groups without members on the target are synced from the source.",
    )
    sync_group_offsets_interval_s = serializers.IntegerField(
        required=False, min_value=1, max_value=LONGEST_CHECKPOINTS_S
    )
    max_bytes_per_s = serializers.IntegerField(
        required=False, allow_null=True, min_value=LOWEST_BYTES_PER_S, max_value=HIGHEST_BYTES_PER_S
    )


class NewFlowSerializer(FlowSettingsSerializer):
    """A new flow between two registered clusters."""

    source = serializers.CharField(help_text="Alias of the source cluster.")  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source
    target = serializers.CharField(help_text="Alias of the target cluster.")
    start = serializers.BooleanField(required=False, default=False)


class TopicNamesSerializer(BodySerializer):
    """Names of source topics."""

    topics = serializers.ListField(
        child=serializers.CharField(max_length=249), min_length=1, max_length=500
    )


class FlowTopicSerializer(serializers.ModelSerializer[FlowTopic]):
    """A topic of a flow."""

    class Meta:
        model = FlowTopic
        fields = (
            "topic",
            "topic_id",
            "remote_topic",
            "partition_count",
            "state",
            "failed_count",
            "reason",
            "problem",
            "accepts_new",
            "lag",
            "lag_ms",
            "unknown_count",
            "unknown_ms_count",
            "rate_per_s",
            "updated_at",
        )
        read_only_fields = fields


class FlowPartitionSerializer(serializers.ModelSerializer[FlowPartition]):
    """A partition of a flow: `position` is the next source offset to copy."""

    findings = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = FlowPartition
        fields = ("topic", "partition", *MEASURED, "since", "updated_at")
        read_only_fields = fields


def _of_topic(text: str) -> serializers.CharField:
    return serializers.CharField(
        required=False, default="", max_length=249, allow_blank=True, help_text=text
    )


class PartitionQuery(PageParameters):
    """Filters of the partitions of a flow."""

    topic = _of_topic("Only this source topic.")


class SeriesQuery(TimeRangeParameters):
    """Parameters of a series, besides its time range."""

    topic = _of_topic("Of this source topic; without it of the whole flow.")
    points = serializers.IntegerField(
        default=MOST_POINTS,
        min_value=2,
        max_value=MOST_POINTS,
        help_text="At most this many points.",
    )


class EventSerializer(serializers.Serializer[Any]):
    """Something that happened at a moment; `kind` is the same for all of its sort."""

    at = serializers.IntegerField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.label
    severity = serializers.CharField()
    url = serializers.CharField()


class SeriesSerializer(serializers.Serializer[Any]):
    """Columns of equal length; `unknown_count` is how many partitions had no lag."""

    at = serializers.ListField(child=serializers.IntegerField())
    lag = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    lag_ms = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    unknown_count = serializers.ListField(child=serializers.IntegerField(allow_null=True))
    rate_per_s = serializers.ListField(child=serializers.FloatField(allow_null=True))
    events = EventSerializer(many=True)


class TopicPreviewSerializer(serializers.Serializer[TopicPreview]):
    """The preview of a topic, from what is known of both clusters.

    `plan` is what would happen to the remote topic, `remote_partitions` how many it has now; null:
    no such topic, or unknown.
    """

    topic = serializers.CharField()
    partitions = serializers.IntegerField()
    is_selected = serializers.BooleanField()
    remote_topic = serializers.CharField()
    reason = serializers.CharField()
    remote_partitions = serializers.IntegerField(allow_null=True)
    plan = serializers.CharField()
    warnings = serializers.ListField(child=serializers.CharField())

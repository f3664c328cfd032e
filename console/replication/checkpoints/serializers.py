"""The shapes of checkpoints, answers and translations in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.frame.rest.parameters import PageParameters, Parameters, TimeRangeParameters
from console.frame.rest.serializers import (
    BodySerializer,
    FreshnessSerializer,
    PlainSerializer,
    RenamedChoiceField,
)
from console.frame.series import MOST_POINTS
from console.replication.checkpoints.models import READINESS_CHOICES
from console.replication.flows.models import GroupReadiness, TopicReadiness
from console.replication.translation.workbench import DIRECTIONS, FORWARD
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason
from jobs.replication.translation.questions import HIGHEST_OFFSET, HIGHEST_PARTITION
from jobs.streams.failover import Reason

# A body of JSON has at most a megabyte; the page takes longer lists.
MOST_IN_BODY = 10_000
_ANSWER = (
    "readiness",
    "found",
    "found_since",
    "evidence",
    "rpo_records",
    "rpo_ms",
    "reread_lo",
    "reread_hi",
    "skipped_lo",
    "skipped_hi",
    "repeated_hi",
    "repeated_coming_hi",
)


def _readiness(**more: Any) -> RenamedChoiceField:
    return RenamedChoiceField(
        READINESS_CHOICES, before={"caution": Readiness.WARNING.value}, **more
    )


def _number(**more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True, **more)


class EvidenceSerializer(serializers.Serializer[Any]):
    """An obstacle of a readiness: its step, its text and what to do."""

    obstacle = serializers.CharField()
    readiness = _readiness()
    text = serializers.CharField()
    hint = serializers.CharField()


_REPEATED = (
    "Upper bound of records reprocessed when a plan sets the offsets after the groups have stopped."
)
_REPEATED_COMING = (
    "The same while the groups commit: their newest commits are newer than the newest offset sync. Null: "
    "unknown."
)


class _Answer(serializers.Serializer[Any]):
    readiness = _readiness()
    evidence = EvidenceSerializer(many=True)
    rpo_records = _number(help_text="Records of the source that the target does not have.")
    rpo_ms = _number(help_text="Their distance in record timestamps.")
    reread_lo = _number(
        help_text="Lower bound of records reprocessed when groups resume without a plan."
    )
    reread_hi = _number(help_text="Its upper bound; null: unknown.")
    skipped_lo = _number(
        help_text="Lower bound of records skipped when groups resume without a plan."
    )
    skipped_hi = _number(help_text="Its upper bound.")
    repeated_hi = _number(help_text=_REPEATED)
    repeated_coming_hi = _number(help_text=_REPEATED_COMING)


_FOUND = "Another readiness that the last rounds found and that does not count yet; empty: none."
_FOUND_SINCE = "Since when every round has found it; it counts after some seconds."


def _found() -> RenamedChoiceField:
    return _readiness(allow_blank=True, help_text=_FOUND)


class TopicOfGroupSerializer(_Answer):
    """The answer for one topic of a group."""

    topic = serializers.CharField()


class CheckpointPlaceSerializer(serializers.Serializer[Any]):
    """A group on one partition: committed offset, checkpoint, and translated offset with its evidence."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    remote_topic = serializers.CharField()
    readiness = _readiness()
    obstacles = serializers.ListField(child=serializers.CharField())
    committed = _number(help_text="The group's offset on the source.")
    upstream = _number(help_text="The checkpoint's offset on the source.")
    downstream = _number(help_text="The checkpoint's offset on the target.")
    checkpoint_at_ms = _number(help_text="Timestamp of the checkpoint's record.")
    behind = _number(help_text="Committed offset minus the offset of the checkpoint.")
    reason = serializers.CharField()
    synced = _number(help_text="The committed offset of the group on the target.")
    resume = _number(help_text="Where the group resumes on the target without a plan.")
    resume_by = serializers.CharField()
    lo = _number(help_text="The certified offset: a group that resumes here skips no record.")
    hi = _number(help_text="Its upper bound.")
    why = serializers.CharField()
    evidence = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="The offset syncs that prove it: [upstream, downstream].",
    )
    mm2 = _number(
        help_text="MirrorMaker 2's translation; -1: older than all offset syncs that it keeps."
    )
    reread = serializers.ListField(child=_number(), allow_null=True)
    skipped = serializers.ListField(child=_number(), allow_null=True)
    at_risk = _number(help_text="Records of the partition that are not replicated yet.")
    at_risk_ms = _number(help_text="Their distance in record timestamps.")


class GroupReadinessSerializer(serializers.ModelSerializer[GroupReadiness]):
    """The answer for a group in a flow, with its checkpoints."""

    found = _found()
    evidence = EvidenceSerializer(many=True)
    topics = TopicOfGroupSerializer(many=True)
    partitions = CheckpointPlaceSerializer(many=True)

    class Meta:
        model = GroupReadiness
        fields = (
            "group",
            "state",
            *_ANSWER,
            "reason",
            "reason_text",
            "behind",
            "behind_unknown_count",
            "checkpoint_at",
            "checkpoint_count",
            "partition_count",
            "topics",
            "partitions",
            "since",
            "updated_at",
        )
        read_only_fields = fields


class TopicReadinessSerializer(serializers.ModelSerializer[TopicReadiness]):
    """The answer for a topic of a flow."""

    found = _found()
    evidence = EvidenceSerializer(many=True)

    class Meta:
        model = TopicReadiness
        fields = ("topic", "group_count", *_ANSWER, "since", "updated_at")
        read_only_fields = fields


class FailoverReasonSerializer(PlainSerializer):
    """Why an application is not ready, or why that is unknown, and what to do."""

    of = Reason


class ApplicationFailoverSerializer(serializers.Serializer[Any]):
    """Whether a Kafka Streams application could resume on the target with its state; null: not known."""

    flow = serializers.IntegerField()
    flow_name = serializers.CharField()
    cluster = serializers.CharField()
    application_id = serializers.CharField()
    is_group_selected = serializers.BooleanField()
    ready = serializers.BooleanField(allow_null=True)
    reasons = FailoverReasonSerializer(many=True)


class FlowReadinessSerializer(_Answer):
    """The answer for a flow. `ready_share` is how much of the last 30 days it was ready; null: not known."""

    found = _found()
    found_since = serializers.DateTimeField(allow_null=True, help_text=_FOUND_SINCE)
    colour = serializers.CharField(help_text="green, amber, red, or grey for unknown.")
    counts = serializers.DictField(child=serializers.IntegerField())
    behind = _number(help_text="Records between groups and their checkpoints.")
    behind_unknown_count = serializers.IntegerField(
        help_text="Partitions without that number: `behind` is a lower bound."
    )
    checkpoint_at = serializers.DateTimeField(allow_null=True)
    ready_share = serializers.FloatField(allow_null=True)
    ready_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when that share is known."
    )
    since = serializers.DateTimeField(allow_null=True)
    freshness = FreshnessSerializer()
    applications = ApplicationFailoverSerializer(many=True)
    topics = TopicReadinessSerializer(many=True)


class CheckpointQuery(PageParameters):
    """Filters of groups."""

    group = serializers.CharField(
        required=False, default="", max_length=255, allow_blank=True, help_text="Only this group."
    )
    readiness = _readiness(required=False, help_text="Only groups with this answer.")
    reason = serializers.ChoiceField(
        choices=[(reason.value, reason.value) for reason in CheckpointReason],
        required=False,
        help_text="Only groups whose checkpoints have this reason.",
    )


class CheckpointSeriesQuery(TimeRangeParameters):
    """Parameters of a series of checkpoints, besides its time range."""

    group = serializers.CharField(
        required=False,
        default="",
        max_length=255,
        allow_blank=True,
        help_text="Of this group; without it of the flow.",
    )
    topic = serializers.CharField(
        required=False,
        default="",
        max_length=249,
        allow_blank=True,
        help_text="With partition and group: of this partition.",
    )
    partition = serializers.IntegerField(
        required=False,
        default=-1,
        min_value=-1,
        max_value=HIGHEST_PARTITION,
        help_text="Its number.",
    )
    points = serializers.IntegerField(
        required=False,
        default=MOST_POINTS,
        min_value=2,
        max_value=MOST_POINTS,
        help_text="At most this many points.",
    )


class CheckpointSeriesSerializer(serializers.Serializer[Any]):
    """Columns of equal length: Unix seconds, and the worst of each number in a step; null: unknown."""

    at = serializers.ListField(child=serializers.IntegerField())
    age_ms = serializers.ListField(child=_number())
    behind = serializers.ListField(child=_number())
    reread = serializers.ListField(child=_number())
    at_risk = serializers.ListField(child=_number())
    at_risk_ms = serializers.ListField(child=_number())
    rank = serializers.ListField(child=_number())
    events = serializers.ListField(child=serializers.DictField())


class TranslateQuery(Parameters):
    """One offset to be translated."""

    topic = serializers.CharField(
        max_length=249, help_text="Its name on the cluster that the offset is of."
    )
    partition = serializers.IntegerField(
        min_value=0, max_value=HIGHEST_PARTITION, help_text="Its number, the same on both sides."
    )
    offset = serializers.IntegerField(
        min_value=0, max_value=HIGHEST_OFFSET, help_text="The offset to be translated."
    )
    direction = serializers.ChoiceField(
        choices=DIRECTIONS,
        required=False,
        default=FORWARD,
        help_text="forward: source to target. reverse: target to source.",
    )


class OffsetQuestionSerializer(BodySerializer):
    """An offset of a list."""

    topic = serializers.CharField(max_length=249)
    partition = serializers.IntegerField(min_value=0, max_value=HIGHEST_PARTITION)
    offset = serializers.IntegerField(min_value=0, max_value=HIGHEST_OFFSET)
    group = serializers.CharField(max_length=255, required=False, default="", allow_blank=True)


class OffsetListSerializer(BodySerializer):
    """Offsets to be translated."""

    offsets = OffsetQuestionSerializer(many=True, allow_empty=False)
    direction = serializers.ChoiceField(choices=DIRECTIONS, required=False, default=FORWARD)

    def validate_offsets(self, offsets: list[Any]) -> list[Any]:
        """Refuse lists that are too long."""
        if len(offsets) > MOST_IN_BODY:
            raise serializers.ValidationError(f"At most {MOST_IN_BODY} offsets at a time.")
        return offsets


class TranslationSerializer(serializers.Serializer[Any]):
    """A translated offset.

    `lo`: a group that resumes here skips no record; null: unknown. `hi` is the upper bound; null: no upper
    bound. `mm2` is MirrorMaker 2's translation; -1: older than all offset syncs that it keeps.
    """

    line = serializers.IntegerField()
    group = serializers.CharField()
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    to_topic = serializers.CharField()
    lo = _number()
    hi = _number()
    exact = serializers.BooleanField()
    reason = serializers.CharField()
    evidence = serializers.ListField(child=serializers.ListField(child=serializers.IntegerField()))
    mm2 = _number()


class TranslationsSerializer(serializers.Serializer[Any]):
    """The answers to a list, in its order."""

    translations = TranslationSerializer(many=True)


class GroupSyncSerializer(serializers.Serializer[Any]):
    """The last sync of groups on the target: `moved_back` are offsets that followed a group back.

    `active` groups had members and were not changed; `ahead` are sentences about groups that were used on
    the target, or set by hand, and `ahead_groups` their names.
    """

    at_ms = serializers.IntegerField()
    groups = serializers.IntegerField()
    active = serializers.IntegerField()
    written = serializers.IntegerField()
    written_total = serializers.IntegerField()
    moved_back = serializers.IntegerField()
    errors = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.errors
    ahead = serializers.ListField(child=serializers.CharField())
    ahead_groups = serializers.ListField(child=serializers.CharField(), required=False)


class CheckpointWritingSerializer(serializers.Serializer[Any]):
    """The checkpoint rounds of a run: current checkpoints, exact ones, and partitions without one, by reason.

    `at_ms` is when groups were last queried; null: never. `fault` is why the last round failed. `corrected`
    counts wrong checkpoints of an earlier version or of MirrorMaker 2 that the run's first round replaced.
    """

    at_ms = serializers.IntegerField(allow_null=True)
    groups = serializers.IntegerField()
    told = serializers.IntegerField()
    exact = serializers.IntegerField()
    written = serializers.IntegerField()
    written_total = serializers.IntegerField()
    corrected = serializers.IntegerField(default=0)
    without = serializers.DictField(child=serializers.IntegerField())
    stale_groups = serializers.IntegerField()
    errors = serializers.DictField(child=serializers.CharField())  # type: ignore[assignment]  # the metaclass takes it before it can hide Serializer.errors
    findings = serializers.ListField(child=serializers.CharField())
    fault = serializers.CharField()
    group_sync = GroupSyncSerializer(allow_null=True)

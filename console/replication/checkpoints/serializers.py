"""The shapes of checkpoints, answers and translations in the API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from console.frame.rest.parameters import PageParameters, Parameters, TimeRangeParameters
from console.frame.rest.serializers import BodySerializer, FreshnessSerializer, RenamedChoiceField
from console.replication.checkpoints.models import READINESS_CHOICES
from console.replication.checkpoints.series import MOST_POINTS
from console.replication.flows.models import GroupReadiness, TopicReadiness
from console.replication.translation.workbench import DIRECTIONS, FORWARD
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason
from jobs.replication.translation.questions import HIGHEST_OFFSET, HIGHEST_PARTITION

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


def _number(**more: Any) -> serializers.IntegerField:
    return serializers.IntegerField(allow_null=True, **more)


class EvidenceSerializer(serializers.Serializer[Any]):
    """Why an answer is as it is: an obstacle, how bad it is, what it is and what to do."""

    obstacle = serializers.CharField()
    readiness = serializers.ChoiceField(choices=READINESS_CHOICES)
    text = serializers.CharField()
    hint = serializers.CharField()


_REPEATED = "Read twice at most when a plan sets the offsets once the groups have stopped."
_REPEATED_COMING = (
    "The same while they commit: a plan finds commits that are newer than the newest offset sync. Null: not "
    "known."
)


class _Answer(serializers.Serializer[Any]):
    readiness = serializers.ChoiceField(choices=READINESS_CHOICES)
    evidence = EvidenceSerializer(many=True)
    rpo_records = _number(help_text="Records of the source that the target does not have.")
    rpo_ms = _number(help_text="Their distance in record timestamps.")
    reread_lo = _number(help_text="Read twice at least, when groups go on by themselves.")
    reread_hi = _number(help_text="And at most; null: nothing bounds it, or nobody knows.")
    skipped_lo = _number(help_text="Skipped for certain when groups go on by themselves.")
    skipped_hi = _number(help_text="And at most.")
    repeated_hi = _number(help_text=_REPEATED)
    repeated_coming_hi = _number(help_text=_REPEATED_COMING)


_FOUND = "Another answer that the last rounds found and that does not count yet; empty: they agree."
_FOUND_SINCE = "Since when every round found it; it counts after some seconds."


def _found() -> serializers.ChoiceField:
    return serializers.ChoiceField(choices=READINESS_CHOICES, allow_blank=True, help_text=_FOUND)


class TopicOfGroupSerializer(_Answer):
    """The answer for one topic of a group."""

    topic = serializers.CharField()


class CheckpointPlaceSerializer(serializers.Serializer[Any]):
    """A group on one partition: checkpoint, certificate for its offset now, and what follows."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    remote_topic = serializers.CharField()
    readiness = serializers.ChoiceField(choices=READINESS_CHOICES)
    obstacles = serializers.ListField(child=serializers.CharField())
    committed = _number(help_text="The group's offset on the source.")
    upstream = _number(help_text="The checkpoint's offset on the source.")
    downstream = _number(help_text="The checkpoint's offset on the target.")
    checkpoint_at_ms = _number(help_text="Timestamp of the checkpoint's record.")
    behind = _number(help_text="From the checkpoint to the group's offset.")
    reason = serializers.CharField()
    synced = _number(help_text="The group's own offset on the target.")
    resume = _number(help_text="Where the group goes on by itself.")
    resume_by = serializers.CharField()
    lo = _number(help_text="The certified place: going on here skips nothing.")
    hi = _number(help_text="And its upper bound.")
    why = serializers.CharField()
    evidence = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="The offset syncs that prove it: [upstream, downstream].",
    )
    mm2 = _number(help_text="MirrorMaker 2's own answer; -1: older than all that it keeps.")
    reread = serializers.ListField(child=_number(), allow_null=True)
    skipped = serializers.ListField(child=_number(), allow_null=True)
    at_risk = _number(help_text="Records of the partition that are not copied yet.")
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


class FlowReadinessSerializer(_Answer):
    """The answer for a flow. `ready_share` is how much of the last 30 days it was ready; null: not known."""

    found = _found()
    found_since = serializers.DateTimeField(allow_null=True, help_text=_FOUND_SINCE)
    colour = serializers.CharField(help_text="green, amber or red.")
    counts = serializers.DictField(child=serializers.IntegerField())
    behind = _number(help_text="Records between groups and their checkpoints.")
    behind_unknown_count = serializers.IntegerField(
        help_text="Partitions of which that is not known: `behind` is at least what is shown."
    )
    checkpoint_at = serializers.DateTimeField(allow_null=True)
    ready_share = serializers.FloatField(allow_null=True)
    ready_since = serializers.DateTimeField(
        allow_null=True, help_text="Since when that share is known."
    )
    since = serializers.DateTimeField(allow_null=True)
    freshness = FreshnessSerializer()
    topics = TopicReadinessSerializer(many=True)


class CheckpointQuery(PageParameters):
    """What groups can be narrowed down to."""

    group = serializers.CharField(
        required=False, default="", max_length=255, allow_blank=True, help_text="Only this group."
    )
    readiness = RenamedChoiceField(
        READINESS_CHOICES,
        before={"caution": Readiness.WARNING.value},
        required=False,
        help_text="Only groups with this answer.",
    )
    reason = serializers.ChoiceField(
        choices=[(reason.value, reason.value) for reason in CheckpointReason],
        required=False,
        help_text="Only groups whose checkpoints have this reason.",
    )


class CheckpointSeriesQuery(TimeRangeParameters):
    """What may be asked of a series of checkpoints, besides its time range."""

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
        max_length=249, help_text="As it is called on the side asked from."
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
        help_text="forward: from the source to the target. reverse: for the way back.",
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
        """Refuse lists that no answer should be as long as."""
        if len(offsets) > MOST_IN_BODY:
            raise serializers.ValidationError(f"At most {MOST_IN_BODY} offsets at a time.")
        return offsets


class TranslationSerializer(serializers.Serializer[Any]):
    """An offset with its place on the other side.

    `lo`: going on here skips nothing; null: nothing is known. `hi` is the upper bound; null: nothing bounds
    it. `mm2` is MirrorMaker 2's own answer; -1: older than all that it keeps.
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
    """The last time groups of the target were set: `moved_back` are offsets that followed a group back.

    `active` groups were in use and left alone; `ahead` are sentences about groups that were used on the
    target, or set by hand, and `ahead_groups` their names.
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
    """The rounds of a run: checkpoints that stand, how many are exact, and what has none, by reason.

    `at_ms` is when groups were last asked; null: never. `fault` is why the last round failed. `corrected`
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

"""The shapes of quorums, voter sets, elections and changes in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.findings.serializers import FindingSerializer
from console.frame.rest.serializers import FreshnessSerializer
from console.quorum import queries
from console.quorum.labels import Kind
from console.quorum.models import (
    Election,
    MetadataChange,
    MetadataLog,
    QuorumStatus,
    Source,
    VoterSetEntry,
)
from jobs.wire.batches.log_batches import DamageKind

_NAME = "The cluster's alias; `_` and a word for an imported log."
_ROLES = ("leader", "voter", "observer")


class ReplicaSerializer(serializers.Serializer[Any]):
    """A replica of the metadata log; null where the leader does not report it."""

    id = serializers.IntegerField()
    directory_id = serializers.CharField(allow_null=True)
    role = serializers.ChoiceField(choices=_ROLES)
    log_end_offset = serializers.IntegerField(allow_null=True)
    lag = serializers.IntegerField(allow_null=True)
    lag_ms = serializers.IntegerField(allow_null=True)
    last_fetch_at = serializers.DateTimeField(allow_null=True)
    last_caught_up_at = serializers.DateTimeField(allow_null=True)
    endpoints = serializers.ListField(child=serializers.CharField())
    min_version = serializers.IntegerField(allow_null=True)
    max_version = serializers.IntegerField(allow_null=True)
    words = serializers.ListField(
        child=serializers.CharField(), help_text="silent, not_judged, dangling, other_directory"
    )


class QuorumStatusSerializer(serializers.ModelSerializer[QuorumStatus]):
    """The last answer of DescribeQuorum."""

    described_at = serializers.DateTimeField(source="succeeded_at", read_only=True, allow_null=True)
    replicas = ReplicaSerializer(many=True)

    class Meta:
        model = QuorumStatus
        fields = (
            "described_at",
            "leader_id",
            "leader_epoch",
            "high_watermark",
            "voter_count",
            "observer_count",
            "worst_lag",
            "worst_lag_ms",
            "replicas",
        )
        read_only_fields = fields


class GapSerializer(serializers.Serializer[Any]):
    """Offsets that are missing, from `from` to before `to`; null: no record from `from` on can be read.

    From `known_from` on, a snapshot, all is known again; null: no snapshot follows. `reason`, `file` and
    `position` (a byte) are those of the damage that made it.
    """

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """Return the fields: one of the names is a word of Python."""
        return {
            "from": serializers.IntegerField(),
            "to": serializers.IntegerField(allow_null=True),
            "from_at": serializers.DateTimeField(allow_null=True),
            "to_at": serializers.DateTimeField(allow_null=True),
            "known_from": serializers.IntegerField(allow_null=True, default=None),
            "reason": serializers.CharField(default=""),
            "file": serializers.CharField(default=""),
            "position": serializers.IntegerField(allow_null=True, default=None),
        }


class DamageSerializer(serializers.Serializer[Any]):
    """Damage in a file of the log; `offset` is the next one there."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in DamageKind])
    file = serializers.CharField()
    position = serializers.IntegerField()
    offset = serializers.IntegerField(allow_null=True)
    sentence = serializers.CharField()


class VerdictSerializer(serializers.Serializer[Any]):
    """Status of a quorum: severity, text, and why it is unknown."""

    severity = serializers.CharField()
    word = serializers.CharField()
    why = serializers.CharField(help_text="Empty where findings are the reason.")


class QuorumSerializer(serializers.ModelSerializer[MetadataLog]):
    """A quorum: its last description, and the known range of its log."""

    cluster = serializers.CharField(source="name", help_text=_NAME)
    source = serializers.ChoiceField(choices=Source.choices)  # type: ignore[assignment]  # the metaclass takes it before it can hide Field.source
    status = serializers.SerializerMethodField()
    freshness = serializers.SerializerMethodField()
    verdict = VerdictSerializer(help_text="Status of the quorum; Unknown where it was not checked.")
    finding_count = serializers.IntegerField(source="open_count", help_text="Without notices.")
    gaps = GapSerializer(many=True)
    damage = DamageSerializer(many=True)

    class Meta:
        model = MetadataLog
        fields = (
            "cluster",
            "title",
            "source",
            "status",
            "verdict",
            "judged_at",
            "finding_count",
            "start_offset",
            "next_offset",
            "high_watermark",
            "last_at",
            "behind_ms",
            "gaps",
            "damage",
            "lost",
            "freshness",
        )
        read_only_fields = fields

    @extend_schema_field(QuorumStatusSerializer(allow_null=True))
    def get_status(self, log: MetadataLog) -> dict[str, Any] | None:
        """Return the last description; null before the first one."""
        status = queries.status_of(log)
        return None if status is None else dict(QuorumStatusSerializer(status).data)

    @extend_schema_field(FreshnessSerializer(many=True))
    def get_freshness(self, log: MetadataLog) -> list[dict[str, Any]]:
        """Return the age of the description and of the log."""
        return [dict(FreshnessSerializer(entry).data) for entry in queries.freshness_of(log)]


class QuorumFindingSerializer(FindingSerializer):
    """A finding: sentence, times, evidence and remedy."""

    class Meta(FindingSerializer.Meta):
        fields = (
            "id", "code", "severity", "subject", "sentence", "todo", "evidence", "opened_at", "last_seen_at",
            "closed_at", "duration_ms",
        )  # fmt: skip


class VoterSerializer(serializers.Serializer[Any]):
    """A voter of a set; null where only its id is known."""

    id = serializers.IntegerField()
    directory_id = serializers.CharField(allow_null=True)
    endpoints = serializers.ListField(child=serializers.CharField())
    min_version = serializers.IntegerField(allow_null=True)
    max_version = serializers.IntegerField(allow_null=True)


class VoterSetSerializer(serializers.ModelSerializer[VoterSetEntry]):
    """The voters from an offset on."""

    cluster = serializers.CharField(source="log.name", help_text=_NAME)
    voters = VoterSerializer(many=True)
    added = serializers.ListField(child=serializers.CharField())
    removed = serializers.ListField(child=serializers.CharField())
    moved = serializers.ListField(
        child=serializers.CharField(), help_text="Voters with changed endpoints."
    )
    replaced = serializers.ListField(
        child=serializers.CharField(), help_text="Voters with a new directory."
    )
    anomalies = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = VoterSetEntry
        fields = (
            "cluster",
            "offset",
            "epoch",
            "at",
            "voters",
            "added",
            "removed",
            "moved",
            "replaced",
            "is_committed",
            "is_static",
            "anomalies",
        )
        read_only_fields = fields


class ElectionSerializer(serializers.ModelSerializer[Election]):
    """A leader election."""

    cluster = serializers.CharField(source="log.name", help_text=_NAME)
    voters = serializers.ListField(child=serializers.IntegerField())
    granting = serializers.ListField(child=serializers.IntegerField())
    anomalies = serializers.ListField(
        child=serializers.CharField(),
        source="oddities",
        help_text="Anomalies of the election, in words.",
    )

    class Meta:
        model = Election
        fields = (
            "cluster",
            "offset",
            "epoch",
            "at",
            "leader_id",
            "voters",
            "granting",
            "gap_ms",
            "skipped_epochs",
            "is_silence",
            "is_in_storm",
            "anomalies",
        )
        read_only_fields = fields


class MetadataChangeSerializer(serializers.ModelSerializer[MetadataChange]):
    """A change that a record of the metadata log made."""

    cluster = serializers.CharField(source="log.name", help_text=_NAME)
    kind = serializers.ChoiceField(choices=Kind.choices)
    subject = serializers.CharField(source="subject.name")
    state = serializers.DictField(
        child=serializers.JSONField(),
        help_text="The subject after the change; of a removed one its last state.",
    )

    class Meta:
        model = MetadataChange
        fields = (
            "cluster",
            "offset",
            "number",
            "effective_offset",
            "epoch",
            "at",
            "is_dated",
            "kind",
            "type",
            "subject",
            "topic",
            "topic_id",
            "partition",
            "broker",
            "cause",
            "is_removed",
            "state",
        )
        read_only_fields = fields


class PartitionChangeSerializer(serializers.Serializer[MetadataChange]):
    """A partition after a change; null where it is not known."""

    cluster = serializers.CharField(source="log.name", help_text=_NAME)
    offset = serializers.IntegerField()
    epoch = serializers.IntegerField()
    at = serializers.DateTimeField()
    is_dated = serializers.BooleanField()
    topic = serializers.CharField()
    topic_id = serializers.CharField()
    partition = serializers.IntegerField()
    cause = serializers.CharField()
    cause_broker = serializers.IntegerField(source="broker", allow_null=True)
    election = serializers.CharField()
    is_unclean = serializers.BooleanField()
    is_removed = serializers.BooleanField()
    leader = serializers.IntegerField(source="state.leader", default=None, allow_null=True)
    leader_epoch = serializers.IntegerField(
        source="state.leader_epoch", default=None, allow_null=True
    )
    partition_epoch = serializers.IntegerField(
        source="state.partition_epoch", default=None, allow_null=True
    )
    isr = serializers.ListField(child=serializers.IntegerField(), source="state.isr", default=list)
    elr = serializers.ListField(child=serializers.IntegerField(), source="state.elr", default=list)
    replicas = serializers.ListField(
        child=serializers.IntegerField(), source="state.replicas", default=list
    )


class SubjectStateSerializer(serializers.Serializer[Any]):
    """The state at a moment; `since` is the offset of the change to it."""

    kind = serializers.ChoiceField(choices=Kind.choices)
    subject = serializers.CharField(source="name")
    topic = serializers.CharField()
    topic_id = serializers.CharField()
    partition = serializers.IntegerField(allow_null=True)
    broker = serializers.IntegerField(allow_null=True)
    state = serializers.DictField(child=serializers.JSONField(), allow_null=True)
    since = serializers.IntegerField(allow_null=True)


class DifferenceSerializer(serializers.Serializer[Any]):
    """The change of one subject between two moments; `fields` are [name, before, after]."""

    kind = serializers.CharField(source="subject.kind")
    subject = serializers.CharField(source="subject.name")
    became = serializers.CharField(source="word")
    differs = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField()), source="fields"
    )
    change_count = serializers.IntegerField(source="count")
    last_offset = serializers.IntegerField(source="last.offset")


class ComparedSerializer(serializers.Serializer[Any]):
    """Two moments and their differences; `count` is their number, also where the list is cut."""

    from_offset = serializers.IntegerField()
    to_offset = serializers.IntegerField()
    count = serializers.IntegerField()
    differences = DifferenceSerializer(many=True)
    unsure = serializers.CharField(help_text="Why a state is not certain; empty where both are.")


class RecordSerializer(serializers.Serializer[Any]):
    """A raw record of the log, decoded; secrets are redacted."""

    offset = serializers.IntegerField()
    epoch = serializers.IntegerField()
    at = serializers.DateTimeField(allow_null=True)
    batch_offset = serializers.IntegerField()
    is_control = serializers.BooleanField()
    type = serializers.CharField()
    version = serializers.IntegerField()
    record = serializers.DictField(child=serializers.JSONField(), source="data")


class FoundRecordsSerializer(serializers.Serializer[Any]):
    """The records at an offset; `problem` says why there is none."""

    records = RecordSerializer(many=True)
    problem = serializers.CharField()


class PlanSerializer(serializers.Serializer[Any]):
    """A plan of single steps with Kafka's commands, or a refusal with its reason."""

    possible = serializers.BooleanField()
    refusal = serializers.DictField(child=serializers.CharField(), allow_null=True)
    before = serializers.DictField(child=serializers.JSONField())
    after = serializers.DictField(child=serializers.JSONField())
    steps = serializers.ListField(child=serializers.DictField(child=serializers.JSONField()))
    warnings = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    cautions = serializers.ListField(
        child=serializers.CharField(),
        help_text="Warnings before any step: voter endpoints that other nodes cannot reach.",
    )

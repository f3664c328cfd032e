"""Incidents over REST: the shape of a row, the filters of a list, bodies of actions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.findings.incidents import queries
from console.findings.incidents.actions import LONGEST_NOTE, LONGEST_SILENCE
from console.findings.incidents.models import SEVERITIES, EventKind, Incident, State, Subject
from console.findings.serializers import ScopeFilters
from console.frame.rest.serializers import BodySerializer


class IncidentFilters(ScopeFilters):
    """Filters of incidents; a time range is that in which they began."""

    state = serializers.ChoiceField(
        choices=[queries.UNRESOLVED, *State.values, queries.ALL],
        required=False,
        default=queries.UNRESOLVED,
        help_text="Only incidents in this state; `unresolved` (the default): in any but `resolved`.",
    )
    check = serializers.CharField(
        required=False, max_length=60, help_text="Only incidents whose cause this check found."
    )


class IncidentEffectSerializer(serializers.Serializer[Any]):
    """How it counts the findings of one check that its cause explains."""

    check = serializers.CharField()
    text = serializers.CharField()
    findings = serializers.IntegerField()


class IncidentEventSerializer(serializers.Serializer[Any]):
    """An entry of the timeline; `by` is a user's name, empty for crosslog."""

    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=EventKind.choices)
    text = serializers.CharField()
    by = serializers.CharField()


class FindingCountSerializer(serializers.Serializer[Any]):
    """How many findings of a check it has, and how many of them are open."""

    code = serializers.CharField()
    count = serializers.IntegerField()
    open = serializers.IntegerField()


class IncidentSerializer(serializers.ModelSerializer[Incident]):
    """An incident; `href` is its page. Times are null that have not come."""

    check_id = serializers.CharField(help_text="The check of its first finding.")
    state = serializers.ChoiceField(choices=State.choices)
    severity = serializers.ChoiceField(choices=[word for word, _ in SEVERITIES])
    subject_kind = serializers.ChoiceField(choices=Subject.choices)
    cluster = serializers.CharField(source="cluster.alias", default=None, allow_null=True)
    flow = serializers.IntegerField(source="flow_id", allow_null=True, help_text="Its id.")
    log = serializers.CharField(source="log.name", default=None, allow_null=True)
    effects = IncidentEffectSerializer(many=True)
    brokers = serializers.ListField(child=serializers.IntegerField())
    duration_ms = serializers.IntegerField(allow_null=True, help_text="Null while it is open.")
    acknowledged_by = serializers.CharField(
        source="acknowledged_by.username", default=None, allow_null=True
    )
    owner = serializers.CharField(
        source="owner.username", default=None, allow_null=True, help_text="Null: no owner."
    )
    href = serializers.CharField(help_text="Path of its page in the console.")

    class Meta:
        model = Incident
        fields: tuple[str, ...] = (
            "id", "state", "severity", "title", "sentence", "todo", "check_id", "subject_kind", "subject",
            "cluster", "flow", "log", "brokers", "effects", "finding_count", "began_at", "opened_at",
            "last_seen_at", "ended_at", "duration_ms", "acknowledged_at", "acknowledged_by", "silenced_until",
            "window", "owner", "note", "href",
        )  # fmt: skip
        read_only_fields: tuple[str, ...] = fields


class IncidentDetailSerializer(IncidentSerializer):
    """The same with its timeline and the counts of its findings."""

    times_in_24_h = serializers.SerializerMethodField(
        help_text="How many incidents of this cause opened in the 24 h up to this one."
    )
    events = IncidentEventSerializer(many=True)
    findings_by_check = serializers.SerializerMethodField()

    class Meta(IncidentSerializer.Meta):
        fields = (*IncidentSerializer.Meta.fields, "times_in_24_h", "findings_by_check", "events")
        read_only_fields = fields

    def get_times_in_24_h(self, row: Incident) -> int:
        return queries.count_alike(row)

    @extend_schema_field(FindingCountSerializer(many=True))
    def get_findings_by_check(self, row: Incident) -> Any:
        return FindingCountSerializer(queries.count_findings(row), many=True).data


class SilenceSerializer(BodySerializer):
    """How long it is silenced: one of the two; taken as `until`."""

    duration_s = serializers.IntegerField(
        required=False, min_value=1, max_value=int(LONGEST_SILENCE.total_seconds())
    )
    until = serializers.DateTimeField(required=False, help_text="At most 30 days from now.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1:
            raise serializers.ValidationError({"until": ["Give `duration_s` or `until`."]})
        lasting = timedelta(seconds=attrs.get("duration_s", 0))
        return {"until": attrs.get("until") or timezone.now() + lasting}


class ChangeIncidentSerializer(BodySerializer):
    """What people write to an incident; what is left out stays."""

    shown_by = IncidentDetailSerializer
    owner = serializers.CharField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=150,
        help_text="Username of a user who may see the incident; null: no owner.",
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_NOTE)

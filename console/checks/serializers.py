"""Checks, settings and maintenance windows as the API shows and reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.checks import queries
from console.checks.actions import LONGEST_NOTE
from console.checks.windows import LONGEST_TITLE
from console.clusters.models import GROUP_ID_LENGTH, TOPIC_NAME_LENGTH
from console.findings.check_settings import CheckSetting
from console.findings.models import SEVERITIES, MaintenanceWindow
from console.frame.rest.parameters import PageParameters, Parameters
from console.frame.rest.serializers import BodySerializer
from jobs.checks.check import Area, Check, Pattern, Unit
from jobs.checks.maintenance import HELP, LONGEST_RULE

AREAS = [(one.value, one.value) for one in Area]
UNITS = [(one.value, one.value) for one in Unit]
_ALL = "An alias; without it all clusters."


class CheckThresholdSerializer(serializers.Serializer[Any]):
    """A threshold of a check; a value lies between `least` and `most`."""

    name = serializers.CharField()
    default = serializers.FloatField()
    unit = serializers.ChoiceField(choices=UNITS)
    text = serializers.CharField()
    least = serializers.FloatField()
    most = serializers.FloatField()


class CatalogueCheckSerializer(serializers.Serializer[Check]):
    """A check; its id is the `code` of its findings."""

    id = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField()
    rule = serializers.CharField()
    severity = serializers.ChoiceField(choices=SEVERITIES)
    area = serializers.ChoiceField(choices=AREAS)
    runbook = serializers.CharField()
    narrowed_by = serializers.ChoiceField(choices=[one.value for one in Pattern])
    opens_incident = serializers.SerializerMethodField(help_text="False: its findings are advice.")
    open_findings = serializers.SerializerMethodField(help_text="Of those that you may see.")
    thresholds = CheckThresholdSerializer(many=True, source="all_thresholds")

    def get_opens_incident(self, check: Check) -> bool:
        return not check.is_advice

    def get_open_findings(self, check: Check) -> int:
        counts: dict[str, int] = self.context["counts"]
        return counts.get(check.id, 0)


class CheckFilters(Parameters):
    """What the catalogue can be filtered by."""

    area = serializers.ChoiceField(
        choices=AREAS, required=False, help_text="Only checks of this area."
    )


class CheckSettingFilters(PageParameters):
    """What a list of settings can be filtered by."""

    check = serializers.CharField(required=False, max_length=60, help_text="The id of a check.")


@extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
class ThresholdsField(serializers.JSONField):
    """Numbers by the names of thresholds."""


class CheckSettingSerializer(serializers.ModelSerializer[CheckSetting]):
    """A setting of a check; cluster and flow are null for all."""

    check = serializers.CharField(source="check_id")
    cluster = serializers.CharField(source="cluster.alias", allow_null=True, default=None)
    flow = serializers.IntegerField(source="flow_id", allow_null=True)
    thresholds = ThresholdsField()
    changed_by = serializers.CharField(source="changed_by.username", allow_null=True, default=None)

    class Meta:
        model = CheckSetting
        fields = (
            "id",
            "check",
            "cluster",
            "flow",
            "topic_pattern",
            "group_pattern",
            "thresholds",
            "is_excluded",
            "note",
            "changed_at",
            "changed_by",
        )
        read_only_fields = fields


class ChangedCheckSettingSerializer(BodySerializer):
    """Changed fields of a setting; other fields stay."""

    shown_by = CheckSettingSerializer

    topic_pattern = serializers.CharField(
        required=False, allow_blank=True, max_length=TOPIC_NAME_LENGTH, help_text="A glob."
    )
    group_pattern = serializers.CharField(
        required=False, allow_blank=True, max_length=GROUP_ID_LENGTH, help_text="A glob."
    )
    thresholds = ThresholdsField(required=False)
    is_excluded = serializers.BooleanField(
        required=False, help_text="The check is off there; `note` says why."
    )
    note = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_NOTE)


class NewCheckSettingSerializer(ChangedCheckSettingSerializer):
    """A new setting."""

    check = serializers.CharField(max_length=60, help_text="The id of a check.")
    cluster = serializers.CharField(required=False, allow_null=True, max_length=63, help_text=_ALL)
    flow = serializers.IntegerField(
        required=False, allow_null=True, help_text="The id of a flow; without it all flows."
    )


class MaintenanceWindowSerializer(serializers.ModelSerializer[MaintenanceWindow]):
    """A maintenance window; `cluster` is null for all, `active_until` while none is active."""

    cluster = serializers.CharField(source="cluster.alias", allow_null=True, default=None)
    active_until = serializers.SerializerMethodField()
    next_starts = serializers.SerializerMethodField(
        help_text=f"{queries.NEXT_TIMES} at most, that of the active window included."
    )
    created_by = serializers.CharField(source="created_by.username", allow_null=True, default=None)

    class Meta:
        model = MaintenanceWindow
        fields = (
            "id",
            "title",
            "cluster",
            "starts_at",
            "duration_s",
            "rrule",
            "time_zone",
            "active_until",
            "next_starts",
            "created_at",
            "created_by",
        )
        read_only_fields = fields

    def get_active_until(self, row: MaintenanceWindow) -> datetime | None:
        return queries.active_until(row, timezone.now())

    @extend_schema_field(serializers.ListField(child=serializers.DateTimeField()))
    def get_next_starts(self, row: MaintenanceWindow) -> list[datetime]:
        return queries.list_starts(row, timezone.now())


class NewMaintenanceWindowSerializer(BodySerializer):
    """A new maintenance window; it has `ends_at` or `duration_s`."""

    title = serializers.CharField(max_length=LONGEST_TITLE)
    cluster = serializers.CharField(required=False, allow_null=True, max_length=63, help_text=_ALL)
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(required=False, help_text="End of the first one.")
    duration_s = serializers.IntegerField(required=False)
    time_zone = serializers.CharField(
        required=False, max_length=64, help_text="Zone of the repeated local time; else UTC."
    )
    rrule = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_RULE, help_text=f"Empty: once. {HELP}"
    )

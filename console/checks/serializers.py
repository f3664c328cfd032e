"""Checks, settings and maintenance windows as the API shows and reads them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.checks import queries
from console.findings.check_settings import CheckSetting
from console.findings.models import SEVERITIES, MaintenanceWindow
from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import AliasField, BodySerializer
from jobs.checks.check import Area, Check, Pattern, Unit
from jobs.checks.maintenance import HELP

AREAS = [(one.value, one.value) for one in Area]
UNITS = [(one.value, one.value) for one in Unit]


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


class CheckSettingFilters(PageParameters):
    """What a list of settings can be filtered by."""

    check = serializers.CharField(required=False, max_length=60, help_text="The id of a check.")


@extend_schema_field({"type": "object", "additionalProperties": {"type": "number"}})
class ThresholdsField(serializers.DictField):
    """Numbers by the names of thresholds."""


class CheckSettingSerializer(BodySerializer, serializers.ModelSerializer[CheckSetting]):
    """A setting of a check; cluster and flow are null for all."""

    check = serializers.CharField(source="check_id", max_length=60, help_text="The id of a check.")
    cluster = AliasField()
    flow = serializers.IntegerField(source="flow_id", allow_null=True, default=None)
    thresholds = ThresholdsField(required=False)
    note = serializers.CharField(required=False, allow_blank=True, max_length=300)
    changed_by = serializers.CharField(source="changed_by.username", default=None, read_only=True)

    class Meta:
        model = CheckSetting
        exclude: ClassVar[tuple[str, ...]] = ("check_id",)
        read_only_fields = ("changed_at",)
        validators = ()


class ChangedCheckSettingSerializer(CheckSettingSerializer):
    """Changed fields of a setting; other fields stay."""

    shown_by = CheckSettingSerializer
    check = cluster = flow = None  # type: ignore[assignment]  # DRF leaves these fields out

    class Meta(CheckSettingSerializer.Meta):
        exclude = ("check_id", "cluster", "flow")


class MaintenanceWindowSerializer(BodySerializer, serializers.ModelSerializer[MaintenanceWindow]):
    """A maintenance window; it ends at `ends_at` or after `duration_s`."""

    cluster = AliasField()
    starts_at = serializers.DateTimeField()
    ends_at = serializers.DateTimeField(
        required=False, write_only=True, help_text="End of the first one."
    )
    duration_s = serializers.IntegerField(required=False)
    active_until = serializers.SerializerMethodField(help_text="Null while none is active.")
    next_starts = serializers.SerializerMethodField(
        help_text=f"{queries.NEXT_TIMES} at most, that of the active window included."
    )
    created_by = serializers.CharField(source="created_by.username", default=None, read_only=True)

    class Meta:
        model = MaintenanceWindow
        fields = "__all__"
        read_only_fields = ("created_at",)
        extra_kwargs: ClassVar = {"rrule": {"help_text": f"Empty: once. {HELP}"}}

    def get_active_until(self, row: MaintenanceWindow) -> datetime | None:
        return queries.active_until(row, timezone.now())

    @extend_schema_field(serializers.ListField(child=serializers.DateTimeField()))
    def get_next_starts(self, row: MaintenanceWindow) -> list[datetime]:
        return queries.list_starts(row, timezone.now())

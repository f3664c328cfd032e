"""The shapes of reports in the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from console.accounts.asked_rights import STOPPED
from console.delivery.api import DeliverySerializer
from console.delivery.models import OF_REPORTS, shown_address
from console.frame.rest.parameters import PageParameters
from console.frame.rest.serializers import BodySerializer
from console.reports.definition import LEAST_KEEP_DAYS, LONGEST_NAME, MOST_KEEP_DAYS
from console.reports.models import Report, ReportRun, RunState, Trigger
from console.reports.queries import may_change, why_stopped
from jobs.reports.kinds.kind import KINDS
from jobs.reports.periods import PeriodName
from jobs.reports.rendering.formats import Format, Paper

REPORT_KINDS = [(one.kind, one.title) for one in KINDS.values()]
_FORMATS = [(one.value, one.value) for one in Format]
_PAPERS = [(one.value, one.value) for one in Paper]
_PERIODS = [(one.value, one.value) for one in PeriodName]


class RecipientSerializer(BodySerializer):
    """Where a report is delivered: an e-mail address, a folder below REPORT_FOLDER, or an address to call."""

    channel = serializers.ChoiceField(choices=OF_REPORTS)
    address = serializers.CharField(max_length=500)


@extend_schema_field({"type": "object", "additionalProperties": {"type": "object"}})
class FilesField(serializers.JSONField):
    """Files by format: name, bytes and sha256."""


class ReportSerializer(serializers.ModelSerializer[Report]):
    """A report definition; `subjects` are names. Empty: all that the owner may view."""

    subjects = serializers.SerializerMethodField()
    formats = serializers.ListField(child=serializers.ChoiceField(choices=_FORMATS), read_only=True)
    recipients = serializers.SerializerMethodField()
    owner = serializers.CharField(source="owner.username", allow_null=True, default=None)
    stopped = serializers.SerializerMethodField(help_text=STOPPED)
    last_run = serializers.UUIDField(source="last_run_id", allow_null=True, default=None)

    class Meta:
        model = Report
        fields = (
            "id",
            "name",
            "kind",
            "subjects",
            "period",
            "time_zone",
            "with_before",
            "formats",
            "paper",
            "recipients",
            "keep_days",
            "owner",
            "created_at",
            "stopped",
            "last_run",
        )
        read_only_fields = fields

    def get_stopped(self, report: Report) -> str:
        return why_stopped(report)

    @extend_schema_field(RecipientSerializer(many=True))
    def get_recipients(self, report: Report) -> list[dict[str, str]]:
        """Of a webhook only the host, to those who may not change the report: its path may be a secret."""
        if may_change(report, self.context["person"]):
            return list(report.recipients)
        return [
            {**one, "address": shown_address(one["channel"], one["address"])}
            for one in report.recipients
        ]

    def get_subjects(self, report: Report) -> list[str]:
        names: dict[int, list[str]] = self.context["names"]
        return names[report.pk]


class ReportRunSerializer(serializers.ModelSerializer[ReportRun]):
    """A report that was made, or is being made; `files` are there when it is `ready`."""

    report = serializers.IntegerField(source="report_id", allow_null=True)
    person = serializers.CharField(source="person.username", allow_null=True, default=None)
    files = FilesField(read_only=True)

    class Meta:
        model = ReportRun
        fields = (
            "id",
            "report",
            "name",
            "kind",
            "period_start",
            "period_end",
            "time_zone",
            "with_before",
            "trigger",
            "person",
            "state",
            "headline",
            "error",
            "created_at",
            "finished_at",
            "files",
        )
        read_only_fields = fields


class ReportRunDetailSerializer(ReportRunSerializer):
    """A report that was made, with its deliveries."""

    deliveries = DeliverySerializer(many=True, read_only=True)

    class Meta:
        model = ReportRun
        fields = (*ReportRunSerializer.Meta.fields, "deliveries")
        read_only_fields = fields


class ChangedReportSerializer(BodySerializer):
    """What can be changed of a report."""

    shown_by = ReportSerializer

    name = serializers.CharField(max_length=LONGEST_NAME, required=False)
    subjects = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=1000,
        help_text="Names of flows or aliases of clusters, by the kind. Empty: all that the owner may view.",
    )
    period = serializers.ChoiceField(choices=_PERIODS, required=False)
    time_zone = serializers.CharField(
        max_length=64, required=False, help_text="A name of the IANA database: `Europe/Berlin`."
    )
    with_before = serializers.BooleanField(
        required=False, help_text="Beside it the period before: last week and the week before."
    )
    formats = serializers.ListField(
        child=serializers.ChoiceField(choices=_FORMATS),
        required=False,
        help_text="What is delivered.",
    )
    paper = serializers.ChoiceField(choices=_PAPERS, required=False)
    recipients = RecipientSerializer(many=True, required=False)
    keep_days = serializers.IntegerField(
        min_value=LEAST_KEEP_DAYS, max_value=MOST_KEEP_DAYS, required=False
    )


class NewReportSerializer(ChangedReportSerializer):
    """A report to be kept."""

    kind = serializers.ChoiceField(choices=REPORT_KINDS)
    name = serializers.CharField(max_length=LONGEST_NAME)


class PeriodSerializer(BodySerializer):
    """A period that is over; without it, the one that the report has."""

    def get_fields(self) -> dict[str, Any]:
        """Add `from` and `to`: one of them is a word of Python."""
        helps = {
            "from": "A day of the time zone or a moment in ISO 8601.",
            "to": "The first moment that is not in it, as `from`; without it now.",
        }
        named = {
            name: serializers.CharField(max_length=40, required=False, help_text=text)
            for name, text in helps.items()
        }
        return {**super().get_fields(), **named}


class NewReportRunSerializer(PeriodSerializer):
    """A report to be created once, for the user; it is delivered to no recipient."""

    kind = serializers.ChoiceField(choices=REPORT_KINDS)
    name = serializers.CharField(max_length=LONGEST_NAME, required=False)
    subjects = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, max_length=1000
    )
    period = serializers.ChoiceField(choices=_PERIODS, required=False)
    time_zone = serializers.CharField(max_length=64, required=False)
    with_before = serializers.BooleanField(required=False)
    paper = serializers.ChoiceField(choices=_PAPERS, required=False)


class ReportFilters(PageParameters):
    """What a list of reports can be filtered by."""

    kind = serializers.ChoiceField(
        choices=REPORT_KINDS, required=False, help_text="Only this kind."
    )


class ReportRunFilters(ReportFilters):
    """What a list of reports made can be filtered by."""

    state = serializers.ChoiceField(
        choices=RunState.choices, required=False, help_text="Only in this state."
    )
    trigger = serializers.ChoiceField(
        choices=Trigger.choices, required=False, help_text="Only started so."
    )

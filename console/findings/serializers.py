"""Findings over REST: the shape of a row, the filters of a list."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from console.findings import queries
from console.findings.models import SEVERITIES, Finding, Kind, Scope
from console.findings.queries import M
from console.frame.rest.parameters import OptionalTimeRange, PageParameters

OPEN, ENDED, ALL = "open", "ended", "all"
LARGEST_ID = 2**63 - 1
_PATHS = {name: name for name in ("kind", "flow", "incident", "severity", "code")} | {
    "log": "log__name",
    "check": "check_id",
    "subject": "subject__icontains",
}


class FindingFilters(PageParameters):
    """Filter of findings."""

    state = serializers.ChoiceField(
        choices=[OPEN, ENDED, ALL],
        required=False,
        default=OPEN,
        help_text="`open` (the default), `ended`, or `all`.",
    )


class ScopeFilters(OptionalTimeRange, PageParameters):
    """Filters of findings and incidents."""

    cluster = serializers.CharField(
        required=False,
        max_length=100,
        help_text="Alias of a cluster: what is about it, its quorum, flows from it or to it.",
    )
    flow = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST_ID, help_text="The id of a flow."
    )
    severity = serializers.ChoiceField(
        choices=SEVERITIES, required=False, help_text="Only those of this severity."
    )
    subject = serializers.CharField(
        required=False, max_length=600, help_text="A part of the subject, in any case."
    )


class AllFindingFilters(ScopeFilters, FindingFilters):
    """Filters of all findings; a time range is that in which they were opened."""

    kind = serializers.ChoiceField(
        choices=Kind.choices, required=False, help_text="Only findings of these rules."
    )
    log = serializers.CharField(
        required=False,
        max_length=100,
        help_text="A quorum: the cluster's alias; `_` and a word for an imported log.",
    )
    incident = serializers.IntegerField(
        required=False, min_value=1, max_value=LARGEST_ID, help_text="The id of an incident."
    )
    code = serializers.CharField(
        required=False, max_length=60, help_text="Only findings of this rule."
    )


def narrowed(rows: QuerySet[Finding], asked: dict[str, Any]) -> QuerySet[Finding]:
    """Return the findings that fit the parameters of a list, by any of the filters above."""
    if asked["state"] != ALL:
        rows = rows.filter(closed_at__isnull=asked["state"] == OPEN)
    return in_scope(rows, asked, "opened_at")


def in_scope(rows: QuerySet[M], asked: dict[str, Any], begin: str) -> QuerySet[M]:
    """Return the findings or incidents that fit the parameters of a list, but for their state."""
    rows = rows.filter(**{path: asked[name] for name, path in _PATHS.items() if asked.get(name)})
    if "cluster" in asked:
        rows = queries.on_cluster(rows, asked["cluster"])
    span = asked.get("time_range")
    return rows if span is None else rows.filter(**{f"{begin}__range": (span.start, span.end)})


class FindingSerializer(serializers.ModelSerializer[Finding]):
    """A finding; `scope` and `name` say what it belongs to, `href` is the page that has more of it."""

    kind = serializers.ChoiceField(choices=Kind.choices)
    scope = serializers.ChoiceField(choices=Scope.choices)
    name = serializers.CharField(
        help_text="Alias of the cluster, name of the flow, or name of the metadata log."
    )
    flow = serializers.IntegerField(source="flow_id", allow_null=True, help_text="Its id.")
    incident = serializers.IntegerField(
        source="incident_id", allow_null=True, help_text="The id of its incident."
    )
    href = serializers.CharField(help_text="Path of a page of the console.")
    severity = serializers.ChoiceField(choices=[word for word, _ in SEVERITIES])
    brokers = serializers.ListField(child=serializers.IntegerField())
    evidence = serializers.DictField(child=serializers.JSONField())
    duration_ms = serializers.IntegerField(allow_null=True, help_text="Null while it is open.")

    class Meta:
        model = Finding
        fields: tuple[str, ...] = (
            "id", "kind", "scope", "name", "flow", "incident", "href", "code", "severity", "subject", "topic",
            "partition", "brokers", "trouble", "cause", "sentence", "todo", "evidence", "opened_at",
            "last_seen_at", "closed_at", "duration_ms",
        )  # fmt: skip
        read_only_fields: tuple[str, ...] = fields

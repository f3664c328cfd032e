"""Findings of a flow (silent failures, drift) over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.findings.models import SEVERITIES, Finding
from console.frame.rest.parameters import PageParameters
from console.replication.findings.models import CODES
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow

OPEN, ENDED, ALL = "open", "ended", "all"


class FindingQuery(PageParameters):
    """Filters of findings."""

    state = serializers.ChoiceField(
        choices=[OPEN, ENDED, ALL],
        required=False,
        default=OPEN,
        help_text="`open` (the default), `ended`, or `all`.",
    )
    code = serializers.ChoiceField(
        choices=[code for code, _ in CODES],
        required=False,
        allow_blank=True,
        default="",
        help_text="Only findings of this rule.",
    )


class FlowFindingSerializer(serializers.ModelSerializer[Finding]):
    """A finding: subject, sentence, evidence, and what to do."""

    code = serializers.ChoiceField(choices=CODES, read_only=True)
    severity = serializers.ChoiceField(choices=[word for word, _ in SEVERITIES])
    evidence = serializers.DictField(
        child=serializers.JSONField(),
        help_text="Numbers and words; units are in the names.",
    )

    class Meta:
        model = Finding
        fields = (
            "id",
            "code",
            "severity",
            "subject",
            "topic",
            "partition",
            "sentence",
            "todo",
            "evidence",
            "opened_at",
            "last_seen_at",
            "closed_at",
        )
        read_only_fields = fields


class FindingRoutes:
    """The route of a flow's findings, for its view set."""

    asked: dict[str, Any]
    _flow: Callable[[], ReplicationFlow]
    _paged: Callable[[QuerySet[Any], type[Any], str], Response]

    @extend_schema(responses=FlowFindingSerializer(many=True))
    @action(detail=True)
    def findings(self, request: Request, pk: str) -> Response:
        """List silent failures of a flow, and differences between its clusters."""
        rows = queries.list_findings(self._flow())
        if self.asked["state"] != ALL:
            rows = rows.filter(closed_at__isnull=self.asked["state"] == OPEN)
        if self.asked["code"]:
            rows = rows.filter(code=self.asked["code"])
        return self._paged(rows, FlowFindingSerializer, "-pk")

"""Findings of a flow (silent failures, drift) over REST."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from console.findings.models import Kind
from console.findings.queries import list_findings
from console.findings.serializers import FindingFilters, FindingSerializer, narrowed
from console.replication.findings.models import CODES
from console.replication.flows.models import ReplicationFlow


class FindingQuery(FindingFilters):
    """Filters of findings."""

    code = serializers.ChoiceField(
        choices=[code for code, _ in CODES],
        required=False,
        allow_blank=True,
        default="",
        help_text="Only findings of this rule.",
    )


class FlowFindingSerializer(FindingSerializer):
    """A finding: subject, sentence, evidence, and what to do."""

    code = serializers.ChoiceField(choices=CODES, read_only=True)
    evidence = serializers.DictField(
        child=serializers.JSONField(),
        help_text="Numbers and words; units are in the names.",
    )

    class Meta(FindingSerializer.Meta):
        fields = (
            "id", "code", "severity", "subject", "topic", "partition", "sentence", "todo", "evidence",
            "opened_at", "last_seen_at", "closed_at",
        )  # fmt: skip


class FindingRoutes:
    """The route of a flow's findings, for its view set."""

    asked: dict[str, Any]
    _flow: Callable[[], ReplicationFlow]
    paged: Callable[..., Response]

    @extend_schema(responses=FlowFindingSerializer(many=True))
    @action(detail=True)
    def findings(self, request: Request, pk: str) -> Response:
        """List silent failures of a flow, and differences between its clusters."""
        rows = narrowed(list_findings(Kind.FLOW, flow=self._flow()), self.asked)
        return self.paged(rows, FlowFindingSerializer, "-pk")

"""Objectives as the API shows and reads them."""

from __future__ import annotations

from typing import ClassVar

from rest_framework import serializers

from console.findings.objectives.models import CountsAs, Objective
from console.frame.rest.serializers import AliasField, BodySerializer
from jobs.objectives.objective import Status


class ObjectiveStatusSerializer(serializers.Serializer[Status]):
    """An objective over the last 30 days; null: nothing was measured."""

    target = serializers.FloatField(help_text="As a share: 0.999.")
    achieved = serializers.FloatField(
        source="period.achieved", allow_null=True, help_text="The share of the measured time."
    )
    budget_left = serializers.FloatField(
        allow_null=True, help_text="1: nothing is spent. Below 0: more than all of it is."
    )
    budget_left_s = serializers.FloatField(allow_null=True)
    burn_1h = serializers.FloatField(
        source="burns.1h",
        allow_null=True,
        help_text="1 spends the budget in exactly 30 days; over the last hour.",
    )
    burn_6h = serializers.FloatField(source="burns.6h", allow_null=True)
    burn_30d = serializers.FloatField(source="burns.30d", allow_null=True)
    not_measured_s = serializers.FloatField(
        source="period.not_measured_s", help_text="Of the 30 days; it spends no budget."
    )


class ObjectiveSerializer(BodySerializer, serializers.ModelSerializer[Objective]):
    """An objective of a flow (RPO, with `limit_ms`) or of the topics of a cluster (availability)."""

    flow = serializers.IntegerField(source="flow_id", allow_null=True, default=None)
    cluster = AliasField()
    name = serializers.CharField(read_only=True)
    topic_pattern = serializers.CharField(required=False, allow_blank=True, max_length=249)
    counts_as = serializers.ChoiceField(
        choices=CountsAs.choices,
        required=False,
        allow_blank=True,
        help_text="When a partition counts as unavailable; offline by default.",
    )
    limit_ms = serializers.IntegerField(
        required=False, allow_null=True, help_text="How far behind the target may be."
    )
    target_percent = serializers.FloatField(help_text="99.9; above 50 and below 100.")
    changed_by = serializers.CharField(source="changed_by.username", default=None, read_only=True)
    status = ObjectiveStatusSerializer(read_only=True)

    class Meta:
        model = Objective
        exclude: ClassVar[tuple[str, ...]] = ()
        read_only_fields = ("kind", "changed_at")
        validators = ()


class ChangedObjectiveSerializer(ObjectiveSerializer):
    """Changed fields of an objective; other fields stay."""

    shown_by = ObjectiveSerializer
    flow = cluster = None  # type: ignore[assignment]  # DRF leaves these fields out

    class Meta(ObjectiveSerializer.Meta):
        exclude = ("flow", "cluster")

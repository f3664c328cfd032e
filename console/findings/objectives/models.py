"""Objectives, and the steps of time that were measured of each."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.urls import reverse

from console.clusters.models import TOPIC_NAME_LENGTH
from console.frame.security.access import rights_of
from jobs.numbers import format_span_ms

# A month of 30 days, and a few days to look back.
STEPS_KEPT_S = 35 * 86_400


class Kind(models.TextChoices):
    """What is measured: how far the target of a flow is behind, or whether partitions are available."""

    RPO = "rpo", "Recovery point of a flow"
    AVAILABILITY = "availability", "Availability of topics"


class CountsAs(models.TextChoices):
    """From which state on a partition is unavailable; as `Severity` of availability names them."""

    OFFLINE = "offline", "No leader"
    UNDER_MIN_ISR = "under_min_isr", "No leader, or writes with acks=all refused"


class Objective(models.Model):
    """A target over the last 30 days, of a flow (`rpo`) or of the topics of a cluster (`availability`).

    `limit_ms` is how far behind the target of the flow may be; null for the other kind. `topic_pattern` is a
    glob, empty for all topics. `target_percent` lies between 50 and 100.
    """

    kind = models.CharField(max_length=12, choices=Kind)
    flow: models.ForeignKey[Any, Any] = models.ForeignKey(
        "replication.ReplicationFlow",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    topic_pattern = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True)
    counts_as = models.CharField(max_length=13, choices=CountsAs, blank=True)
    limit_ms = models.BigIntegerField(null=True, blank=True)
    target_percent = models.FloatField()
    changed_at = models.DateTimeField()
    changed_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["kind", "pk"]
        constraints = [
            models.UniqueConstraint(
                Coalesce("cluster", 0),
                Coalesce("flow", 0),
                "topic_pattern",
                "counts_as",
                name="one_objective_per_scope",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.target_percent:g} %"

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person may see: all clusters of their scope."""
        seen = rights_of(user).clusters("view")
        return Q(cluster__in=seen) | Q(flow__source__in=seen, flow__target__in=seen)

    @property
    def clusters(self) -> tuple[int, ...]:
        """The clusters that it is about."""
        if self.flow_id is not None:
            return self.flow.source_id, self.flow.target_id
        return () if self.cluster_id is None else (self.cluster_id,)

    @property
    def target(self) -> float:
        """The target as a share below 1: 99.9 is 0.999."""
        return float(Decimal(str(self.target_percent)) / 100)

    @property
    def name(self) -> str:
        """What is measured, in words."""
        if self.kind == Kind.RPO:
            return f"RPO of {format_span_ms(self.limit_ms)}"
        topics = f"topics {self.topic_pattern}" if self.topic_pattern else "all topics"
        what = "Availability" if self.counts_as == CountsAs.OFFLINE else "Writability"
        return f"{what} of {topics}"

    @property
    def scope(self) -> str:
        """Where it holds, in words."""
        return f"flow {self.flow.name}" if self.flow_id else f"cluster {self.cluster.alias}"

    @property
    def href(self) -> str:
        """Its page."""
        return reverse("checks:objective", args=[self.pk])


class ObjectiveStep(models.Model):
    """Measured time of a step; `at_s` is its begin (Unix seconds). The rest of it was not measured.

    The newest step of an objective may be part of one. Pruned after `STEPS_KEPT_S`.
    """

    objective = models.ForeignKey(Objective, on_delete=models.CASCADE, related_name="steps")
    at_s = models.BigIntegerField()
    good_s = models.FloatField()
    bad_s = models.FloatField()

    clusters_at: ClassVar = (
        "objective__cluster",
        "objective__flow__source",
        "objective__flow__target",
    )

    class Meta:
        ordering = ["at_s"]
        constraints = [
            models.UniqueConstraint(fields=["objective", "at_s"], name="one_objective_step")
        ]
        indexes = [models.Index(fields=["at_s"], name="objective_step_at")]

    def __str__(self) -> str:
        return f"{self.objective_id} {self.at_s}"

"""Settings of checks: their rows, and as the rules of all rooms take them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Coalesce

from console.clusters.models import GROUP_ID_LENGTH, TOPIC_NAME_LENGTH
from console.frame.security.access import rights_of
from jobs.checks.settings import Setting, Settings


class CheckSetting(models.Model):
    """Thresholds of a check, for everything or narrowed to a cluster, a flow, topics or groups.

    `topic_pattern` and `group_pattern` are globs, empty for all. `thresholds` are numbers by their
    names. `is_excluded`: the check is off there; `note` says why.
    """

    check_id = models.CharField(max_length=60)
    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    flow: models.ForeignKey[Any, Any] = models.ForeignKey(
        "replication.ReplicationFlow",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    topic_pattern = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True)
    group_pattern = models.CharField(max_length=GROUP_ID_LENGTH, blank=True)
    thresholds = models.JSONField(default=dict, blank=True)
    is_excluded = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    changed_at = models.DateTimeField()
    changed_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["check_id", "pk"]
        constraints = [
            models.UniqueConstraint(
                "check_id",
                Coalesce("cluster", 0),
                Coalesce("flow", 0),
                "topic_pattern",
                "group_pattern",
                name="one_check_setting_per_scope",
            )
        ]

    def __str__(self) -> str:
        return f"{self.check_id} {self.topic_pattern}{self.group_pattern}".rstrip()

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person may see.

        A setting of all clusters holds for those that the person sees, too.
        """
        seen = rights_of(user).clusters("view")
        of_flow = Q(flow__source__in=seen, flow__target__in=seen)
        return Q(cluster=None, flow=None) | Q(cluster__in=seen) | of_flow

    @property
    def clusters(self) -> tuple[int, ...]:
        """The clusters that it is narrowed to; none for a setting of all."""
        if self.flow_id is not None:
            return self.flow.source_id, self.flow.target_id
        return () if self.cluster_id is None else (self.cluster_id,)

    @property
    def scope(self) -> str:
        """Where it holds, in words."""
        place = f"flow {self.flow}" if self.flow_id else ""
        place = place or (f"cluster {self.cluster.alias}" if self.cluster_id else "everywhere")
        names = {"topics": self.topic_pattern, "groups": self.group_pattern}
        return ", ".join([place, *(f"{noun} {text}" for noun, text in names.items() if text)])


def read_settings() -> Settings:
    """Return all settings; one query."""
    return Settings.of(
        Setting(
            row.check_id,
            row.thresholds,
            row.cluster_id,
            row.flow_id,
            row.topic_pattern,
            row.group_pattern,
            row.is_excluded,
        )
        for row in CheckSetting.objects.order_by("pk")
    )

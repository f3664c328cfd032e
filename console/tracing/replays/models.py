"""Redrives: replay plans that can be applied, each with its plan."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models

from console.clusters.models import Cluster
from console.runs.models import Run, RunState

NOT_APPLIED = "NOT_APPLIED"


class Redrive(models.Model):
    """A replay plan that can be applied; it is removed with its last run, and with its cluster.

    `plan` is {"facts", "records" (the table of the result document, with its first rows), "tiers" (records
    that are not skipped by tier), "needs_admin"}. `checksum` is the SHA-256 of the plan's file, an upload.
    `run` is the last run of the kind redrive; null: it was never applied. `plan_run` is null when that run is
    removed.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="redrives")
    name = models.CharField(max_length=100)
    plan_run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    plan = models.JSONField()
    checksum = models.CharField(max_length=64)
    run = models.ForeignKey(Run, null=True, on_delete=models.CASCADE, related_name="+")
    records_per_s = models.PositiveIntegerField(default=100)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    applied_at = models.DateTimeField(null=True)
    applied_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "name"], name="one_redrive_per_cluster_and_name"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        """The state of its last run, or `NOT_APPLIED`."""
        return self.run.state if self.run else NOT_APPLIED

    @property
    def is_live(self) -> bool:
        """Whether its run is queued or running."""
        return self.run is not None and self.run.is_live

    @property
    def may_apply(self) -> bool:
        """Whether it can be applied or resumed."""
        return not self.is_live and self.state != RunState.SUCCEEDED

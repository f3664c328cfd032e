"""The checks of flows for silent failures and drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.db import models

from jobs.replication.findings.codes import Code

if TYPE_CHECKING:
    from console.replication.flows.models import ReplicationFlow

CODES = [(code.value, code.value.replace("_", " ")) for code in Code]


class FlowWatch(models.Model):
    """The checks of a flow for silent failures, and what is kept between two checks.

    `memory` are the marks of `jobs.replication.findings.memory`, `syncs` the newest offset syncs, `pending`
    the findings that one check has seen. `looked_at` is when the last check ended, `drift_at` when the two
    clusters were last compared. `faults` are failed queries, by part.
    """

    flow: models.OneToOneField[ReplicationFlow, ReplicationFlow] = models.OneToOneField(
        "replication.ReplicationFlow", on_delete=models.CASCADE, related_name="watch"
    )
    claimed_until = models.DateTimeField(null=True, blank=True)
    looked_at = models.DateTimeField(null=True, blank=True)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    drift_at = models.DateTimeField(null=True, blank=True)
    memory = models.JSONField(default=dict)
    pending = models.JSONField(default=list)
    syncs = models.JSONField(default=dict)
    faults = models.JSONField(default=dict)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    def __str__(self) -> str:
        return f"watch of {self.flow_id}"

"""The checks of flows for silent failures and drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.db import models

from console.frame.rounds import Round
from jobs.replication.findings.codes import Code

if TYPE_CHECKING:
    from console.replication.flows.models import ReplicationFlow

CODES = [(code.value, code.value.replace("_", " ")) for code in Code]


class FlowWatch(Round):
    """The checks of a flow for silent failures, and what is kept between two checks.

    `memory` are the marks of `jobs.replication.findings.memory`, `syncs` the newest offset syncs, `pending`
    the findings that one check has seen. `drift_at` is when the two clusters were last compared. `faults` are
    failed queries of the last check that did not fail as a whole, by part.
    """

    flow: models.OneToOneField[ReplicationFlow, ReplicationFlow] = models.OneToOneField(
        "replication.ReplicationFlow", on_delete=models.CASCADE, related_name="watch"
    )
    drift_at = models.DateTimeField(null=True, blank=True)
    memory = models.JSONField(default=dict)
    pending = models.JSONField(default=list)
    syncs = models.JSONField(default=dict)
    faults = models.JSONField(default=dict)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    def __str__(self) -> str:
        return f"watch of {self.flow_id}"

    @property
    def not_checked(self) -> dict[str, str]:
        """What the last check could not do, and why."""
        return {"check": self.error} if self.error else self.faults

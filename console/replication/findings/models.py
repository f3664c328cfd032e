"""Findings of flows (silent failures, drift) with their life, and the checks of flows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.db import models
from django.db.models import Q

from console.frame.rounds import Round
from jobs.replication.findings.finding import Code
from jobs.severity import FINDING_SEVERITIES

if TYPE_CHECKING:
    from console.replication.flows.models import ReplicationFlow

CODES = [(code.value, code.value.replace("_", " ")) for code in Code]
SEVERITIES = [(one.value, one.value) for one in FINDING_SEVERITIES]
# Where the code is not a good label.
_WORDS = {
    Code.ACLS_NOT_SYNCED.value: "ACLs not synced",
    Code.ACLS_ONLY_ON_TARGET.value: "Extra ACLs",
    Code.CHECKPOINTS_MISSING.value: "No checkpoints",
    Code.CONFIG_DELETED_NEXT.value: "Config deleted",
    Code.CONFIG_DIFFERS.value: "Configs differ",
    Code.POSITIONS_NOT_COMPACTED.value: "Long start",
    Code.REPLICATION_FACTOR_DIFFERS.value: "Fewer replicas",
}


class FlowFinding(models.Model):
    """A finding about a flow; open while `closed_at` is null.

    `subject` is what it is about (a partition, a topic, a group and a partition, a task), empty for the
    flow as a whole. `evidence` are numbers and words, their units in their names. `opened_at` is when it
    began as far as that is known, `last_seen_at` when it was last confirmed; `closed_at` is when it had
    ended. `rank` orders severities, the worst is highest.
    """

    flow: models.ForeignKey[ReplicationFlow, ReplicationFlow] = models.ForeignKey(
        "replication.ReplicationFlow", on_delete=models.CASCADE, related_name="flow_findings"
    )
    code = models.CharField(max_length=40, choices=CODES)
    severity = models.CharField(max_length=10, choices=SEVERITIES)
    rank = models.PositiveSmallIntegerField(default=0)
    subject = models.CharField(max_length=600, blank=True)
    topic = models.CharField(max_length=320, blank=True)
    partition = models.PositiveIntegerField(null=True, blank=True)
    sentence = models.TextField()
    todo = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        ordering = ["-rank", "opened_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["flow", "code", "subject"],
                condition=Q(closed_at=None),
                name="one_open_finding_per_subject",
            )
        ]
        indexes = [
            models.Index(fields=["flow", "closed_at"], name="finding_of_flow"),
            models.Index(fields=["closed_at"], name="finding_closed"),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}".rstrip()

    @property
    def word(self) -> str:
        """What it is, in two or three words."""
        return _WORDS.get(self.code, self.code.replace("_", " ").capitalize())

    @property
    def is_open(self) -> bool:
        """Whether it is still so."""
        return self.closed_at is None


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

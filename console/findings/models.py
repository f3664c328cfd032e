"""The one table of findings: flows, quorums, observers and leaders."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q
from django.urls import reverse

from console.findings.check_settings import CheckSetting
from console.findings.incidents.models import (
    Incident,
    IncidentEvent,
    MaintenanceWindow,
    Scoped,
    lasted_ms,
)
from console.findings.objectives.models import Objective, ObjectiveStep
from console.frame.pages.addresses import address_of
from jobs.availability.promotion.checks import LEADERS_NOT_BALANCED
from jobs.checks.check import CHECKS, Area
from jobs.severity import FINDING_SEVERITIES

__all__ = [
    "CheckSetting",
    "Finding",
    "Incident",
    "IncidentEvent",
    "Kind",
    "MaintenanceWindow",
    "Objective",
    "ObjectiveStep",
    "Scope",
]

SEVERITIES = [(one.value, one.value) for one in FINDING_SEVERITIES]


class Kind(models.TextChoices):
    """The rules that found it."""

    FLOW = "flow", "Flow"
    QUORUM = "quorum", "Quorum"
    OBSERVERS = "observers", "Observers and leaders"
    CHECKS = "checks", "Checks"


class Scope(models.TextChoices):
    """What a finding belongs to; the field of `Finding` with the same name leads to it, if there is one."""

    CLUSTER = "cluster", "Cluster"
    FLOW = "flow", "Flow"
    LOG = "log", "Metadata log"
    CROSSLOG = "crosslog", "crosslog"


OWNERS = (Scope.CLUSTER, Scope.FLOW, Scope.LOG)
OF_CROSSLOG = dict.fromkeys([one.value for one in OWNERS])


class Finding(Scoped, models.Model):
    """A finding; open while `closed_at` is null.

    `kind` is one of `Kind`; at most one of `cluster`, `flow` and `log` is set, none for crosslog itself.
    `incident` is that of its cause, while it is open or was last. `subject` is what it is about
    (a partition, a topic, a group and a partition, a node), empty for all of its scope. `trouble` and `cause`
    name its runbook, `brokers` are those that it is about.
    `evidence` are numbers and words, their units in their names. `opened_at` is when it began as far as that
    is known, `last_seen_at` when it was last confirmed, `closed_at` when it had ended. `rank` orders
    severities, the worst is highest.
    """

    kind = models.CharField(max_length=20)
    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, on_delete=models.CASCADE
    )
    flow: models.ForeignKey[Any, Any] = models.ForeignKey(
        "replication.ReplicationFlow", null=True, on_delete=models.CASCADE
    )
    log: models.ForeignKey[Any, Any] = models.ForeignKey(
        "quorum.MetadataLog", null=True, on_delete=models.CASCADE
    )
    incident: models.ForeignKey[Any, Any] = models.ForeignKey(
        "findings.Incident", null=True, on_delete=models.SET_NULL, related_name="findings"
    )
    code = models.CharField(max_length=60)
    severity = models.CharField(max_length=10, choices=SEVERITIES)
    rank = models.PositiveSmallIntegerField(default=0)
    subject = models.CharField(max_length=600, blank=True)
    topic = models.CharField(max_length=320, blank=True)
    partition = models.PositiveIntegerField(null=True, blank=True)
    brokers = models.JSONField(default=list)
    trouble = models.CharField(max_length=30, blank=True)
    cause = models.CharField(max_length=60, blank=True)
    sentence = models.TextField()
    todo = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-rank", "opened_at"]
        constraints = [
            *(
                models.UniqueConstraint(
                    fields=[scope, "kind", "code", "subject"],
                    condition=Q(closed_at=None),
                    name=f"one_open_of_{scope}",
                )
                for scope in OWNERS
            ),
            models.UniqueConstraint(
                fields=["kind", "code", "subject"],
                condition=Q(closed_at=None, cluster=None, flow=None, log=None),
                name="one_open_of_crosslog",
            ),
        ]
        indexes = [
            *(
                models.Index(fields=[scope, "closed_at"], name=f"room_finding_of_{scope}")
                for scope in OWNERS
            ),
            # Of ended ones only: SQLite would take it for open ones, instead of the next.
            models.Index(
                fields=["closed_at"],
                condition=Q(closed_at__isnull=False),
                name="room_finding_closed",
            ),
            models.Index(
                fields=["-rank", "-opened_at", "id"],
                condition=Q(closed_at=None),
                name="room_finding_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}".rstrip()

    @property
    def word(self) -> str:
        """What it is, in two or three words."""
        if self.code == "few_voters" and (count := self.evidence.get("voters")):
            return f"No fault tolerance ({count} voter{'' if count == 1 else 's'})"
        known = CHECKS.by_id.get(self.code)
        return known.title if known else self.code.replace("_", " ").capitalize()

    @property
    def scope(self) -> Scope:
        """Which of the three fields is set; crosslog itself without one."""
        return next(
            (one for one in OWNERS if getattr(self, f"{one}_id") is not None), Scope.CROSSLOG
        )

    @property
    def name(self) -> str:
        """The name of its scope: alias of the cluster, name of the flow or of the metadata log."""
        if self.scope is Scope.CROSSLOG:
            return "crosslog"
        owner = getattr(self, self.scope)
        return str(owner.alias if self.scope is Scope.CLUSTER else owner.name)

    @property
    def subject_href(self) -> str:
        """The page of the Kafka Streams application that it is about, empty for all else."""
        known = CHECKS.by_id.get(self.code)
        if not known or known.area is not Area.STREAMS or not self.subject:
            return ""
        return address_of("streams:detail", self.name, self.subject)

    @property
    def href(self) -> str:
        """The page of its scope that has more of it."""
        if self.flow_id is not None:
            return reverse("replication:findings", args=[self.flow_id])
        if self.log_id is not None:
            return reverse("quorum:detail", args=[self.name])
        if self.scope is Scope.CROSSLOG:
            return reverse("findings:list")
        if self.kind == Kind.CHECKS:
            return reverse("clusters:detail", args=[self.name])
        page = "detail" if self.code == LEADERS_NOT_BALANCED else "promotion"
        return reverse(f"availability:{page}", args=[self.name])

    @property
    def duration_ms(self) -> int | None:
        return lasted_ms(self.opened_at, self.closed_at)

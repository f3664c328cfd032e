"""Plans to move groups between the clusters of a flow, and the runs that carry them out."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from jobs.replication.failover.model import CheckState, Direction, Untranslated
from jobs.replication.failover.model import FailoverPlan as Plan
from jobs.replication.failover.reports.report import RunKind

VERDICTS = [(one.value, one.value) for one in CheckState]
DIRECTIONS = [(one.value, one.value) for one in Direction]
KINDS = [
    (RunKind.REHEARSAL.value, "Dry run"),
    (RunKind.APPLY.value, "Apply"),
    (RunKind.UNDO.value, "Roll back"),
]
UNTRANSLATED = [(one.value, one.value) for one in Untranslated]


class PlanState(models.TextChoices):
    """Whether the evidence of a plan is there: FAILED means that it could not be read."""

    QUEUED = "queued", "Queued"
    READING = "reading", "Reading"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


# What a plan that is ready becomes by itself: its evidence is too old, and nothing of it is applied.
EXPIRED = "expired"
SHOWN_STATES = [*PlanState.choices, (EXPIRED, "Expired")]


class GroupState(models.TextChoices):
    """What was last done with a group of a plan."""

    PLANNED = "planned", "Planned"
    APPLIED = "applied", "Applied"
    UNDONE = "undone", "Rolled back"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


class FailoverState(models.TextChoices):
    """REFUSED: no offset was changed; PARTIAL: some groups failed or were refused, the others succeeded."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Succeeded"
    PARTIAL = "partial", "Partial"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


LIVE = (FailoverState.QUEUED, FailoverState.RUNNING)


class FailoverPlan(models.Model):
    """A plan: its request, and the state of both clusters at `read_at`.

    `document` is the plan without its groups, in the words of `jobs.replication.failover.model`. Counts are
    over its groups; `reread_most` and `at_risk` (records that the destination lacks) are null when
    unknown. A plan of which something is applied
    (`applied_at`, until everything is undone) is not read again.
    """

    flow = models.ForeignKey(
        "replication.ReplicationFlow", on_delete=models.CASCADE, related_name="failover_plans"
    )
    name = models.CharField(max_length=100)
    direction = models.CharField(max_length=10, choices=DIRECTIONS, default=Direction.FAILOVER)
    groups = models.JSONField(default=list)
    topics = models.JSONField(default=list)
    untranslated = models.CharField(
        max_length=10, choices=UNTRANSLATED, default=Untranslated.REFUSE
    )
    state = models.CharField(max_length=10, choices=PlanState, default=PlanState.QUEUED)
    error = models.TextField(blank=True, default="")
    claimed_until = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    document = models.JSONField(default=dict)
    verdict = models.CharField(max_length=10, choices=VERDICTS, blank=True, default="")
    group_count = models.PositiveIntegerField(default=0)
    blocked_count = models.PositiveIntegerField(default=0)
    item_count = models.PositiveIntegerField(default=0)
    exact_count = models.PositiveIntegerField(default=0)
    reread_most = models.BigIntegerField(null=True, blank=True)
    at_risk = models.BigIntegerField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["flow", "name"], name="one_plan_per_flow_and_name")
        ]
        indexes = [
            models.Index(fields=["flow", "-created_at"], name="plan_flow_created"),
            models.Index(fields=["state"], name="plan_state"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def expires_at(self) -> datetime | None:
        """When the evidence is too old to be used; None before it was read."""
        return (
            self.read_at + timedelta(seconds=settings.FAILOVER_EVIDENCE_S) if self.read_at else None
        )

    @property
    def is_stale(self) -> bool:
        """Whether the evidence is too old to be used."""
        return self.expires_at is not None and timezone.now() > self.expires_at

    @property
    def shown_state(self) -> str:
        """The state of the plan for people and programs: one of `SHOWN_STATES`."""
        is_expired = self.state == PlanState.READY and self.applied_at is None and self.is_stale
        return EXPIRED if is_expired else str(self.state)

    @property
    def origin(self) -> Any:
        """The cluster that groups leave."""
        is_over = self.direction == Direction.FAILOVER
        return self.flow.source if is_over else self.flow.target

    @property
    def destination(self) -> Any:
        """The cluster whose groups are set."""
        is_over = self.direction == Direction.FAILOVER
        return self.flow.target if is_over else self.flow.source

    def plan(self, names: list[str] | None = None) -> Plan:
        """Return the plan with its groups, or only with some of them."""
        rows = self.plan_groups.all() if names is None else self.plan_groups.filter(group__in=names)
        return Plan.from_mapping(self.document, rows.values_list("document", flat=True))


class FailoverPlanGroup(models.Model):
    """A group of a plan; `before` and `written` are its offsets before an apply, and what was set.

    They are null until something is to be set: `before` is stored first, so undoing is always possible.
    Each is a list of [topic, partition, offset (null: no commit), metadata].
    """

    plan = models.ForeignKey(FailoverPlan, on_delete=models.CASCADE, related_name="plan_groups")
    group = models.CharField(max_length=255)
    type = models.CharField(max_length=20, blank=True, default="")
    verdict = models.CharField(max_length=10, choices=VERDICTS)
    item_count = models.PositiveIntegerField(default=0)
    exact_count = models.PositiveIntegerField(default=0)
    reread_most = models.BigIntegerField(null=True, blank=True)
    at_risk = models.BigIntegerField(null=True, blank=True)
    document = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=GroupState, default=GroupState.PLANNED)
    message = models.TextField(blank=True, default="")
    before = models.JSONField(null=True, blank=True)
    written = models.JSONField(null=True, blank=True)

    clusters_at: ClassVar = ("plan__flow__source", "plan__flow__target")

    class Meta:
        ordering = ["group"]
        constraints = [
            models.UniqueConstraint(fields=["plan", "group"], name="one_row_per_plan_and_group")
        ]

    def __str__(self) -> str:
        return self.group


class FailoverRun(models.Model):
    """A dry run, apply or roll back of a plan, group by group.

    `groups` are the names that it is about, `left_out` the groups of the plan that pre-checks block, by name
    with why. `confirmed_at` is when the plan's evidence was confirmed.
    `report` is the signed document as it was signed, empty until the run has ended.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    plan = models.ForeignKey(FailoverPlan, on_delete=models.CASCADE, related_name="failover_runs")
    kind = models.CharField(max_length=10, choices=KINDS)
    state = models.CharField(max_length=10, choices=FailoverState, default=FailoverState.QUEUED)
    groups = models.JSONField(default=list)
    left_out = models.JSONField(default=dict)
    even_if_moved = models.BooleanField(default=False)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    done_count = models.PositiveIntegerField(default=0)
    bad_count = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    report = models.TextField(blank=True, default="")

    clusters_at: ClassVar = ("plan__flow__source", "plan__flow__target")

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["plan"],
                condition=Q(state__in=["queued", "running"]),
                name="one_live_run_per_plan",
            )
        ]
        indexes = [models.Index(fields=["state"], name="failover_run_state")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.plan_id} ({self.state})"

    @property
    def is_live(self) -> bool:
        """Whether it is queued or running."""
        return self.state in LIVE

    @property
    def label(self) -> str:
        """The kind as a word."""
        return str(self.get_kind_display())


class FailoverRunGroup(models.Model):
    """The outcome of one group in one run; the run does not repeat a group with a row."""

    run = models.ForeignKey(FailoverRun, on_delete=models.CASCADE, related_name="run_groups")
    group = models.CharField(max_length=255)
    state = models.CharField(max_length=10)
    message = models.TextField(blank=True, default="")
    document = models.JSONField(default=dict)
    at = models.DateTimeField()

    clusters_at: ClassVar = ("run__plan__flow__source", "run__plan__flow__target")

    class Meta:
        ordering = ["group"]
        constraints = [
            models.UniqueConstraint(fields=["run", "group"], name="one_row_per_run_and_group")
        ]

    def __str__(self) -> str:
        return f"{self.group} {self.state}"

"""Drills: promotions on a test topic, and predictions compared with observed results."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from console.availability.promotion.models import Actor
from console.clusters.models import TOPIC_NAME_LENGTH, Cluster


class DrillKind(models.TextChoices):
    """PROMOTION is carried out by crosslog on a test topic, WHAT_IF is recorded by a user."""

    PROMOTION = "promotion", "Promotion on a test topic"
    WHAT_IF = "what_if", "Simulation compared with a failure"


class DrillState(models.TextChoices):
    """PARTIAL: some results failed; REFUSED: nothing was changed."""

    QUEUED = "queued", "Queued"
    RUNNING = "running", "Running"
    SUCCEEDED = "succeeded", "Passed"
    PARTIAL = "partial", "Partly passed"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


LIVE_DRILLS = (DrillState.QUEUED, DrillState.RUNNING)
_LIVE_WORDS = [state.value for state in LIVE_DRILLS]


class Drill(models.Model):
    """One drill; `actors` are its methods, `log` is [[ISO time, sentence], ...].

    `topic` is the test topic, which crosslog creates and deletes (`topic_removed_at`; null: it may exist).
    `prediction` and `seen` are of recorded drills.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="drills")
    kind = models.CharField(max_length=10, choices=DrillKind, default=DrillKind.PROMOTION)
    state = models.CharField(max_length=10, choices=DrillState, default=DrillState.QUEUED)
    title = models.CharField(max_length=200, blank=True, default="")
    actors = models.JSONField(default=list)
    broker = models.IntegerField(null=True, blank=True)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True, default="")
    topic_removed_at = models.DateTimeField(null=True, blank=True)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claimed_by = models.CharField(max_length=100, blank=True, default="")
    claimed_until = models.DateTimeField(null=True, blank=True)
    good_count = models.PositiveIntegerField(default=0)
    bad_count = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    log = models.JSONField(default=list)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster"],
                condition=Q(state__in=_LIVE_WORDS),
                name="one_live_drill_per_cluster",
            )
        ]
        indexes = [models.Index(fields=["cluster", "-created_at"], name="drill_created")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.state})"

    @property
    def is_live(self) -> bool:
        """Whether it is queued or running."""
        return self.state in LIVE_DRILLS


class DrillResult(models.Model):
    """The result of one method, or of one partition of a recorded drill.

    Times are in ms, null when not reached; `expected_ms` is the reference measurement.
    """

    drill = models.ForeignKey(Drill, on_delete=models.CASCADE, related_name="results")
    subject = models.CharField(max_length=300)
    actor = models.CharField(max_length=20, choices=Actor, blank=True, default="")
    is_good = models.BooleanField()
    promote_ms = models.PositiveIntegerField(null=True, blank=True)
    revert_ms = models.PositiveIntegerField(null=True, blank=True)
    expected_ms = models.PositiveIntegerField(null=True, blank=True)
    prediction = models.JSONField(default=dict)
    seen = models.JSONField(default=dict)
    message = models.TextField(blank=True, default="")
    at = models.DateTimeField()

    clusters_at: ClassVar = ("drill__cluster",)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["drill", "subject"], name="one_result_per_drill_subject"
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {'passed' if self.is_good else 'failed'}"

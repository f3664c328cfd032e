"""A row per job run: the truth about the job. Every state change is a conditional UPDATE."""

from __future__ import annotations

import uuid
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Cast, Concat

from console.runs.engines import models as engines

__all__ = ["LIVE_STATES", "SUBJECT_MODELS", "Run", "RunState", "engines"]


class RunState(models.TextChoices):
    """FAILED means that the job refused, CRASHED that an unexpected error ended it."""

    QUEUED = "QUEUED", "Queued"
    RUNNING = "RUNNING", "Running"
    SUCCEEDED = "SUCCEEDED", "Succeeded"
    FAILED = "FAILED", "Failed"
    CRASHED = "CRASHED", "Crashed"
    STOPPED = "STOPPED", "Stopped"


LIVE_STATES = (RunState.QUEUED, RunState.RUNNING)


# What the subject of a run names ("flow:12"), by label: rooms do not import each other.
# "syncs" is for analyses of a flow's offset syncs: "flow" has the flow's own run.
SUBJECT_MODELS = {
    "flow": "replication.ReplicationFlow",
    "syncs": "replication.ReplicationFlow",
    "log": "quorum.MetadataLog",
    "cluster": "clusters.Cluster",
}


class Run(models.Model):
    """One job, from the wish to its end.

    `subject` says what the run is about ("flow:12"): a subject has at most one live run. Analyses wait
    beside each other: `question_key` (kind and arguments; "" for other runs) has at most one live run, and a
    subject at most one that is running. `attempts` counts how often the run was started.
    `heartbeat_at` is when the run's host last saw its process alive, `reported_at` when the job
    itself last wrote progress. `stages` are the moments (Unix ms, by name) that its start has passed,
    beside `progress` because lists of runs read it. `host` and `folder` say where its files are.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=40)
    subject = models.CharField(max_length=100, blank=True)
    title = models.CharField(max_length=200)
    arguments = models.JSONField(default=dict)
    question_key = models.CharField(max_length=64, blank=True, default="")
    attempts = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    reported_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    host = models.CharField(max_length=255, blank=True)
    folder = models.CharField(max_length=500, blank=True)
    progress = models.JSONField(null=True, blank=True)
    stages = models.JSONField(default=dict, blank=True)
    summary = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["subject"],
                condition=Q(state__in=["QUEUED", "RUNNING"], question_key="") & ~Q(subject=""),
                name="one_live_run_per_subject",
            ),
            models.UniqueConstraint(
                fields=["question_key"],
                condition=Q(state__in=["QUEUED", "RUNNING"]) & ~Q(question_key=""),
                name="one_live_run_per_question",
            ),
            models.UniqueConstraint(
                fields=["subject"],
                condition=Q(state="RUNNING") & ~Q(question_key="") & ~Q(subject=""),
                name="one_running_analysis_per_subject",
            ),
        ]
        indexes = [
            models.Index(fields=["subject", "-created_at"], name="run_subject_created"),
            models.Index(fields=["state"], name="run_state"),
            models.Index(fields=["-created_at"], name="run_created"),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.state})"

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the runs that a person without a role everywhere sees.

        A run is visible with its subject; a run without a subject is visible with a role everywhere only.
        """
        from console.frame.security.access import visible

        seen = Q(pk__in=[])
        for kind, label in SUBJECT_MODELS.items():
            rows = visible(user, apps.get_model(label)._default_manager.all())
            name = Concat(Value(f"{kind}:"), Cast("pk", models.CharField()))
            seen |= Q(subject__in=rows.annotate(subject_name=name).values("subject_name"))
        return seen

    @property
    def is_analysis(self) -> bool:
        """Whether the run answers a question, with a result document."""
        return bool(self.question_key)

    @property
    def is_live(self) -> bool:
        """Whether the run is queued or running."""
        return self.state in LIVE_STATES

"""Reports that are wanted, each time one was made, and its deliveries."""

from __future__ import annotations

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Count, F, Q

from console.delivery.models import shown_address
from jobs.reports.periods import Period


class RunState(models.TextChoices):
    """WAITING: for analyses that its sections need. What is READY has its files."""

    QUEUED = "queued", "Queued"
    WAITING = "waiting", "Waiting for analyses"
    BUILDING = "building", "Building"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


LIVE = (RunState.QUEUED, RunState.WAITING, RunState.BUILDING)


class Trigger(models.TextChoices):
    """Why a report was made; a PREVIEW has no recipients."""

    SCHEDULE = "schedule", "Schedule"
    PERSON = "person", "Person"
    PREVIEW = "preview", "Preview"


class Report(models.Model):
    """A report that is wanted again and again.

    `subjects` are primary keys of flows or clusters (by `kind`), empty: all that the owner may see.
    `period` is a `PeriodName`. `recipients` is a list of {"channel", "address"}. It is made with the rights
    that `owner` has at that moment, within those of the request that made it (`asked_with`).
    """

    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    subjects = models.JSONField(default=list)
    period = models.CharField(max_length=20)
    time_zone = models.CharField(max_length=64, default="UTC")
    with_before = models.BooleanField(default=True)
    formats = models.JSONField(default=list)
    paper = models.CharField(max_length=10, default="a4")
    recipients = models.JSONField(default=list)
    keep_days = models.PositiveIntegerField(default=400)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    @property
    def shown_recipients(self) -> str:
        """The addresses of its recipients as they are shown."""
        return ", ".join(shown_address(one["channel"], one["address"]) for one in self.recipients)

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the reports that a person without a role everywhere sees: their own.

        A token sees those that it requested.
        """
        token = getattr(user, "acting_token", None)
        own = Q(owner=user.pk)
        return own if token is None else own & Q(asked_with__token=token.pk)


class ReportRun(models.Model):
    """One run of a report, for one period; it is complete without `report`.

    `clusters` are those whose data it shows, `cluster_count` how many they were when it was made. `answers`
    are the runs of the analyses that it waits for, by the reader's keys. `files` are what is stored, by
    format: {"name", "bytes", "sha256"}. `headline` is its verdict, in one line.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    report = models.ForeignKey(
        Report, null=True, blank=True, on_delete=models.SET_NULL, related_name="runs"
    )
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    subjects = models.JSONField(default=list)
    period_start = models.DateTimeField()
    period_end = models.DateTimeField()
    period_name = models.CharField(max_length=20, blank=True, default="")
    time_zone = models.CharField(max_length=64, default="UTC")
    with_before = models.BooleanField(default=True)
    formats = models.JSONField(default=list)
    paper = models.CharField(max_length=10, default="a4")
    recipients = models.JSONField(default=list)
    keep_days = models.PositiveIntegerField(default=400)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    trigger = models.CharField(max_length=10, choices=Trigger)
    state = models.CharField(max_length=10, choices=RunState, default=RunState.QUEUED)
    clusters: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        "clusters.Cluster", blank=True, related_name="+"
    )
    cluster_count = models.PositiveIntegerField(default=0)
    for_admins = models.BooleanField(default=False)
    answers = models.JSONField(default=dict)
    files = models.JSONField(default=dict)
    headline = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["state"], name="report_run_state"),
            models.Index(fields=["report", "-created_at"], name="report_run_of_report"),
            models.Index(fields=["created_at"], name="report_run_created"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the runs that a person without a role everywhere sees.

        All of whose clusters the person sees, and that are about any.
        """
        from console.frame.security.access import rights_of

        seen = rights_of(user).clusters("view")
        shown = (
            cls._default_manager.filter(clusters__in=seen, for_admins=False)
            .annotate(seen_count=Count("clusters"))
            .filter(seen_count=F("cluster_count"))
        )
        return Q(pk__in=shown.values("pk"))

    @property
    def period(self) -> Period:
        return Period(self.period_start, self.period_end, self.time_zone, self.period_name)

    @property
    def is_live(self) -> bool:
        """Whether it is not there yet."""
        return self.state in LIVE

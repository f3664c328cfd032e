"""Rows of schedules, and what happened each time."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models

from console.schedules import timing


class Outcome(models.TextChoices):
    """Outcome of a run."""

    STARTED = "started", "Started"
    LEFT_OUT = "left_out", "Skipped"
    FAILED = "failed", "Failed"


class Schedule(models.Model):
    """Something that is started at the times of a cron expression, in the name of `created_by`.

    `kind` names a starter, `arguments` are what it checked. `next_at` is the next time that is due;
    null while disabled and when none follows. `last_at`, `last_outcome` and `last_sentence` are of
    the last firing; `last_ref` names what was started last, at `last_started_at`, also when later
    times were left out or failed.
    """

    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=40)
    arguments = models.JSONField(default=dict)
    cron = models.CharField(max_length=timing.LONGEST_CRON)
    time_zone = models.CharField(max_length=64, default="UTC")
    is_enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    asked_with = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True, db_index=True)
    last_at = models.DateTimeField(null=True, blank=True)
    last_outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    last_sentence = models.TextField(blank=True)
    last_ref = models.CharField(max_length=100, blank=True)
    last_started_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def next_text(self) -> str:
        """The next time in the schedule's zone; empty when there is none."""
        return self.local(self.next_at) if self.next_at else ""

    @property
    def cron_text(self) -> str:
        """The expression in words."""
        return timing.in_words(self.cron)

    def local(self, at: datetime) -> str:
        """Return a time in the schedule's zone."""
        return timing.local_text(at, self.time_zone)


class ScheduleFiring(models.Model):
    """What happened at one time: `due_at` is null when a person started it (`by`).

    `missed` counts the runs before this one that were missed.
    """

    schedule = models.ForeignKey(Schedule, models.CASCADE, related_name="firings")
    due_at = models.DateTimeField(null=True, blank=True)
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    missed = models.PositiveIntegerField(default=0)
    outcome = models.CharField(max_length=10, choices=Outcome)
    sentence = models.TextField(blank=True)
    ref = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return f"{self.at}: {self.outcome}"

"""Channels, routes, and what each channel was sent of each incident."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from console.delivery.models import Channel
from console.findings.models import SEVERITIES
from jobs.notifications.routes import GroupBy, every_day

KINDS = [(one.value, one.label) for one in Channel if one is not Channel.FOLDER]
LONGEST_NAME, LONGEST_PATTERN = 100, 600


class NotificationChannel(models.Model):
    """Where notifications are sent.

    `address` is what may be shown: e-mail addresses, one per line; a chat id; else the host and a mark.
    `sealed` has the secret fields of its kind (`kinds.KINDS`), encrypted; they are never shown.
    """

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    kind = models.CharField(max_length=12, choices=KINDS)
    address = models.TextField(blank=True)
    sealed = models.TextField(blank=True)
    is_enabled = models.BooleanField(default=True)
    changed_at = models.DateTimeField()
    changed_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person without a role everywhere sees: none."""
        return Q(pk__in=())


class NotificationRoute(models.Model):
    """Which incidents are sent to which channels.

    `severity` is the least one. `checks` are ids or globs, empty for all; `subject_pattern` is a glob, empty
    for all; `cluster` null: all. `days` are weekdays (0: Monday), with `starts` and `ends` in `time_zone`;
    both null: the whole day. Incidents of a group (`group_by`) are one message, `wait_s` after the first of
    them. `repeat_s` 0: not repeated.
    """

    name = models.CharField(max_length=LONGEST_NAME, unique=True)
    is_enabled = models.BooleanField(default=True)
    severity = models.CharField(max_length=10, choices=SEVERITIES)
    checks = models.JSONField(default=list, blank=True)
    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    subject_pattern = models.CharField(max_length=LONGEST_PATTERN, blank=True)
    days = models.JSONField(default=every_day)
    starts = models.TimeField(null=True, blank=True)
    ends = models.TimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    channels: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        NotificationChannel, related_name="routes"
    )
    group_by = models.CharField(
        max_length=10,
        choices=[(one.value, one.label) for one in GroupBy],
        default=GroupBy.CLUSTER.value,
    )
    wait_s = models.PositiveIntegerField(default=10)
    repeat_s = models.PositiveIntegerField(default=4 * 3600)
    sends_resolved = models.BooleanField(default=True)
    changed_at = models.DateTimeField()
    changed_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person without a role everywhere sees: none."""
        return Q(pk__in=())


class Notice(models.Model):
    """What a channel was sent of an incident.

    `group` names the messages that it was in, `rank` is the highest severity that was sent, `sent_at` when
    the last message was written, `repeats` how many reminders. `resolved_at` is when the message that it is
    resolved was written.
    """

    channel = models.ForeignKey(NotificationChannel, on_delete=models.CASCADE, related_name="+")
    route = models.ForeignKey(
        NotificationRoute, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    incident: models.ForeignKey[Any, Any] = models.ForeignKey(
        "findings.Incident", on_delete=models.CASCADE, related_name="notices"
    )
    group = models.CharField(max_length=800)
    rank = models.PositiveSmallIntegerField()
    first_at = models.DateTimeField()
    sent_at = models.DateTimeField()
    repeats = models.PositiveIntegerField(default=0)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["channel", "incident"], name="one_notice_per_channel")
        ]
        indexes = [
            models.Index(fields=["incident"], condition=Q(resolved_at=None), name="notice_open")
        ]

    def __str__(self) -> str:
        return f"{self.channel_id} {self.incident_id}"

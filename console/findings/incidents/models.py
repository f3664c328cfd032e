"""Incidents, their timeline, and maintenance windows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from console.frame.security.access import rights_of
from jobs.severity import FINDING_SEVERITIES

SEVERITIES = [(one.value, one.word) for one in FINDING_SEVERITIES]


class State(models.TextChoices):
    """What is done about an incident."""

    OPEN = "open", "Open"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    SILENCED = "silenced", "Silenced"
    RESOLVED = "resolved", "Resolved"


class Subject(models.TextChoices):
    """What the cause of an incident is about."""

    CLUSTER = "cluster", "Cluster"
    BROKER = "broker", "Broker"
    PARTITIONS = "partitions", "Partitions"
    QUORUM = "quorum", "Quorum"
    OBSERVERS = "observers", "Observers"
    FLOW = "flow", "Flow"
    GROUP = "group", "Consumer group"
    STREAMS = "streams", "Streams application"
    CROSSLOG = "crosslog", "crosslog"


class Scoped:
    """What is about a cluster, a flow or a metadata log; about crosslog itself when all three are null."""

    cluster: Any
    flow: Any
    log: Any

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person may see: all clusters of their scope.

        What concerns crosslog itself is seen by those who may view all clusters.
        """
        rights = rights_of(user)
        seen = rights.clusters("view")
        found = (
            Q(cluster__in=seen)
            | Q(log__cluster__in=seen)
            | Q(flow__source__in=seen, flow__target__in=seen)
        )
        of_crosslog = Q(cluster=None, flow=None, log=None)
        return found | of_crosslog if rights.reaches("view", ()) else found

    @property
    def place(self) -> str:
        """Its scope, for people."""
        if self.flow is not None:
            return f"Flow {self.flow.name}"
        if self.log is not None:
            return f"Quorum of {self.log.label}"
        return "crosslog" if self.cluster is None else f"Cluster {self.cluster.alias}"


def lasted_ms(begin: datetime, end: datetime | None) -> int | None:
    """Return how long something lasted; None while it is open."""
    return None if end is None else round((end - begin).total_seconds() * 1000)


class Incident(Scoped, models.Model):
    """Open findings that have one cause.

    `subject_kind` and `subject` name the cause (a broker `3`, a group), `cluster`, `flow` and `log` where
    it is; all three null: crosslog itself. `check_id` is the check of its first finding. `sentence` has the
    cause and its effects, `effects` are counts as `{"check": id, "text": words, "findings": count}`.
    `began_at` is when the cause began, `opened_at` when rounds agreed, `ended_at` when it was over (null: it
    is not). It is silenced until `silenced_until`; in a maintenance window `window` names it.
    """

    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, on_delete=models.CASCADE, related_name="+"
    )
    flow: models.ForeignKey[Any, Any] = models.ForeignKey(
        "replication.ReplicationFlow", null=True, on_delete=models.CASCADE, related_name="+"
    )
    log: models.ForeignKey[Any, Any] = models.ForeignKey(
        "quorum.MetadataLog", null=True, on_delete=models.CASCADE, related_name="+"
    )
    key = models.CharField(max_length=700)
    subject_kind = models.CharField(max_length=10, choices=Subject)
    subject = models.CharField(max_length=600, blank=True)
    check_id = models.CharField(max_length=60)
    severity = models.CharField(max_length=10, choices=SEVERITIES)
    rank = models.PositiveSmallIntegerField(default=0)
    title = models.CharField(max_length=700)
    sentence = models.TextField()
    todo = models.TextField(blank=True)
    effects = models.JSONField(default=list)
    brokers = models.JSONField(default=list)
    finding_count = models.PositiveIntegerField(default=0)
    state = models.CharField(max_length=12, choices=State, default=State.OPEN)
    began_at = models.DateTimeField()
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    acknowledged_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    silenced_until = models.DateTimeField(null=True, blank=True)
    window = models.CharField(max_length=200, blank=True)
    owner: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    note = models.TextField(blank=True)

    class Meta:
        ordering = ["-rank", "began_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=Q(ended_at=None), name="one_open_incident_per_cause"
            )
        ]
        indexes = [
            # With the state, badge and counts read no rows.
            models.Index(
                fields=["-rank", "began_at", "id", "state"],
                condition=Q(ended_at=None),
                name="incident_open",
            ),
            models.Index(fields=["-opened_at"], name="incident_opened"),
            models.Index(
                fields=["-ended_at"],
                condition=Q(ended_at__isnull=False),
                name="incident_ended",
            ),
            models.Index(fields=["cluster", "ended_at"], name="incident_of_cluster"),
            models.Index(fields=["key", "-opened_at"], name="incident_of_cause"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def duration_ms(self) -> int | None:
        return lasted_ms(self.began_at, self.ended_at)

    def state_at(self, now: datetime) -> State:
        """Return what its times and its maintenance window say: the first of `State` from the end."""
        if self.ended_at is not None:
            return State.RESOLVED
        if self.window or (self.silenced_until is not None and self.silenced_until > now):
            return State.SILENCED
        return State.OPEN if self.acknowledged_at is None else State.ACKNOWLEDGED

    @property
    def href(self) -> str:
        """Its page."""
        return reverse("findings:incident", args=[self.pk])

    @property
    def clusters(self) -> list[Any]:
        """The clusters that it concerns; the related rows are selected by `queries.list_incidents`."""
        if self.flow is not None:
            return [self.flow.source, self.flow.target]
        cluster = self.log.cluster if self.log else self.cluster
        return [cluster] if cluster else []

    @property
    def what_if(self) -> str:
        """The failure simulation without its brokers; empty for none."""
        if not self.brokers or len(self.clusters) != 1:
            return ""
        lost = ",".join(f"broker:{one}" for one in self.brokers)
        page = reverse("availability:what-if", args=[self.clusters[0].alias])
        return f"{page}?steps=lose:{lost}"


class EventKind(models.TextChoices):
    """What happened to an incident."""

    OPENED = "opened", "Opened"
    CHANGED = "changed", "Changed"
    NOTIFIED = "notified", "Notified"
    ACKNOWLEDGED = "acknowledged", "Acknowledged"
    UNACKNOWLEDGED = "unacknowledged", "Acknowledgement removed"
    SILENCED = "silenced", "Silenced"
    UNSILENCED = "unsilenced", "Silence ended"
    OWNER = "owner", "Owner changed"
    NOTE = "note", "Note changed"
    RESOLVED = "resolved", "Resolved"


class IncidentEvent(models.Model):
    """An entry of the timeline; `by` is the name of the person at that time, empty for a round."""

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=16, choices=EventKind)
    text = models.TextField(blank=True)
    by = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.kind} at {self.at}"


class MaintenanceWindow(models.Model):
    """A time in which incidents of a cluster (null: of all) are silenced.

    Without `rrule` it is once, from `starts_at` for `duration_s`. With it (RFC 5545) it starts
    again at each of its times in `time_zone`.
    """

    title = models.CharField(max_length=200)
    cluster: models.ForeignKey[Any, Any] = models.ForeignKey(
        "clusters.Cluster", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    starts_at = models.DateTimeField()
    duration_s = models.PositiveIntegerField()
    rrule = models.CharField(max_length=500, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    created_at = models.DateTimeField()
    created_by: models.ForeignKey[Any, Any] = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering = ["starts_at", "pk"]

    def __str__(self) -> str:
        return self.title

    @classmethod
    def visible_to(cls, user: Any) -> Q:
        """Return the condition of the rows that a person may see: those of all clusters, too."""
        return Q(cluster=None) | Q(cluster__in=rights_of(user).clusters("view"))

    @property
    def clusters(self) -> tuple[int, ...]:
        """The cluster that it is about; none for a window of all."""
        return () if self.cluster_id is None else (self.cluster_id,)

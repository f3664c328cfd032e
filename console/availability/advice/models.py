"""Models of promotion advice: the last round, observer events, findings."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from console.frame.rounds import Round
from jobs.availability.promotion.observer_findings import ObserverEventKind
from jobs.severity import FINDING_SEVERITIES

LEADERS_NOT_BALANCED = "leaders_not_balanced"
SEVERITIES = [(one.value, one.value) for one in FINDING_SEVERITIES]
EVENT_KINDS = [
    (kind.value, kind.value.replace("_", " ").capitalize()) for kind in ObserverEventKind
]


class PromotionRound(Round):
    """The last round of the advisor for a cluster; a round that fails keeps what is known.

    `memory` is what the next round has to know of this one: since when, by partition. `actors` is the
    catalogue of `jobs.availability.promotion.actors.catalogue` as it was at `actors_at`. `promoter_seen_at`
    is when a `manage.py promote` last said that it looks after this cluster.
    """

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="promotion_round"
    )
    judged_count = models.PositiveIntegerField(default=0)
    observers_in_isr = models.PositiveIntegerField(default=0)
    actors = models.JSONField(default=list)
    actors_at = models.DateTimeField(null=True, blank=True)
    promoter = models.CharField(max_length=100, blank=True, default="")
    promoter_seen_at = models.DateTimeField(null=True, blank=True)
    promoter_problem = models.TextField(blank=True, default="")
    memory = models.JSONField(default=dict)

    clusters_at: ClassVar = ("cluster",)

    def __str__(self) -> str:
        return f"promotion round of {self.cluster_id}"


class ObserverEvent(models.Model):
    """An observer event, whether crosslog caused it or not: the words of
    `jobs.availability.promotion.observer_findings`.

    `lasted_ms` is for how long it was in the ISR, of demotions; null: not known.
    """

    KINDS = EVENT_KINDS

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="observer_events")
    at = models.DateTimeField()
    kind = models.CharField(max_length=20, choices=KINDS)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH)
    partition = models.PositiveIntegerField()
    broker = models.IntegerField()
    lasted_ms = models.BigIntegerField(null=True, blank=True)
    sentence = models.TextField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [models.Index(fields=["cluster", "-at"], name="observer_event_at")]

    def __str__(self) -> str:
        return f"{self.broker} {self.kind} in {self.topic}-{self.partition}"


class PromotionFinding(models.Model):
    """A finding about observers or leaders; open while `closed_at` is null.

    `trouble` and `cause` name its runbook. `brokers` are those that it is about.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, related_name="promotion_findings"
    )
    code = models.CharField(max_length=60)
    severity = models.CharField(max_length=10, choices=SEVERITIES)
    rank = models.PositiveSmallIntegerField(default=0)
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True, default="")
    partition = models.PositiveIntegerField(null=True, blank=True)
    brokers = models.JSONField(default=list)
    trouble = models.CharField(max_length=30, blank=True, default="")
    cause = models.CharField(max_length=60, blank=True, default="")
    subject = models.CharField(max_length=300, blank=True)
    sentence = models.TextField()
    todo = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)
    opened_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-rank", "opened_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "code", "subject"],
                condition=Q(closed_at=None),
                name="one_open_promotion_finding",
            )
        ]
        indexes = [models.Index(fields=["cluster", "closed_at"], name="promotion_finding_open")]

    def __str__(self) -> str:
        return f"{self.code} {self.subject}".rstrip()

    @property
    def word(self) -> str:
        """What it is, in two or three words."""
        return self.code.replace("_", " ").replace("-", " ").capitalize()

    @property
    def page(self) -> str:
        """The page of the room that has more of it."""
        return "detail" if self.code == LEADERS_NOT_BALANCED else "promotion"

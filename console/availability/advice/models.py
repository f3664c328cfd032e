"""Models of promotion advice: the last round and observer events."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from console.frame.rounds import Round
from jobs.availability.promotion.observer_findings import ObserverEventKind

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

"""What the loops share that keep fenced standby brokers promoted: the tables behind `store`.

The words are those of `jobs.availability.acting.standby.promotions`; times are kept as Unix milliseconds, as
they are there, so that what is written is what is read.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from console.clusters.models import Cluster
from jobs.availability.acting.standby.promotions import Phase

_ID_LENGTH = 100


class HeldPromotion(models.Model):
    """A standby broker that is, or shall be, in the ISR; every loop sends heartbeats for it.

    `generation` grows with every change, `promotion_id` is that of the action when crosslog's rules or a page
    asked for it.
    """

    PHASES = tuple((phase.value, phase.value) for phase in Phase)

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="held_promotions")
    promotion_id = models.CharField(max_length=_ID_LENGTH)
    broker = models.IntegerField()
    phase = models.CharField(max_length=10, choices=PHASES, default=Phase.HELD.value)
    generation = models.PositiveBigIntegerField(default=1)
    topics = models.JSONField(default=list)
    asked_by = models.CharField(max_length=200, blank=True, default="")
    why = models.TextField(blank=True, default="")
    begun_at_ms = models.BigIntegerField(default=0)
    changed_at_ms = models.BigIntegerField(default=0)
    ended_at_ms = models.BigIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["broker", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "promotion_id"], name="one_row_per_held_promotion"
            ),
            models.UniqueConstraint(
                fields=["cluster", "broker"],
                condition=~Q(phase=Phase.ENDED.value),
                name="one_held_promotion_per_broker",
            ),
        ]

    def __str__(self) -> str:
        return f"broker {self.broker} ({self.phase})"


class StandbyLease(models.Model):
    """Who decides for a cluster until when; `token` grows whenever another holder takes over."""

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, related_name="standby_lease")
    holder = models.CharField(max_length=_ID_LENGTH, blank=True, default="")
    token = models.PositiveBigIntegerField(default=0)
    until_ms = models.BigIntegerField(default=0)

    clusters_at: ClassVar = ("cluster",)

    def __str__(self) -> str:
        return f"{self.holder} for {self.cluster_id}"


class StandbySign(models.Model):
    """What a loop last said of itself; `seen` are generations by promotion."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="standby_signs")
    loop_id = models.CharField(max_length=_ID_LENGTH)
    at_ms = models.BigIntegerField()
    seen = models.JSONField(default=dict)
    problem = models.TextField(blank=True, default="")

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["loop_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "loop_id"], name="one_sign_per_standby_loop")
        ]

    def __str__(self) -> str:
        return self.loop_id


class StandbyEvent(models.Model):
    """Something that a loop sent or saw; `kind` is a word of `EventKind`."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="standby_events")
    at_ms = models.BigIntegerField()
    loop_id = models.CharField(max_length=_ID_LENGTH)
    broker = models.IntegerField()
    kind = models.CharField(max_length=40)
    detail = models.TextField(blank=True, default="")
    promotion_id = models.CharField(max_length=_ID_LENGTH, blank=True, default="")

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-at_ms", "-pk"]
        indexes = [models.Index(fields=["cluster", "-at_ms"], name="standby_event_at")]

    def __str__(self) -> str:
        return f"{self.kind} of broker {self.broker}"

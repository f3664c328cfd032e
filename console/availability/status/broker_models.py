"""Brokers as availability sees them, how restless they are, and what the metadata log sets."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster


class Source(models.TextChoices):
    """Who tells how partitions stand."""

    LOG = "log", "Metadata log"
    POLL = "poll", "Polled"


class BrokerStatus(models.Model):
    """A broker as the metadata log tells it, else as the cluster's rounds saw it.

    `is_there`: unfenced, or alive for the rounds; null when nobody told. `since` is when that began,
    `last_fenced_at` when it was last fenced or lost sight of.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="broker_statuses")
    broker_id = models.IntegerField()
    rack = models.CharField(max_length=255, blank=True)
    is_there = models.BooleanField(null=True, blank=True)
    in_controlled_shutdown = models.BooleanField(default=False)
    since = models.DateTimeField(null=True, blank=True)
    last_fenced_at = models.DateTimeField(null=True, blank=True)
    registered_at = models.DateTimeField(null=True, blank=True)
    incarnation_id = models.CharField(max_length=32, blank=True)
    broker_epoch = models.BigIntegerField(null=True, blank=True)
    offset = models.BigIntegerField(null=True, blank=True)
    source = models.CharField(max_length=4, choices=Source)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["broker_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "broker_id"], name="one_status_per_broker")
        ]

    def __str__(self) -> str:
        return f"broker {self.broker_id}"


class BrokerChurn(models.Model):
    """What a broker did to partitions in the hour that begins at `hour`; see `status.churn` in jobs."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    broker_id = models.IntegerField()
    hour = models.DateTimeField()
    shrinks = models.PositiveIntegerField(default=0)
    expands = models.PositiveIntegerField(default=0)
    leaders_won = models.PositiveIntegerField(default=0)
    leaders_lost = models.PositiveIntegerField(default=0)
    unclean = models.PositiveIntegerField(default=0)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["-hour", "broker_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "broker_id", "hour"], name="one_churn_per_broker_hour"
            )
        ]
        indexes = [models.Index(fields=["cluster", "hour"], name="churn_by_hour")]

    def __str__(self) -> str:
        return f"broker {self.broker_id} at {self.hour}"


class MinIsrSetting(models.Model):
    """min.insync.replicas as the metadata log sets it: of a topic, or of the cluster (`topic` is empty)."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    topic = models.CharField(max_length=TOPIC_NAME_LENGTH, blank=True)
    value = models.PositiveIntegerField()
    offset = models.BigIntegerField()

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "topic"], name="one_min_isr_setting")
        ]

    def __str__(self) -> str:
        return f"{self.topic or 'cluster'}: {self.value}"

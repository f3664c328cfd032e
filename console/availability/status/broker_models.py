"""Models of brokers, their churn per hour, min.insync.replicas from the metadata log; counts over time."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster
from jobs.availability.status.tally import ScopeKind


class Source(models.TextChoices):
    """Source of partition states."""

    LOG = "log", "Metadata log"
    POLL = "poll", "Polled"


class BrokerStatus(models.Model):
    """A broker, from the metadata log, else from the cluster's rounds.

    `is_there`: unfenced, or alive for the rounds; null when unknown. `since` is the start of that state,
    `last_fenced_at` the time it was last fenced or missing in a round.
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
    """ISR and leadership changes of a broker in the hour that begins at `hour`."""

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


class CountSample(models.Model):
    """The maximum of each of Kafka's counts in one interval of time.

    `at_s` is the begin of the step (Unix seconds). A broker or rack without a sample had all counts 0.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=10, choices=[(one.value, one.value) for one in ScopeKind])
    name = models.CharField(max_length=255, blank=True)
    step_s = models.PositiveIntegerField()
    at_s = models.BigIntegerField()
    under_replicated = models.IntegerField(default=0)
    at_min_isr = models.IntegerField(default=0)
    under_min_isr = models.IntegerField(default=0)
    offline = models.IntegerField(default=0)
    rf_below_min = models.IntegerField(default=0)
    out_of_sync = models.IntegerField(default=0)
    unwritable = models.IntegerField(default=0)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "name", "step_s", "at_s"], name="one_count_per_step"
            )
        ]
        indexes = [models.Index(fields=["step_s", "at_s"], name="count_sample_by_age")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} at {self.at_s}"

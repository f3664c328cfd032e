"""The lag of flows and topics per hour, for longer than samples are kept."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

FLOW = "replication.ReplicationFlow"


class LagHour(models.Model):
    """The samples of an hour; `topic` is "" for the flow as a whole. Pruned after LAG_HOURS_D.

    Times are Unix seconds: `at_s` the begin of the hour, `first_s` and `last_s` its first and its last
    sample, `lag_at_s` and `lag_ms_at_s` the first sample with the highest value. `rate_per_s` is the mean.
    Numbers are null when no sample of the hour knew them; `unknown_count` is the most partitions that had
    no lag in one sample.
    """

    flow = models.ForeignKey(FLOW, on_delete=models.CASCADE, related_name="lag_hours")
    topic = models.CharField(max_length=249, blank=True, default="")
    at_s = models.BigIntegerField()
    samples = models.PositiveIntegerField()
    first_s = models.BigIntegerField()
    last_s = models.BigIntegerField()
    lag = models.BigIntegerField(null=True)
    lag_at_s = models.BigIntegerField(null=True)
    lag_ms = models.BigIntegerField(null=True)
    lag_ms_at_s = models.BigIntegerField(null=True)
    unknown_count = models.PositiveIntegerField(default=0)
    rate_per_s = models.FloatField(null=True)

    clusters_at: ClassVar = ("flow__source", "flow__target")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["flow", "topic", "at_s"], name="one_lag_hour")
        ]
        indexes = [models.Index(fields=["at_s"], name="lag_hour_at")]

    def __str__(self) -> str:
        return f"{self.flow_id} {self.topic} {self.at_s}"

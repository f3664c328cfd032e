"""Models of placements, controller sites, and the snapshot for failure simulation."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.clusters.models import TOPIC_NAME_LENGTH, Cluster

# As many digits as anybody needs to put rules in order.
LARGEST_PRIORITY = 9999


class PatternKind(models.TextChoices):
    """How the name of a placement is compared with names of topics."""

    EXACT = "exact", "Exactly this topic"
    GLOB = "glob", "A glob: orders.*"
    REGEX = "regex", "A regular expression over the whole name"


class TopicPlacement(models.Model):
    """A placement that is assigned in crosslog to a topic, or to all topics that a pattern matches.

    `document` is Confluent's placement-constraints JSON as given (`replicas`, `observers`,
    `observerPromotionPolicy`). Precedence: the topic's config, an exact name, the pattern with the highest
    `priority`; among equals the longer pattern, then the alphabet. `changed_by` is a user name, empty
    without a user. Nothing of this is written to the cluster.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="placements")
    kind = models.CharField(max_length=10, choices=PatternKind, default=PatternKind.EXACT)
    pattern = models.CharField(max_length=TOPIC_NAME_LENGTH)
    priority = models.PositiveIntegerField(default=0)
    document = models.JSONField()
    note = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=150, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["cluster", "kind", "-priority", "pattern"]
        constraints = [
            models.UniqueConstraint(
                fields=["cluster", "kind", "pattern"], name="one_placement_per_pattern"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cluster} {self.pattern}"


class ControllerSite(models.Model):
    """The site of a voter that is not a broker, entered by a user: no protocol reports it.

    `site` is a rack, like the brokers' broker.rack. `changed_by` is a user name, empty without a user.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="controller_sites")
    node_id = models.IntegerField()
    site = models.CharField(max_length=255)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=150, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        ordering = ["cluster", "node_id"]
        constraints = [
            models.UniqueConstraint(fields=["cluster", "node_id"], name="one_site_per_controller")
        ]

    def __str__(self) -> str:
        return f"controller {self.node_id}"


class WhatIfPicture(models.Model):
    """The snapshot of a cluster for failure simulation, from collected data, readable in milliseconds.

    `packed` is written by `console.availability.what_if.cluster_snapshots`; `digest` identifies its content:
    `changed_at` is the time of its last change, `made_at` that of the last check. `gaps` are sentences about
    missing data. `matrix` is the single-failure matrix, made for `matrix_digest` (the snapshot and the
    placements) in `matrix_ms`; null before the first.
    """

    cluster = models.OneToOneField(
        Cluster, on_delete=models.CASCADE, related_name="what_if_picture"
    )
    made_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    seen_at = models.DateTimeField(null=True, blank=True)
    digest = models.CharField(max_length=64)
    packed = models.BinaryField()
    partition_count = models.PositiveIntegerField(default=0)
    topic_count = models.PositiveIntegerField(default=0)
    gaps = models.JSONField(default=list)
    matrix = models.JSONField(null=True, blank=True)
    matrix_digest = models.CharField(max_length=64, blank=True)
    matrix_at = models.DateTimeField(null=True, blank=True)
    matrix_ms = models.PositiveIntegerField(null=True, blank=True)

    clusters_at: ClassVar = ("cluster",)

    def __str__(self) -> str:
        return f"picture of {self.cluster_id}"

"""Extractors that people made for a cluster."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from console.clusters.models import Cluster
from jobs.tracing.extractors.extractor import Extractor


class StoredExtractor(models.Model):
    """An extractor of a cluster; `definition` is its mapping without the name.

    Analyses name it by `name`, which is unique everywhere. `changed_by` is a user name, empty without a user.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="extractors")
    name = models.CharField(max_length=100, unique=True)
    definition = models.JSONField()
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=150, blank=True)

    clusters_at: ClassVar = ("cluster",)

    class Meta:
        verbose_name = "extractor"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def extractor(self) -> Extractor:
        """Return what it says; raises `InvalidFields` where this release does not know some of it."""
        return Extractor.from_mapping({**self.definition, "name": self.name})

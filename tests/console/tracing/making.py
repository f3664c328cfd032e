"""Extractors that tests share."""

from console.clusters.models import Cluster
from console.tracing.extractors.models import StoredExtractor
from tests.console.making import NOW

SLIPS = {"fields": {"id": "header:slip", "step": "topic"}, "topics": "orders.*"}


def make_extractor(cluster: Cluster, name: str = "slips", **definition) -> StoredExtractor:
    values = {"definition": definition or SLIPS, "created_at": NOW, "changed_at": NOW}
    return StoredExtractor.objects.create(cluster=cluster, name=name, **values)

"""The room of clusters, brokers, topics and groups."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "console.clusters"
    label = "clusters"
    verbose_name = "Clusters"

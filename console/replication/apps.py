"""The room of replication flows."""

from django.apps import AppConfig


class ReplicationConfig(AppConfig):
    name = "console.replication"
    label = "replication"
    verbose_name = "Replication"

"""The room of replication flows."""

from importlib import import_module

from django.apps import AppConfig

from console.runs.analyses import sources
from jobs.spark.analyses.analysis import ArgumentType


class ReplicationConfig(AppConfig):
    name = "console.replication"
    label = "replication"
    verbose_name = "Replication"

    def ready(self) -> None:
        """Let analyses ask about flows."""
        sources.register(
            ArgumentType.FLOW, import_module("console.replication.translation.translator")
        )

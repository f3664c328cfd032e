"""App of job runs."""

from importlib import import_module

from django.apps import AppConfig

from console.runs.analyses import sources
from console.schedules import starters
from jobs.spark.analyses.analysis import ArgumentType


class RunsConfig(AppConfig):
    name = "console.runs"
    label = "runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        """Load the checks of this room's settings; let analyses ask clusters, and be put on a schedule."""
        import_module("console.runs.checks")
        sources.register(ArgumentType.CLUSTER, import_module("console.runs.cluster_sources"))
        starters.register(import_module("console.runs.analyses.starter").STARTER)

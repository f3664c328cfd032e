"""App of quorums: voters, elections and the history of metadata logs."""

from importlib import import_module

from django.apps import AppConfig

from console.runs.analyses import sources
from jobs.spark.analyses.analysis import ArgumentType


class QuorumConfig(AppConfig):
    name = "console.quorum"
    label = "quorum"
    verbose_name = "Quorum"

    def ready(self) -> None:
        """Let analyses ask about metadata logs, and take what they make of imported ones."""
        sources.register(ArgumentType.LOG, import_module("console.quorum.log.archives"))
        ended = import_module("console.runs.actions").run_ended
        ended.connect(import_module("console.quorum.tasks").take_when_ended)

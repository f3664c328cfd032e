"""The room of events that move through topics."""

from importlib import import_module

from django.apps import AppConfig

from console.runs.analyses import sources
from jobs.spark.analyses.analysis import ArgumentType


class TracingConfig(AppConfig):
    name = "console.tracing"
    label = "tracing"
    verbose_name = "Event tracing"

    def ready(self) -> None:
        """Let analyses use extractors."""
        found = import_module("console.tracing.extractors.analysis_extractors")
        sources.register(ArgumentType.EXTRACTOR, found)

"""The overview: incidents, map of clusters and flows, charts, recent events."""

from importlib import import_module

from django.apps import AppConfig

from console.runs.analyses import sources


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"
    verbose_name = "Overview"

    def ready(self) -> None:
        """Let analyses read recorded events."""
        sources.register_events(import_module("console.overview.analysis_events").events_between)

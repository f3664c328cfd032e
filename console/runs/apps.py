"""The room of job runs."""

from importlib import import_module

from django.apps import AppConfig

from console.schedules import starters


class RunsConfig(AppConfig):
    name = "console.runs"
    label = "runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        """Load the checks of this room's settings, and let analyses be put on a schedule."""
        import_module("console.runs.checks")
        starters.register(import_module("console.runs.analyses.starter").STARTER)

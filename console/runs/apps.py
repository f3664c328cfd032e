"""The room of job runs."""

from importlib import import_module

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "console.runs"
    label = "runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        """Load the checks of this room's settings."""
        import_module("console.runs.checks")

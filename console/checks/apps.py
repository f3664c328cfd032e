"""The room of checks."""

from importlib import import_module

from django.apps import AppConfig


class ChecksConfig(AppConfig):
    name = "console.checks"
    label = "checks"
    verbose_name = "Checks"

    def ready(self) -> None:
        """Register all checks: pages name findings by them."""
        import_module("console.checks.rules")

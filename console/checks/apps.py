"""The room of checks."""

from django.apps import AppConfig


class ChecksConfig(AppConfig):
    name = "console.checks"
    label = "checks"
    verbose_name = "Checks"

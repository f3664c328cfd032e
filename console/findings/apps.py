"""The room of findings."""

from django.apps import AppConfig


class FindingsConfig(AppConfig):
    name = "console.findings"
    label = "findings"
    verbose_name = "Findings"

"""The room of job runs."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "console.runs"
    label = "runs"
    verbose_name = "Runs"

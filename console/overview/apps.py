"""The overview: open issues of all rooms, clusters, flows."""

from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"
    verbose_name = "Overview"

"""The overview: incidents, map of clusters and flows, charts, recent events."""

from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"
    verbose_name = "Overview"

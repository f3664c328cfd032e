"""The first page: what is wrong now, over all rooms."""

from django.apps import AppConfig


class OverviewConfig(AppConfig):
    name = "console.overview"
    label = "overview"
    verbose_name = "Overview"

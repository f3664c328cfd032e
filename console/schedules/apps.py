"""App of schedules."""

from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    name = "console.schedules"
    label = "schedules"
    verbose_name = "Schedules"

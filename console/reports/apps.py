"""The room of reports."""

from django.apps import AppConfig

from console.schedules import starters


class ReportsConfig(AppConfig):
    name = "console.reports"
    label = "reports"
    verbose_name = "Reports"

    def ready(self) -> None:
        from console.reports.making.starter import STARTER
        from console.reports.sending import source

        starters.register(STARTER)
        source.register()

"""Write the documents that are made from code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from console.checks.queries import catalogue_document
from console.metrics.alert_rules import with_rules
from console.metrics.dashboard import write_dashboard
from console.metrics.definitions import table_of_definitions

BEGIN, END = "<!-- table of metrics -->\n", "<!-- end of table -->\n"


class Command(BaseCommand):
    """Write schema, dashboard and checks; of docs/metrics.md the table, of the alerts those of checks."""

    help = (
        "Write the documents that are made from code: schema, dashboard, checks, metrics, alerts."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write all of them."""
        docs: Path = settings.ROOT / "docs"
        call_command("spectacular", "--validate", "--fail-on-warn", file=str(docs / "openapi.yaml"))
        (docs / "grafana-dashboard.json").write_text(write_dashboard(), encoding="utf-8")
        (docs / "checks.md").write_text(catalogue_document(), encoding="utf-8")
        for name, written in (("metrics.md", with_table), ("prometheus-alerts.yaml", with_rules)):
            page = docs / name
            page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


def with_table(text: str) -> str:
    """Return the page about metrics with the table as it has to be."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table_of_definitions()}\n{END}{after}"

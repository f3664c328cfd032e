"""The answer in the first row of the first page."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.pages.states import Severity
from console.overview.queries import Overview
from console.replication.flows.queries import LAG, LAG_MS, RATE
from jobs.numbers import format_count, format_rate, format_span_ms


def overview_facts(picture: Overview) -> list[dict[str, Any]]:
    """Return what is wrong, time lag, records behind and rate as the facts component takes them."""
    serious = [f for f in picture.findings if f.severity in {Severity.CRIT, Severity.RISK}]
    wanted = [flow for flow in picture.flows if flow.is_wanted or flow.is_watched]
    worst = max(
        (flow for flow in wanted if flow.lag_ms is not None),
        key=lambda flow: flow.lag_ms or 0,
        default=None,
    )
    return [
        {
            "label": "Needs attention",
            "value": format_count(len(picture.findings)),
            "note": f"{len(serious)} serious"
            if picture.findings
            else "nothing is known to be wrong",
            "severity": picture.findings[0].severity if picture.findings else "",
        },
        {
            "label": "Furthest behind",
            "value": format_span_ms(worst.lag_ms if worst else None),
            "note": worst.name if worst else "no running flow was measured",
            "definition": LAG_MS,
            "href": reverse("replication:detail", args=[worst.pk]) if worst else "",
        },
        {
            "label": "Records behind",
            "value": format_count(_sum([flow.lag for flow in wanted])),
            "note": "all running flows together",
            "definition": LAG,
        },
        {
            "label": "Copied",
            "value": format_rate(_sum([flow.rate_per_s for flow in wanted])),
            "note": "all running flows together",
            "definition": RATE,
        },
    ]


def _sum(values: list[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None

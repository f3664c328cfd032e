"""The answer in the first row of the first page."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.frame.pages.states import Severity
from console.overview.queries import Overview
from console.replication.flows.queries import LAG, LAG_MS, RATE
from jobs.numbers import (
    format_count,
    format_least,
    format_rate,
    format_span_ms,
    largest_of,
    not_known,
    sum_of,
)


def overview_facts(picture: Overview) -> list[dict[str, Any]]:
    """Return what is wrong, time lag, records behind and rate as the facts component takes them."""
    serious = [f for f in picture.findings if f.severity in {Severity.CRIT, Severity.RISK}]
    wanted = [flow for flow in picture.flows if flow.is_wanted or flow.is_watched]
    worst = max(
        (flow for flow in wanted if flow.lag_ms is not None),
        key=lambda flow: flow.lag_ms or 0,
        default=None,
    )
    furthest = largest_of(flow.lag_ms for flow in wanted).value
    unknown = sum(flow.lag is None or flow.unknown_count > 0 for flow in wanted)
    unknown_ms = sum(flow.lag_ms is None or flow.unknown_ms_count > 0 for flow in wanted)
    notes = worst.name if worst else "", not_known(unknown_ms, len(wanted), "flows")
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
            "value": format_least(furthest, unknown_ms, format_span_ms),
            "note": "; ".join(filter(None, notes)) or "no running flow was measured",
            "definition": LAG_MS,
            "href": reverse("replication:detail", args=[worst.pk]) if worst else "",
        },
        {
            "label": "Records behind",
            "value": format_least(sum_of(flow.lag for flow in wanted).value, unknown),
            "note": not_known(unknown, len(wanted), "flows") or "all running flows together",
            "definition": LAG,
        },
        {
            "label": "Copied",
            "value": format_rate(sum_of(flow.rate_per_s for flow in wanted).value),
            "note": "all running flows together",
            "definition": RATE,
        },
    ]

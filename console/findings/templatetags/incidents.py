"""Incidents on the pages of their subjects."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from console.findings.incidents import queries
from jobs.severity import Severity

register = template.Library()


@register.inclusion_tag("findings/incidents/_affected.html", takes_context=True)
def affected_by(context: Context, period: Any = None, **subject: Any) -> dict[str, Any]:
    """`{% affected_by flow=flow %}`: the open incidents that affect it; with clusters, those of a period."""
    user = context["request"].user
    if period is None:
        found = queries.affecting(user, **subject)
    else:
        rows = queries.during(user, subject["clusters"], period.start, period.end)
        found = list(rows[: queries.MOST_NAMED + 1])
    worst = found[0].severity if found and period is None else Severity.INFO
    return {
        "incidents": found[: queries.MOST_NAMED],
        "has_more": len(found) > queries.MOST_NAMED,
        "is_past": period is not None,
        "look": "error" if worst == Severity.CRITICAL else worst,
    }

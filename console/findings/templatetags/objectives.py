"""Numbers of objectives in templates."""

from __future__ import annotations

from django import template

from jobs.numbers import format_times
from jobs.reports.values import ValueType, text_of

register = template.Library()


@register.filter
def nines(share: float | None) -> str:
    """`{{ status.target|nines }}`: a share between 0 and 1, never rounded up: 99.95 %; a dash for None."""
    return text_of(share, ValueType.AVAILABILITY)


@register.filter
def times(factor: float | None) -> str:
    """`{{ burn|times }}`: 2.4x; a dash for None."""
    return format_times(factor)

"""A line as wide as a word, drawn on the server as SVG."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.numbers import format_count

_MARGIN = 2.0


def draw_sparkline(
    values: Sequence[float | None], label: str, width: int, height: int
) -> SafeString:
    """Draw values at equal distances, from 0 or below to the highest; None leaves a gap."""
    known = [value for value in values if value is not None]
    if not known:
        return format_html(
            '<span class="sparkline sparkline--empty" title="{}">\N{EM DASH}</span>',
            "no samples yet",
        )
    text = f"{label}: " if label else ""
    now, low, high = (format_count(value) for value in (known[-1], min(known), max(known)))
    text += f"now {now}, lowest {low}, highest {high}"
    return format_html(
        '<svg class="sparkline" role="img" aria-label="{}" width="{}" height="{}" viewBox="0 0 {} {}">'
        '<title>{}</title><path d="{}"/></svg>',
        text, width, height, width, height, text, _path(values, width, height),
    )  # fmt: skip


def _path(values: Sequence[float | None], width: int, height: int) -> str:
    known = [value for value in values if value is not None]
    low, high = min(0.0, *known), max(known)
    scale = (height - 2 * _MARGIN) / ((high - low) or 1)
    step = (width - 2 * _MARGIN) / max(1, len(values) - 1)
    parts, pen = [], "M"
    for index, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = _MARGIN + index * step, height - _MARGIN - (value - low) * scale
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    # A lone point would be invisible: a line of no length with round ends is a dot.
    return " ".join(parts) + ("h.01" if len(known) == 1 else "")

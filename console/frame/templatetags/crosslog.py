"""Filters and tags of crosslog's templates."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from console.frame.pages import states, timerange
from console.frame.pages.addresses import address_of
from console.frame.pages.forms import first_wrong
from console.frame.pages.freshness import Freshness
from console.frame.pages.navigation import NavItem
from console.frame.security.access import can as may
from jobs import numbers
from jobs.numbers import format_count
from jobs.severity import Severity

register = template.Library()
register.filter(first_wrong)


@register.filter
def count(value: float | None) -> str:
    """`{{ lag|count }}`: 1,234,567; a dash for None."""
    return numbers.format_count(_number(value))


@register.filter
def span_ms(value: float | None) -> str:
    """`{{ lag_ms|span_ms }}`: 0.4 s becomes 400 ms, 4 m 41 s, 2 d 4 h; a dash for None."""
    return numbers.format_span_ms(_number(value))


@register.filter
def span_s(value: float | None) -> str:
    """`{{ age_s|span_s }}`: like `span_ms`, for seconds."""
    return numbers.format_span_s(_number(value))


@register.filter
def lasted(start: datetime | None, end: datetime | None = None) -> str:
    """`{{ run.started_at|lasted:run.finished_at }}`: 1 h 16 m; until now when there is no end."""
    if start is None:
        return numbers.DASH
    return numbers.format_span_s(((end or timezone.now()) - start).total_seconds())


@register.filter(name="bytes")
def bytes_(value: float | None) -> str:
    """`{{ rss_bytes|bytes }}`: 1.5 MiB; a dash for None."""
    return numbers.format_bytes(_number(value))


@register.filter
def rate(value: float | None) -> str:
    """`{{ rate_per_s|rate }}`: 1,240/s; a dash for None."""
    return numbers.format_rate(_number(value))


@register.filter
def percent(value: float | None) -> str:
    """`{{ share|percent }}`: a share between 0 and 1 as 99.2 %."""
    return numbers.format_percent(_number(value))


@register.filter
def or_dash(value: Any) -> Any:
    """`{{ rack|or_dash }}`: a dash for None and for an empty text; 0 and False stay."""
    return numbers.DASH if value is None or value == "" else value


@register.filter
def plainly(value: Any) -> Any:
    """`{{ setting|plainly }}`: a value of JSON as people write it: yes, no, a list with commas."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(plainly(one)) for one in value) or numbers.DASH
    if isinstance(value, dict):
        return ", ".join(f"{name}: {plainly(one)}" for name, one in value.items()) or numbers.DASH
    return or_dash(value)


@register.filter
def is_late(freshness: Freshness) -> bool:
    """`{% if freshness|is_late %}`: rounds come later than they should."""
    return freshness.is_late(timezone.now())


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """`{{ seen_at|ago }}`: "12 s ago", the exact time as a tooltip; the browser keeps counting."""
    if at is None:
        return numbers.DASH
    text = numbers.format_age(at, timezone.now())
    return format_html('<time datetime="{}" title="{}" data-ago>{}</time>', *_stamps(at), text)


@register.filter
def moment(at: datetime | None) -> SafeString | str:
    """`{{ started_at|moment }}`: 21 Nov 03:08:14 in UTC, or in local time when the reader chose that."""
    if at is None:
        return numbers.DASH
    stamp, title = _stamps(at)
    text = f"{_utc(at):%d %b %H:%M:%S}"
    return format_html('<time datetime="{}" title="{}" data-moment>{}</time>', stamp, title, text)


@register.filter
def moment_text(at: datetime) -> str:
    """`{{ bar.start|moment_text }}`: 21 Nov 03:08:14 in UTC, as plain text for labels."""
    return f"{_utc(at):%d %b %H:%M:%S}"


@register.filter
def severity(word: Any) -> str:
    """`{{ run.state|severity }}`: the severity of a state word."""
    return str(states.severity_of(word))


@register.filter
def spoken(word: Any) -> str:
    """`{{ "CAUGHT_UP"|spoken }}`: Caught up."""
    return states.spoken(word)


@register.filter
def can(user: Any, action: str) -> bool:
    """`{% if user|can:"operate" %}`: whether this person may view, operate or administer."""
    return may(user, action)  # type: ignore[arg-type]  # an unknown action raises KeyError, loudly


@register.filter
def lookup(mapping: Any, key: Any) -> Any:
    """`{{ errors|lookup:name }}`: the value of a key that is itself a variable."""
    return mapping.get(key) if mapping else None


@register.filter
def current_label(places: Iterable[NavItem]) -> str:
    """`{{ switches|current_label }}`: the label of the current place, empty when there is none."""
    return next((place.label for place in places if place.is_current), "")


@register.filter
def words(text: str) -> list[str]:
    """`{% for name in "5m 15m"|words %}`: a text cut at its blanks."""
    return text.split()


@register.filter
def range_word(name: str) -> str:
    """`{{ "15m"|range_word }}`: the name of a time range for people, 15 m."""
    return f"{name[:-1]}{numbers.NO_BREAK}{name[-1]}"


@register.simple_tag
def state(severity: str, word: Any, title: str = "") -> SafeString:
    """`{% state "warning" "Lagging" "since 03:08" %}`: a pill of icon, word and colour."""
    return format_html(
        '<span class="state {}"{}><svg viewBox="0 0 10 10" aria-hidden="true">{}</svg>{}</span>',
        severity,
        format_html(' title="{}"', title) if title else "",
        icon(severity),
        word,
    )


@register.simple_tag
def icon(severity: str) -> SafeString:
    """`{% icon "warning" %}`: the inside of a 10 x 10 picture, its shape alone tells the severity."""
    return mark_safe(states.ICONS[Severity(severity)])  # noqa: S308 - our own constant


@register.simple_tag
def state_of(word: Any, title: str = "") -> SafeString:
    """`{% state_of run.state %}`: the pill of a state word that crosslog or Kafka uses."""
    return state(str(states.severity_of(word)), states.spoken(word), title)


@register.simple_tag(takes_context=True)
def query(context: Context, **changes: Any) -> str:
    """`<a href="{% query range='6h' page=None %}">`: this URL, changed; None takes a parameter away."""
    parameters = context["request"].GET.copy()
    for name, value in changes.items():
        parameters.pop(name, None)
        if value is not None and value != "":
            parameters[name] = str(value)
    return f"?{parameters.urlencode()}"


@register.simple_tag(takes_context=True)
def in_range(context: Context, address: str) -> str:
    """`<a href="{% in_range tab.href %}">`: an address of the console, in this page's time range."""
    # Also where a template was included with "only".
    request = getattr(context, "request", None)
    return address if request is None else timerange.in_range(request, address)


@register.simple_tag(takes_context=True)
def url_in_range(context: Context, name: str, *args: Any, **query: Any) -> str:
    """`{% url_in_range 'replication:partitions' flow.pk topic=row.topic %}`: `url`, in this page's range."""
    address = address_of(name, *args)
    return in_range(context, f"{address}?{urlencode(query)}" if query else address)


@register.simple_tag(takes_context=True)
def range_around(context: Context, address: str, begin: datetime | None, end: Any = None) -> str:
    """`{% range_around href since until as around %}`: the page that shows the time around a finding.

    That of its address, else this page; empty where neither shows a range.
    """
    request = getattr(context, "request", None)
    path = address or (request.path if request else "")
    return timerange.range_around(path, begin, end or None) if begin else ""


@register.simple_tag(takes_context=True)
def zoomed_out(context: Context, shown: timerange.TimeRange) -> str:
    """`<a href="{% zoomed_out time_range %}">`: this page over twice the time."""
    none = dict.fromkeys(timerange.PARAMETERS)
    return query(context, **{**none, **shown.zoomed_out(timezone.now())})


@register.simple_tag(takes_context=True)
def runnable(context: Context, call: str) -> str:
    """`{% runnable "GET /api/v1/flows/" %}`: the call as a command, with the host of this request."""
    request = getattr(context, "request", None)
    method, _, address = call.partition(" ")
    parts = ["curl", "-H", '"Authorization: Bearer $CROSSLOG_TOKEN"']
    if method != "GET":
        parts += ["-X", method, "-H", "'Content-Type: application/json'", "-d", "@BODY.json"]
    url = request.build_absolute_uri(address) if request else address
    return " ".join([*parts, shlex.quote(url) if "'" in url else f"'{url}'"])


@register.simple_tag
def sparkline(
    values: Iterable[float | None], label: str = "", width: int = 96, height: int = 20
) -> SafeString:
    """`{% sparkline samples "Lag, last hour" %}`: a line as wide as a word; None leaves a gap."""
    return draw_sparkline(list(values), label, width, height)


def _number(value: Any) -> float | None:
    return None if value is None or value == "" else value


def _utc(at: datetime) -> datetime:
    return at.astimezone(timezone.get_default_timezone())


def _stamps(at: datetime) -> tuple[str, str]:
    utc = _utc(at)
    return utc.isoformat(timespec="milliseconds"), f"{utc:%Y-%m-%d %H:%M:%S} UTC"


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

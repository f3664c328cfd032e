"""Tags of this room's templates."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from console.availability.status.definitions import cause_words
from console.availability.status.timelines import record_url

register = template.Library()


@register.simple_tag
def caused(
    cause: str, broker: int | None, offset: int | None, log: str, source: str
) -> SafeString | str:
    """`{% caused row.cause row.cause_broker row.offset alias row.source %}`: why, linked to its record."""
    text = cause_words(cause, broker)
    href = record_url(log, offset) if source == "log" else ""
    if not href:
        return text
    return format_html('<a href="{}" title="The record of the metadata log">{}</a>', href, text)

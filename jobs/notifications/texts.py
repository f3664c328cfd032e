"""The texts of messages, in which every name is visible. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from jobs.checks.incident_texts import words_of
from jobs.notifications.message import Event, Item, Message
from jobs.numbers import format_count, format_span_s
from jobs.severity import Severity
from jobs.visible import visible_line

LONGEST_SUBJECT = 200
TEST_TITLE = "crosslog test message"


def subject_of(message: Message) -> str:
    """Return one line: "[Critical] Broker 3 of east down", "[Resolved] 12 incidents: Cluster east"."""
    if message.event is Event.TEST:
        return TEST_TITLE
    by_event = {Event.REMINDER: "Reminder", Event.RESOLVED: "Resolved"}
    mark = by_event.get(message.event, Severity(message.severity).word)
    subject = visible_line(f"[{mark}] {_headline(message)}")
    is_long = len(subject) > LONGEST_SUBJECT
    return f"{subject[: LONGEST_SUBJECT - 1]}\N{HORIZONTAL ELLIPSIS}" if is_long else subject


def body_of(message: Message, list_link: str = "") -> str:
    """Return plain text with a paragraph per incident; `list_link` leads to all incidents."""
    parts = ["\n".join(lines_of(item, message.event)) for item in message.items]
    more = message.total - len(message.items)
    if more > 0:
        parts.append(f"and {format_count(more)} more {'incident' if more == 1 else 'incidents'}")
    if list_link:
        parts.append(f"All incidents:\n{list_link}")
    return "\n\n".join(parts) + "\n"


def lines_of(item: Item, event: Event) -> list[str]:
    """Return what is said of an incident, each text on one line."""
    todo = f"What to do: {item.todo}" if item.todo and event is not Event.RESOLVED else ""
    when = "" if event is Event.TEST else _when(item)
    lines = [item.title, item.sentence, todo, when, item.link]
    return [visible_line(line) for line in lines if line]


def _headline(message: Message) -> str:
    if message.total == 1:
        return message.items[0].title
    count = f"{format_count(message.total)} incidents"
    if message.total > len(message.items):
        return f"{count}, worst: {message.items[0].title}"
    checks = {words_of(item.check) for item in message.items}
    places = {item.place for item in message.items}
    common = [one.pop() for one in (checks, places) if len(one) == 1]
    shared = ", ".join(common)
    return f"{count}: {shared}" if shared else f"{count}, worst: {message.items[0].title}"


def _when(item: Item) -> str:
    began = datetime.fromisoformat(item.began_at)
    if not item.ended_at:
        return f"{Severity(item.severity).word} since {_moment(began)}."
    ended = datetime.fromisoformat(item.ended_at)
    span = format_span_s((ended - began).total_seconds())
    return f"From {_moment(began)} to {_moment(ended)}: {span}."


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"

"""The texts of messages. Pure."""

from __future__ import annotations

from jobs.notifications.message import Message
from jobs.visible import visible_line


def subject_of(message: Message) -> str:
    """Return what a message is about, as one line."""
    first = message.items[0].title if message.items else ""
    others = f" and {message.total - 1:,} more" if message.total > 1 else ""
    return visible_line(f"{message.severity.capitalize()}, {message.event}: {first}{others}")

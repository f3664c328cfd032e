"""A notification as it is kept in the outbox: what all channels say. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

# A message names so many incidents, and counts the others.
MOST_ITEMS = 20


class Event(StrEnum):
    """What a message says of its incidents."""

    OPENED = "opened"
    WORSE = "worse"
    REMINDER = "reminder"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Item:
    """An incident; texts may hold anything that a name can hold.

    Times are ISO 8601 in UTC; `ended_at` is "" while it is open. `link` is "" without CROSSLOG_URL.
    """

    id: int
    key: str
    title: str
    sentence: str
    severity: str
    state: str
    check: str
    place: str
    subject_kind: str
    subject: str
    todo: str
    began_at: str
    ended_at: str
    link: str


@dataclass(frozen=True, slots=True)
class Message:
    """A message; `items` are the worst incidents, at most `MOST_ITEMS` of `total`.

    `group` names messages that belong together (Alertmanager's groupKey), `severity` is the worst one, `at`
    is ISO 8601. `still_open` counts incidents of the group that the channel was sent and that are open.
    """

    event: Event
    group: str
    severity: str
    total: int
    at: str
    items: Sequence[Item]
    still_open: int = 0

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Message:
        items = tuple(Item(**one) for one in told["items"])
        return cls(**{**told, "event": Event(told["event"]), "items": items})

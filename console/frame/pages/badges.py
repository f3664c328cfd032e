"""The numbers in the rail: what is wrong in each room, or how much there is; asked every few seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.cache import cache


@dataclass(frozen=True, slots=True)
class Badge:
    """A short count and the words that a screen reader adds; `is_bad` when somebody should look."""

    text: str
    words: str
    is_bad: bool = False


def count_badge(wrong: int, total: int, noun: str) -> Badge | None:
    """Return how many need attention, else how many there are; nothing where there is nothing.

    `noun` is singular and takes an s.
    """
    if wrong:
        return Badge(str(wrong), "needs attention" if wrong == 1 else "need attention", is_bad=True)
    if total:
        return Badge(str(total), noun if total == 1 else f"{noun}s")
    return None


def badge_of(user: Any, room: str) -> Badge | None:
    """Return the badge of a room for this person; a few seconds old at most.

    A room answers in `console.<room>.navigation.badge(user)`, in a constant number of queries.
    """
    ask = _asked(room)
    if ask is None or not getattr(user, "is_authenticated", False):
        return None
    key = f"rail:{room}:{user.pk}"
    known: tuple[Badge | None] | None = cache.get(key)
    if known is None:
        known = (ask(user),)
        cache.set(key, known, settings.RAIL_FRESH_S)
    return known[0]


def _asked(room: str) -> Callable[[Any], Badge | None] | None:
    name = f"console.{room}.navigation"
    if not room or find_spec(f"console.{room}") is None or find_spec(name) is None:
        return None
    badge: Callable[[Any], Badge | None] | None = getattr(import_module(name), "badge", None)
    return badge

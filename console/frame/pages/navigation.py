"""The rail: which rooms there are, what is wrong in each, where the reader is, and what can be jumped to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_safe

from console.frame.pages.timerange import in_range
from console.frame.security.access import anywhere, page


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


@dataclass(frozen=True, slots=True)
class NavItem:
    """A room in the rail, or a cluster in the switcher; `badge` is what is wrong or what is there."""

    label: str
    path: str
    is_current: bool = False
    badge: Badge | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Something to jump to: `kind` is "cluster", "topic", "group", "flow" or "page"."""

    kind: str
    label: str
    path: str
    detail: str = ""


# Rooms in the order of the rail. One that has no page yet is left out.
ROOMS = (
    ("Overview", "/"),
    ("Clusters", "/clusters/"),
    ("Replication", "/replication/"),
    ("Quorum", "/quorum/"),
    ("Availability", "/availability/"),
    ("Streams", "/streams/"),
    ("Tracing", "/tracing/"),
    ("Checks", "/checks/"),
    ("Reports", "/reports/"),
    ("Runs", "/runs/"),
    ("Schedules", "/schedules/"),
)


def list_places(user: Any, current: str) -> list[NavItem]:
    """Return the rooms that have a page, the one with the address `current` marked."""
    return [
        NavItem(label, path, _is_inside(current, path), badge_of(user, path.strip("/")))
        for label, path in ROOMS
        if _has_page(path)
    ]


def find_jumps(request: HttpRequest, words: str, limit: int = 8) -> list[SearchHit]:
    """Ask every room for what fits the words.

    A room answers in `console.<room>.navigation.find_jumps(user, words, limit)`.
    """
    return [
        jump
        for room in rooms_with("navigation")
        for jump in room.find_jumps(request.user, words, limit)
    ]


def list_switches(request: HttpRequest) -> list[NavItem]:
    """Return the clusters to switch between.

    A room answers in `console.<room>.navigation.list_switches(user)` with its clusters' pages.
    """
    rooms = [room for room in rooms_with("navigation") if hasattr(room, "list_switches")]
    return same_tab_of(
        [jump for room in rooms for jump in room.list_switches(request.user)], request.path
    )


def same_tab_of(clusters: list[SearchHit], path: str) -> list[NavItem]:
    """Return for each cluster the address that shows of it what `path` shows of its own."""
    inside = next((jump.path for jump in clusters if path.startswith(jump.path)), None)
    tab = path.removeprefix(inside).split("/")[0] if inside else ""
    return [
        NavItem(
            jump.label, f"{jump.path}{tab}/" if tab else jump.path, is_current=jump.path == inside
        )
        for jump in clusters
    ]


def rooms_with(module: str) -> Iterator[Any]:
    """Yield a module of each room that has one of this name."""
    for app in apps.get_app_configs():
        name = f"{app.name}.{module}"
        if app.name.startswith("console.") and name != __name__ and find_spec(name):
            yield import_module(name)


def _has_page(path: str) -> bool:
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


def _is_inside(current: str, path: str) -> bool:
    return current == path if path == "/" else current.startswith(path)


LONGEST_WORDS = 200


@require_safe
@page("view", anywhere)
def jumps(request: HttpRequest) -> JsonResponse:
    """Answer the palette: places that fit the words."""
    words = request.GET.get("q", "").strip()[:LONGEST_WORDS]
    found = find_jumps(request, words) if words else []
    return JsonResponse(
        {"jumps": [{**asdict(jump), "path": in_range(request, jump.path)} for jump in found]}
    )


@require_safe
@page("own")
def rail(request: HttpRequest) -> HttpResponse:
    """Answer the rooms with their counts, for the page at the address `at`."""
    places = list_places(request.user, request.GET.get("at", ""))
    return render(request, "frame/_places.html", {"places": places})

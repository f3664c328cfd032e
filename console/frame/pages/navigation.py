"""The rail: which rooms there are, which one the reader is in, and what can be jumped to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from console.frame.pages.badges import Badge, badge_of


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

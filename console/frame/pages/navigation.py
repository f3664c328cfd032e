"""Sidebar: its sections, their badges, the current one, and the search over all pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from typing import Any
from urllib.parse import unquote, urlsplit

from django.apps import apps
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import Resolver404, resolve
from django.views.decorators.http import require_safe

from console.frame.pages.search import SearchHit, rank, words_of
from console.frame.pages.timerange import in_range
from console.frame.security.access import anywhere, may_open, page


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
    """Return the badge of a section for this person; a few seconds old at most.

    It comes from `console.<room>.navigation.badge(user)`, in a constant number of queries.
    """
    count = _badge_source(room)
    if count is None or not getattr(user, "is_authenticated", False):
        return None
    key = f"sidebar:{room}:{user.pk}"
    known: tuple[Badge | None] | None = cache.get(key)
    if known is None:
        known = (count(user),)
        cache.set(key, known, settings.SIDEBAR_FRESH_S)
    return known[0]


def _badge_source(room: str) -> Callable[[Any], Badge | None] | None:
    name = f"console.{room}.navigation"
    if not room or find_spec(f"console.{room}") is None or find_spec(name) is None:
        return None
    badge: Callable[[Any], Badge | None] | None = getattr(import_module(name), "badge", None)
    return badge


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the sidebar: `key` opens it after g, `room` gives its badge, `below` is its parent."""

    label: str
    path: str
    key: str
    room: str = ""
    below: str = ""


# In the order of the sidebar; the shortcuts of the keyboard help are made from it.
SECTIONS = (
    Section("Overview", "/", "o"),
    Section("Incidents", "/incidents/", "i", "findings.incidents"),
    Section("Findings", "/findings/", "f", "findings", below="Incidents"),
    Section("Checks", "/checks/", "k", below="Incidents"),
    Section("Notifications", "/notifications/", "t", below="Incidents"),
    Section("Clusters", "/clusters/", "c", "clusters"),
    Section("Replication", "/replication/", "r", "replication"),
    Section("Quorum", "/quorum/", "q", "quorum"),
    Section("Availability", "/availability/", "a", "availability"),
    Section("Streams", "/streams/", "s"),
    Section("Analyses", "/runs/new/", "n"),
    Section("Runs", "/runs/", "u", "runs", below="Analyses"),
    Section("Reports", "/reports/", "e"),
    Section("Schedules", "/schedules/", "d"),
)
# Pages of crosslog itself and of users; those without a route are left out.
_OWN_PAGES = (
    SearchHit("events", "Recent events", "/events/", also="history restarts elections changes"),
    SearchHit("setting", "Theme and time zone", "#preferences", also="dark light auto utc local"),
    SearchHit("account", "Tokens", "/account/tokens/", also="api"),
    SearchHit("account", "Change password", "/account/password/"),
    SearchHit("users", "Users and roles", "/people/", also="people accounts rights"),
    SearchHit("users", "New user", "/people/new/", also="add person account"),
    SearchHit("users", "Audit log", "/audit/", also="trail history"),
    SearchHit("help", "Help", "/help/", also="documentation docs"),
    SearchHit("help", "API", "/api/v1/docs/", also="rest openapi"),
)


@dataclass(frozen=True, slots=True)
class NavItem:
    """A section of the sidebar, or a cluster in the switcher."""

    label: str
    path: str
    is_current: bool = False
    badge: Badge | None = None
    key: str = ""
    is_below: bool = False


def list_sections(user: Any) -> list[Section]:
    """Return the sections that this person may open."""
    return [one for one in SECTIONS if _opens(user, SearchHit("page", one.label, one.path))]


def list_places(user: Any, current: str) -> list[NavItem]:
    """Return the sidebar; the section that the address `current` is in is marked."""
    sections = list_sections(user)
    inside = [one.path for one in sections if _is_inside(current, one.path)]
    here = max(inside, key=len, default="")
    labels = {one.label for one in sections}
    return [
        NavItem(
            one.label,
            one.path,
            one.path == here,
            badge_of(user, one.room),
            one.key,
            one.below in labels,
        )
        for one in sections
    ]


def find_hits(user: Any, text: str, at: str = "", limit: int = 20) -> list[SearchHit]:
    """Return the best pages that fit the words and that the person may open.

    A room yields its hits in `console.<room>.navigation.find_hits(user, words, limit)`, in a constant
    number of queries.
    """
    words = words_of(text)
    if not words:
        return []
    hits = [SearchHit("page", one.label, one.path) for one in SECTIONS]
    hits += _OWN_PAGES
    for room in rooms_with("navigation"):
        hits += room.find_hits(user, words, limit)
    return list(islice((one for one in rank(hits, words, at) if _opens(user, one)), limit))


def _opens(user: Any, hit: SearchHit) -> bool:
    """Return whether the page of a hit is there and open to a person."""
    if hit.path.startswith("#"):
        return True
    try:
        view = resolve(unquote(urlsplit(hit.path).path)).func
    except Resolver404:
        return False
    return may_open(user, view, hit.clusters)


def list_switches(request: HttpRequest) -> list[NavItem]:
    """Return the clusters to switch between.

    They come from `console.<room>.navigation.list_switches(user)`, with the pages of the clusters.
    """
    rooms = [room for room in rooms_with("navigation") if hasattr(room, "list_switches")]
    return same_tab_of(
        [hit for room in rooms for hit in room.list_switches(request.user)], request.path
    )


def same_tab_of(clusters: list[SearchHit], path: str) -> list[NavItem]:
    """Return for each cluster the address of the tab that `path` shows of its own cluster."""
    inside = next((hit.path for hit in clusters if path.startswith(hit.path)), None)
    tab = path.removeprefix(inside).split("/")[0] if inside else ""
    return [
        NavItem(hit.label, f"{hit.path}{tab}/" if tab else hit.path, is_current=hit.path == inside)
        for hit in clusters
    ]


def rooms_with(module: str) -> Iterator[Any]:
    """Yield a module of each room that has one of this name."""
    for app in apps.get_app_configs():
        name = f"{app.name}.{module}"
        if app.name.startswith("console.") and name != __name__ and find_spec(name):
            yield import_module(name)


def _is_inside(current: str, path: str) -> bool:
    return current == path if path == "/" else current.startswith(path)


LONGEST_WORDS = 200


@require_safe
@page("view", anywhere)
def search(request: HttpRequest) -> JsonResponse:
    """Answer the palette."""
    hits = find_hits(
        request.user, request.GET.get("q", "")[:LONGEST_WORDS], request.GET.get("at", "")
    )
    shown = [
        {
            "kind": one.kind,
            "label": one.label,
            "path": in_range(request, one.path),
            "detail": one.detail,
        }
        for one in hits
    ]
    return JsonResponse({"hits": shown})


@require_safe
@page("own")
def sidebar(request: HttpRequest) -> HttpResponse:
    """Answer the sections with their counts, for the page at the address `at`."""
    places = list_places(request.user, request.GET.get("at", ""))
    return render(request, "frame/_places.html", {"places": places})

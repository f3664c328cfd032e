"""Which incidents a route sends, and when. Pure.

A clock that was set back sends nothing twice: what was sent is known by its row, not by its time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from jobs.notifications.message import Event
from jobs.patterns.matching import Matcher, glob_expression

# Two messages that incidents of a group opened are so far apart.
OPENED_EVERY = timedelta(minutes=5)
# More incidents than this at once are one message although each was to be its own.
MOST_SINGLE = 20
OPEN, SILENCED = "open", "silenced"
_EVERYTHING = {"", "*"}


class GroupBy(StrEnum):
    """Which incidents are one message."""

    INCIDENT = "incident"
    CHECK = "check"
    CLUSTER = "cluster"
    ALL = "all"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    GroupBy.INCIDENT: "Each incident",
    GroupBy.CHECK: "Incidents of a check",
    GroupBy.CLUSTER: "Incidents of a cluster",
    GroupBy.ALL: "All incidents",
}


def every_day() -> list[int]:
    """Return all weekdays; 0 is Monday."""
    return list(range(7))


@dataclass(frozen=True, slots=True)
class Route:
    """A route; `rank` is the least severity, `checks` and `subject` are globs, empty for all.

    `cluster` None: all. `starts` and `ends` None: the whole day; `ends` before `starts`: the next day.
    """

    id: int
    channels: tuple[int, ...]
    rank: int = 0
    checks: tuple[str, ...] = ()
    cluster: int | None = None
    subject: str = ""
    days: frozenset[int] = frozenset(range(7))
    starts: time | None = None
    ends: time | None = None
    time_zone: str = "UTC"
    group_by: GroupBy = GroupBy.CLUSTER
    wait_s: float = 0
    repeat_s: float = 0
    sends_resolved: bool = True
    is_enabled: bool = True

    def is_active(self, now: datetime) -> bool:
        """Return whether this is one of its days and times, by the clocks of its time zone."""
        local = now.astimezone(ZoneInfo(self.time_zone))
        day, at = local.weekday(), local.time()
        if self.starts is None or self.ends is None:
            return day in self.days
        if self.starts < self.ends:
            return day in self.days and self.starts <= at < self.ends
        began_today = day in self.days and at >= self.starts
        return began_today or ((day - 1) % 7 in self.days and at < self.ends)


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that is open, as a route sees it; `clusters` are all that it concerns."""

    id: int
    check: str
    rank: int
    state: str
    opened_at: datetime
    subject: str = ""
    title: str = ""
    clusters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """What a channel was sent of an incident; `route` None: it was removed.

    `is_over`: the incident ended, and no message says so yet.
    """

    channel: int
    incident: int
    route: int | None
    group: str
    rank: int
    first_at: datetime
    sent_at: datetime
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """A message that is due; `route` is the one that sends it, None when it was removed."""

    event: Event
    channel: int
    route: int | None
    group: str
    incidents: tuple[int, ...]


# Event, channel, route, group.
_Key = tuple[Event, int, int | None, str]
_Found = dict[_Key, list[int]]


def due_messages(
    routes: Iterable[Route],
    incidents: Sequence[OpenIncident],
    sent: Iterable[Sent],
    now: datetime,
) -> list[Due]:
    """Return what is due, in the order of routes and channels; an incident is once in a channel.

    `sent` has all about open incidents, what is over and not said, and what was opened lately.
    """
    ordered = sorted(routes, key=lambda one: one.id)
    by_pair = {(one.channel, one.incident): one for one in sent}
    lately = set[tuple[int, str]]()
    for one in by_pair.values():
        if now - OPENED_EVERY < one.first_at <= now:
            lately.add((one.channel, one.group))
    found: _Found = defaultdict(list)
    taken = set[tuple[int, int]]()
    listed = sorted((one for one in incidents if one.state != SILENCED), key=lambda one: one.id)
    for route in ordered:
        if route.is_enabled and route.is_active(now):
            for key, ids in _due_of(route, listed, by_pair, lately, taken, now):
                found[key] += ids
                taken.update((key[1], one) for one in ids)
    _add_resolved(found, by_pair, {one.id: one for one in ordered})
    return [Due(*key, tuple(ids)) for key, ids in _with_storms(found).items()]


def _due_of(
    route: Route,
    incidents: Iterable[OpenIncident],
    sent: Mapping[tuple[int, int], Sent],
    lately: set[tuple[int, str]],
    taken: set[tuple[int, int]],
    now: datetime,
) -> Iterator[tuple[_Key, list[int]]]:
    """Yield what one route sends to its channels."""
    news = list(_news(route, incidents, sent, taken, now))
    matching = _matching(route, (incident for _, _, incident in news))
    opened: dict[tuple[int, str], list[OpenIncident]] = defaultdict(list)
    for event, channel, incident in news:
        if incident.id not in matching:
            continue
        if event is Event.OPENED:
            opened[channel, _group(route, incident)].append(incident)
        else:
            known = sent[channel, incident.id]
            yield (event, channel, route.id, known.group), [incident.id]
    for (channel, group), rows in opened.items():
        is_single = route.group_by is GroupBy.INCIDENT
        waited_s = (now - min(one.opened_at for one in rows)).total_seconds()
        # A clock that was set back must not hold an incident.
        is_waiting = 0 <= waited_s < route.wait_s
        if not is_waiting and (is_single or (channel, group) not in lately):
            yield (Event.OPENED, channel, route.id, group), [one.id for one in rows]


def _news(
    route: Route,
    incidents: Iterable[OpenIncident],
    sent: Mapping[tuple[int, int], Sent],
    taken: set[tuple[int, int]],
    now: datetime,
) -> Iterator[tuple[Event, int, OpenIncident]]:
    """Yield what would be sent of each incident of a severity, whatever else the route wants."""
    repeat = timedelta(seconds=route.repeat_s)
    ranked = [one for one in incidents if one.rank >= route.rank]
    for channel in route.channels:
        for one in ranked:
            pair = (channel, one.id)
            if pair in taken:
                continue
            known = sent.get(pair)
            if known is None:
                if one.state == OPEN:
                    yield Event.OPENED, channel, one
            elif one.rank > known.rank:
                yield Event.WORSE, channel, one
            elif repeat and one.state == OPEN and now - known.sent_at >= repeat:
                yield Event.REMINDER, channel, one


def _matching(route: Route, incidents: Iterable[OpenIncident]) -> set[int]:
    """Return the incidents that a route is about; names are matched once each."""
    rows = {one.id: one for one in incidents}
    checks = _matched(route.checks, {one.check for one in rows.values()})
    if route.cluster is not None:
        rows = {key: one for key, one in rows.items() if route.cluster in one.clusters}
    rows = {key: one for key, one in rows.items() if one.check in checks}
    if route.subject in _EVERYTHING:
        return set(rows)
    texts = {text for one in rows.values() for text in (one.subject, one.title)}
    named = _matched((route.subject,), texts)
    return {key for key, one in rows.items() if one.subject in named or one.title in named}


def _matched(globs: Sequence[str], names: set[str]) -> set[str]:
    if not globs:
        return names
    matcher = Matcher(map(glob_expression, globs))
    return {one for one in names if matcher.matches(one)}


def _group(route: Route, one: OpenIncident) -> str:
    """Return the name of the messages that an incident is in."""
    match route.group_by:
        case GroupBy.INCIDENT:
            of = str(one.id)
        case GroupBy.CHECK:
            of = one.check
        case GroupBy.CLUSTER:
            of = ",".join(map(str, sorted(one.clusters)))
        case GroupBy.ALL:
            of = ""
    return f"{route.group_by}/{route.id}/{of}"


def _add_resolved(
    found: _Found, sent: Mapping[tuple[int, int], Sent], routes: Mapping[int, Route]
) -> None:
    """Add what is over; the time of day holds nothing back, and a removed route neither."""
    for _, one in sorted(sent.items()):
        route = None if one.route is None else routes.get(one.route)
        if one.is_over and (route is None or route.sends_resolved or not route.is_enabled):
            found[Event.RESOLVED, one.channel, one.route, one.group].append(one.incident)


def _with_storms(found: _Found) -> _Found:
    """Join the messages of single incidents when there are too many of them."""
    single: _Found = defaultdict(list)
    for (event, channel, route, group), ids in found.items():
        if group.startswith(f"{GroupBy.INCIDENT}/"):
            single[event, channel, route, _storm(group)] += ids
    storms = {key: ids for key, ids in single.items() if len(ids) > MOST_SINGLE}
    together = dict(found)
    for event, channel, route, group in found:
        if (event, channel, route, _storm(group)) in storms:
            del together[event, channel, route, group]
    return {**together, **storms}


def _storm(group: str) -> str:
    return f"{group.rpartition('/')[0]}/*"

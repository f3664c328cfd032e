"""Which incidents a route sends, and when. Pure.

A clock that was set back sends nothing twice: what was sent is known by its row, not by its time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    channels: Sequence[int]
    rank: int = 0
    checks: Sequence[str] = ()
    cluster: int | None = None
    subject: str = ""
    days: Collection[int] = range(7)
    starts: time | None = None
    ends: time | None = None
    time_zone: str = "UTC"
    group_by: str = GroupBy.CLUSTER
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

    `is_over`: the incident ended, and no message says so yet. `key` and `repeats` are those of its row.
    """

    channel: int
    incident: int
    route: int | None
    group: str
    rank: int
    first_at: datetime
    sent_at: datetime
    is_over: bool = False
    key: int = 0
    repeats: int = 0


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
    incidents: Iterable[OpenIncident],
    sent: Iterable[Sent],
    now: datetime,
) -> list[Due]:
    """Return what is due, in the order of routes and channels; an incident is once in a channel.

    `sent` has all about open incidents, what is over and not said, and what was opened lately.
    """
    ordered = sorted(routes, key=lambda one: one.id)
    listed = sorted((one for one in incidents if one.state != SILENCED), key=lambda one: one.id)
    plan = _Plan({(one.channel, one.incident): one for one in sent}, now)
    for route in ordered:
        if route.is_enabled and route.is_active(now):
            plan.add(route, listed)
    plan.add_resolved({one.id: one for one in ordered})
    return [Due(*key, tuple(ids)) for key, ids in _with_storms(plan.found).items()]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is found due so far; `taken` are pairs of a channel and an incident."""

    sent: Mapping[tuple[int, int], Sent]
    now: datetime
    found: _Found = field(default_factory=lambda: defaultdict(list))
    taken: set[tuple[int, int]] = field(default_factory=set)

    def add(self, route: Route, incidents: Sequence[OpenIncident]) -> None:
        """Add what a route sends to its channels."""
        news = [
            (event, channel, one)
            for channel in route.channels
            for one in incidents
            if (channel, one.id) not in self.taken
            if (event := self._event(route, one, self.sent.get((channel, one.id))))
        ]
        about = matching(route, {one.id: one for _, _, one in news})
        opened: dict[tuple[int, str], list[OpenIncident]] = defaultdict(list)
        for event, channel, one in news:
            if one.id in about and event is Event.OPENED:
                opened[channel, _group(route, one)].append(one)
            elif one.id in about:
                group = self.sent[channel, one.id].group
                self._take((event, channel, route.id, group), [one])
        lately = self._lately()
        for (channel, group), rows in opened.items():
            waited_s = (self.now - min(one.opened_at for one in rows)).total_seconds()
            # A clock that was set back must not hold an incident.
            is_waiting = 0 <= waited_s < route.wait_s
            if not is_waiting and (_is_single(group) or (channel, group) not in lately):
                self._take((Event.OPENED, channel, route.id, group), rows)

    def add_resolved(self, routes: Mapping[int, Route]) -> None:
        """Add what is over; the time of day holds nothing back, and a removed route neither."""
        for _, one in sorted(self.sent.items()):
            route = None if one.route is None else routes.get(one.route)
            if one.is_over and (route is None or route.sends_resolved or not route.is_enabled):
                key = (Event.RESOLVED, one.channel, one.route, one.group)
                self.found[key].append(one.incident)

    def _event(self, route: Route, one: OpenIncident, known: Sent | None) -> Event | None:
        if known is None:
            return Event.OPENED if one.state == OPEN else None
        if one.rank > known.rank:
            return Event.WORSE
        repeats = route.repeat_s > 0 and one.state == OPEN
        is_time = self.now - known.sent_at >= timedelta(seconds=route.repeat_s)
        return Event.REMINDER if repeats and is_time else None

    def _lately(self) -> set[tuple[int, str]]:
        """Return the channels and groups with a message of opened incidents a short time ago."""
        begin = self.now - OPENED_EVERY
        rows = self.sent.values()
        return {(one.channel, one.group) for one in rows if begin < one.first_at <= self.now}

    def _take(self, key: _Key, rows: Iterable[OpenIncident]) -> None:
        ids = [one.id for one in rows]
        self.found[key] += ids
        self.taken.update((key[1], one) for one in ids)


def matching(route: Route, rows: Mapping[int, OpenIncident]) -> set[int]:
    """Return the incidents that a route is about; a name is matched once."""
    checks = _matched(route.checks, {one.check for one in rows.values()})
    found = {
        key: one
        for key, one in rows.items()
        if one.rank >= route.rank and one.check in checks and route.cluster in {None, *one.clusters}
    }
    globs = [route.subject] if route.subject else []
    named = _matched(globs, {text for one in found.values() for text in (one.subject, one.title)})
    return {key for key, one in found.items() if one.subject in named or one.title in named}


def _matched(globs: Sequence[str], names: set[str]) -> set[str]:
    """Return the names that any of the globs matches; all names without a glob."""
    matcher = Matcher(map(glob_expression, globs))
    return {one for one in names if matcher.matches(one)} if globs else names


def _group(route: Route, one: OpenIncident) -> str:
    """Return the name of the messages that an incident is in."""
    of = {
        GroupBy.INCIDENT: str(one.id),
        GroupBy.CHECK: one.check,
        GroupBy.CLUSTER: ",".join(map(str, sorted(one.clusters))),
    }
    return f"{route.group_by}/{route.id}/{of.get(GroupBy(route.group_by), '')}"


def _is_single(group: str) -> bool:
    return group.startswith(f"{GroupBy.INCIDENT}/")


def _with_storms(found: _Found) -> _Found:
    """Join what opened of single incidents when it is too much; later messages are of the same groups."""
    sizes = Counter[_Key]()
    for key, ids in found.items():
        sizes[_storm(key)] += len(ids)
    together: _Found = defaultdict(list)
    for key, ids in found.items():
        together[_storm(key) if sizes[_storm(key)] > MOST_SINGLE else key] += ids
    return together


def _storm(key: _Key) -> _Key:
    event, channel, route, group = key
    is_joined = event is Event.OPENED and _is_single(group)
    return event, channel, route, f"{group.rpartition('/')[0]}/*" if is_joined else group

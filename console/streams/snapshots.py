"""A stored application with everything that its pages and routes reckon from it, each part once.

The last ones stay in memory until something newer is collected: unpacking 5,000 tasks takes longer than to
show a page of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from console.streams.models import StreamsApplication, StreamsSnapshot
from jobs.streams.answers import ProcessAnswer, all_metadata
from jobs.streams.application import Application, Protocol, TaskId
from jobs.streams.assembly import fitting, with_description
from jobs.streams.lag import (
    NOT_KEPT,
    RestoreCost,
    StandbyLag,
    StateOfTask,
    restore_costs,
    standby_lags,
    states_of_tasks,
)
from jobs.streams.metadata_state import MetadataState, NotKnowable, metadata_state
from jobs.streams.observation import Facts
from jobs.streams.stored import OtherForm, unpack_application, unpack_facts
from jobs.streams.topology.described import DescribedTopology
from jobs.streams.topology.fitting import FITS, Fit
from jobs.streams.topology.from_broker import read_broker_text
from jobs.streams.topology.reading import DescriptionError, read_description

T = TypeVar("T")
# Of the largest applications each takes some tens of megabytes.
MOST_KEPT = 4


class Picture:
    """An application as it was last seen whole; without any snapshot it has no tasks."""

    def __init__(
        self,
        row: StreamsApplication,
        snapshot: StreamsSnapshot | None,
        before: Picture | None = None,
    ) -> None:
        """Take over from `before`, a picture of the same assignment, what offsets do not change."""
        self._row, self._snapshot = row, snapshot
        self._reckoned: dict[str, Any] = {}
        self.results: dict[str, Any] = {} if before is None else before.results
        if before is not None:
            self.application, self.joined = before.application, before.joined

    def once(self, name: str, reckon: Callable[[], T]) -> T:
        """Return what was reckoned under a name from these offsets before, else reckon it."""
        return _once(self._reckoned, name, reckon)

    def lasting(self, name: str, reckon: Callable[[], T]) -> T:
        """Return what was reckoned under a name from this assignment before, else reckon it."""
        return _once(self.results, name, reckon)

    @property
    def taken_at(self) -> datetime | None:
        """When the newest change of members or tasks was seen; None: it was never seen whole."""
        return None if self._snapshot is None else self._snapshot.taken_at

    @cached_property
    def facts(self) -> Facts:
        """Offsets and commits; empty before it was seen whole."""
        return facts_in(self._row.facts)

    @cached_property
    def joined(self) -> Facts:
        """The changelogs when the last rebalance was first seen; empty where they were not kept."""
        return NOT_KEPT if self._snapshot is None else facts_in(self._snapshot.changelogs)

    @cached_property
    def description(self) -> DescribedTopology | None:
        """What the broker has, else what was pasted; None without either."""
        return parsed(self._row.broker_description, self._row.description)

    @cached_property
    def application(self) -> Application:
        """The application, with the stores of its description."""
        seen = _unpacked(self._row, self._snapshot)
        if self.description is None or self._snapshot is None:
            return seen
        return with_description(seen, self.facts, self.description)

    @property
    def fit(self) -> Fit:
        """Whether the description is that of what runs; without one nothing differs."""
        if self.description is None:
            return FITS
        return fitting(self.application, self.facts, self.description)[1]

    @property
    def cautions(self) -> list[str]:
        """What is missing or doubtful, as of the last round, and why the description is not used."""
        return [*self._row.cautions, *filter(None, [self.fit.caution])]

    @cached_property
    def states(self) -> dict[TaskId, StateOfTask]:
        return states_of_tasks(self.application, self.facts)

    @property
    def standby_lags(self) -> tuple[StandbyLag, ...]:
        """How far copies were behind at most when their joins were first seen."""
        return self.lasting("standby_lags", lambda: standby_lags(self.application, self.joined))

    @cached_property
    def restore_costs(self) -> tuple[tuple[RestoreCost, RestoreCost], ...]:
        """What the loss of each instance costs now, and cost when the last rebalance was first seen."""

        def then() -> tuple[RestoreCost, ...]:
            states = states_of_tasks(self.application, self.joined)
            return restore_costs(self.application, states, self.standby_lags)

        costs = restore_costs(self.application, self.states)
        return tuple(zip(costs, self.lasting("costs_then", then), strict=True))

    @property
    def truth(self) -> tuple[ProcessAnswer, ...]:
        return self.lasting("truth", lambda: all_metadata(self.application))

    @property
    def answered(self) -> MetadataState | NotKnowable:
        """What the application itself answers."""
        return self.lasting("answered", lambda: metadata_state(self.application))


def _once(known: dict[str, Any], name: str, reckon: Callable[[], T]) -> T:
    if name not in known:
        known[name] = reckon()
    found: T = known[name]
    return found


def picture_of(row: StreamsApplication) -> Picture:
    """Return the newest picture of an application; one query when nothing is newer."""
    found = row.snapshots.defer("content", "changelogs").order_by("-pk").first()
    assignment = _assignment(row, found)
    with _lock:
        kept = _kept.get(row.pk)
        if kept is not None and kept.key == (assignment, row.facts_at):
            _kept.move_to_end(row.pk)
            return kept.picture
    full = StreamsApplication.objects.get(pk=row.pk)
    if kept is not None and kept.key[0] == assignment:
        made = Picture(full, found, kept.picture)
    else:
        made = Picture(full, found and StreamsSnapshot.objects.get(pk=found.pk))
    with _lock:
        _kept[row.pk] = _Kept((assignment, row.facts_at), made)
        _kept.move_to_end(row.pk)
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return made


def picture_at(row: StreamsApplication, snapshot: StreamsSnapshot) -> Picture:
    """Return the picture of a whole row and its newest snapshot, with what is in memory of it; no query."""
    assignment, kept = _assignment(row, snapshot), _kept.get(row.pk)
    if kept is None or kept.key[0] != assignment:
        return Picture(row, snapshot)
    return (
        kept.picture if kept.key[1] == row.facts_at else Picture(row, snapshot, before=kept.picture)
    )


_Assignment = tuple[tuple[int, str] | None, tuple[str, str]]


def _assignment(row: StreamsApplication, found: StreamsSnapshot | None) -> _Assignment:
    texts = (row.broker_description, row.description)
    return None if found is None else (found.pk, found.fingerprint), texts


class _Kept(NamedTuple):
    key: tuple[_Assignment, datetime | None]
    picture: Picture


_kept: OrderedDict[int, _Kept] = OrderedDict()
_lock = threading.Lock()


def parsed(broker_text: str, pasted: str) -> DescribedTopology | None:
    """Return the description that is used: that of the broker, else the pasted one.

    None without one, or one that this version does not read.
    """
    try:
        return read_broker_text(broker_text) or (read_description(pasted) if pasted else None)
    except DescriptionError:
        return None


def described(application: Application, facts: Facts, broker_text: str, pasted: str) -> Application:
    """Return an application with the stores of its description, if it has one."""
    description = parsed(broker_text, pasted)
    return application if description is None else with_description(application, facts, description)


def facts_in(packed: bytes | memoryview) -> Facts:
    """Return stored facts; `NOT_KEPT` without any, or in a form that this version does not read."""
    try:
        return unpack_facts(bytes(packed)) if packed else NOT_KEPT
    except OtherForm:
        return NOT_KEPT


def _unpacked(row: StreamsApplication, snapshot: StreamsSnapshot | None) -> Application:
    if snapshot is not None:
        try:
            return unpack_application(bytes(snapshot.content))
        except OtherForm:
            # The next round writes it in the form of this version.
            pass
    at_ms = int(row.last_seen_at.timestamp() * 1000)
    protocol = Protocol(row.protocol)
    return Application(row.application_id, protocol, row.state, at_ms, (), {}, {}, {}, None, {})

"""Logs, flows and clusters that analyses can read: the app that keeps them registers itself, in
`AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from jobs.spark.analyses.analysis import ArgumentType

# How messages name them.
NOUNS: Mapping[ArgumentType, str] = {
    ArgumentType.LOG: "metadata log",
    ArgumentType.FLOW: "flow",
    ArgumentType.CLUSTER: "cluster",
    ArgumentType.EXTRACTOR: "extractor",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A log, flow or cluster that can be asked about.

    `name` is how people write it, `subject` what its runs are about ("log:3"), `clusters` whose rights count
    (none: those everywhere). `folder` is its archive: of a log, or of a flow's offset syncs; None: it has
    none. `resource` makes what a job gets for it, see `ArgumentType`; it raises InvalidFields for settings
    that do not hold.
    """

    name: str
    label: str
    subject: str
    clusters: Collection[int]
    folder: Path | None = None
    resource: Callable[[], Mapping[str, Any]] = dict


class Sources(Protocol):
    """Finds sources of one type; a module can be one."""

    def list_sources(self, user: Any) -> list[Source]:
        """Return those that a person may see, by name."""
        ...

    def get_source(self, name: str) -> Source | None:
        """Return one by its name, without a check of rights; None when there is none."""
        ...


_REGISTERED: dict[ArgumentType, Sources] = {}


def register(type_: ArgumentType, sources: Sources) -> None:
    """Make the logs, flows or clusters of a room known."""
    _REGISTERED[type_] = sources


class ReadEvents(Protocol):
    """Reads recorded events of clusters, see `console.overview.analysis_events`."""

    def __call__(
        self, user: Any, clusters: Collection[int], since: datetime, until: datetime, most: int
    ) -> list[dict[str, Any]]:
        """Return events that every person who may see the clusters may see, oldest first."""
        ...


_READ_EVENTS: list[ReadEvents] = []


def register_events(read: ReadEvents) -> None:
    """Make known how recorded events are read."""
    _READ_EVENTS[:] = [read]


def read_events(
    user: Any, found: Sequence[Source], since: datetime, until: datetime, most: int
) -> list[dict[str, Any]]:
    """Return recorded events of the clusters of some sources; none where no room reads events."""
    clusters = {pk for one in found for pk in one.clusters}
    return [event for read in _READ_EVENTS for event in read(user, clusters, since, until, most)]


def list_sources(type_: ArgumentType, user: Any) -> list[Source]:
    """Return what a person may see of a type."""
    return _REGISTERED[type_].list_sources(user)


def get_source(type_: ArgumentType, name: str) -> Source | None:
    """Return a log, flow or cluster by its name; None when there is none."""
    return _REGISTERED[type_].get_source(name)


def subject_of(found: Sequence[Source]) -> str:
    """Return what a run about these sources is about; empty: its rights are those everywhere.

    Who sees a run is said by one subject: several sources share one only where the same clusters count.
    """
    clusters = {frozenset(one.clusters) for one in found}
    is_one = len(found) == 1 or (len(clusters) == 1 and frozenset() not in clusters)
    return found[0].subject if found and is_one else ""

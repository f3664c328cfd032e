"""Where a changelog really has a key, read from the cluster with a small budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.streams.answers import KeyAnswer
from jobs.streams.application import Application
from jobs.streams.collection.changelog_search import (
    ChangelogSearch,
    SoughtKey,
    key_in_changelog,
    search_for,
)
from jobs.streams.lookup.candidates import NOT_SEEN, SeenPlaces, either

BUDGET_S = 8.0
LARGEST_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 5.0


class ChangelogDoor(Protocol):
    """A search of one changelog; a fault of the cluster is the reason in its answer."""

    def __call__(
        self,
        connection: Connection,
        topic: str,
        sought: SoughtKey,
        partitions: int,
        budget_s: float,
    ) -> ChangelogSearch:
        """Return what was found."""
        ...


@dataclass(frozen=True, slots=True)
class ChangelogFinding:
    """Which partitions have the key with a value, which were not read, and what that means."""

    topic: str
    partitions: tuple[int, ...]
    unread: tuple[int, ...]
    newest_ms: int | None
    is_as_expected: bool | None
    sentence: str


def search_cluster(
    connection: Connection, topic: str, sought: SoughtKey, partitions: int, budget_s: float
) -> ChangelogSearch:
    """Search the real cluster; may raise `ClusterFault` before anything was read."""
    with ClusterClient(connection, timeout_s=_TIMEOUT_S) as client:
        return key_in_changelog(
            client, topic, sought, partitions, budget_s=budget_s, largest_bytes=LARGEST_BYTES
        )


def look_in_changelog(
    connection: Connection,
    application: Application,
    answer: KeyAnswer,
    search: ChangelogDoor = search_cluster,
) -> tuple[ChangelogFinding, SeenPlaces]:
    """Return which partitions of the store's changelog have the key; raises `ClusterFault`."""
    asked = search_for(application, answer)
    if asked is None:
        store = answer.store
        text = f"{store.name} has no changelog that is seen, so there is nothing to compare with."
        return ChangelogFinding(store.changelog or "", (), (), None, None, text), NOT_SEEN
    found = search(connection, *asked, BUDGET_S)
    expected = tuple(one.partition for one in answer.possible)
    return _told(asked[0], expected, found), found.seen


def _told(topic: str, expected: tuple[int, ...], found: ChangelogSearch) -> ChangelogFinding:
    live = partitions = found.seen.partitions
    newest_ms = max((hit.timestamp_ms for hit in found.hits), default=None)
    is_as_expected = {*partitions} <= {*expected} if live and expected else None
    if live:
        sentence = _where(topic, expected, partitions)
    elif found.hits:
        sentence = f"The last record of the key in {topic} is a deletion."
    elif found.unread:
        sentence = (
            f"The key was not found in {len(found.read)} partitions of {topic}; "
            f"{len(found.unread)} were not read ({found.reason or 'no answer'})."
        )
    else:
        sentence = f"{topic} does not have the key."
    unread = () if live else found.unread
    return ChangelogFinding(topic, partitions, unread, newest_ms, is_as_expected, sentence)


def _where(topic: str, expected: tuple[int, ...], partitions: tuple[int, ...]) -> str:
    text = f"{topic} has the key in partition {either(partitions, 'and')}"
    if not expected or {*partitions} <= {*expected}:
        return f"{text}."
    return (
        f"{text}, not in partition {either(expected)}: a custom partitioner placed it, or the key has "
        "another format."
    )

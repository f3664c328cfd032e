"""Look a key up in a changelog: where Kafka Streams says that it is, and wherever else it may be."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.topic_reader import TopicRecord, read_topic_from

LARGEST_BYTES = 1 << 30
MOST_HITS = 100


class KeyForm(StrEnum):
    """What a store writes behind the key that was asked for."""

    EXACT = "exact"
    WINDOW = "window"
    SESSION = "session"


# A window: INT64 start, INT32 sequence; a session: INT64 end, INT64 start.
_SUFFIX_BYTES = {KeyForm.EXACT: 0, KeyForm.WINDOW: 12, KeyForm.SESSION: 16}


@dataclass(frozen=True, slots=True)
class SoughtKey:
    """A key as its serializer wrote it, without a window, and the partition where it is expected."""

    key: bytes
    partition: int
    form: KeyForm = KeyForm.EXACT


@dataclass(frozen=True, slots=True)
class ChangelogHit:
    """The last record of a key; `key` are the bytes with their window, `value_bytes` None: deleted."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value_bytes: int | None


@dataclass(frozen=True, slots=True)
class ChangelogSearch:
    """What a search found: the newest windows or sessions, the newest last; `has_more`: there were more.

    `read` are the partitions that were read to their ends, `unread` those that were not, for the `reason`:
    the key may be in them. `read_bytes` counts keys and values.
    """

    hits: tuple[ChangelogHit, ...]
    has_more: bool
    read: tuple[int, ...]
    unread: tuple[int, ...]
    read_bytes: int
    reason: str = ""


def key_in_changelog(
    client: ClusterClient,
    topic: str,
    sought: SoughtKey,
    partitions: int,
    *,
    budget_s: float,
    largest_bytes: int = LARGEST_BYTES,
) -> ChangelogSearch:
    """Read the expected partition to its end, then the others while no such key with a value was seen.

    Committed records only; the last one of a key counts. Reading ends when the budget or `largest_bytes` are
    used up; a partition of which nothing comes costs the client's own timeout besides. A fault of the cluster
    becomes the `reason`.
    """
    search = _Search(sought, time.monotonic() + budget_s, largest_bytes)
    read: list[int] = []
    reason = ""
    # One after the other: what was read to its end is known at any time.
    for number in (sought.partition, *(n for n in range(partitions) if n != sought.partition)):
        if search.has_value:
            reason = "the key was found before"
            break
        try:
            if read_topic_from(client, topic, {number: 0}, search.take) is None:
                reason = "the topic does not exist"
                break
        except _EnoughError as enough:
            reason = str(enough)
            break
        except ClusterFault as fault:
            reason = fault.message
            continue
        read.append(number)
    unread = [number for number in range(partitions) if number not in read]
    return search.result(read, unread, reason)


class _EnoughError(Exception):
    """The search may not read any more."""


class _Search:
    """The records of one key, of those that are taken one by one."""

    def __init__(self, sought: SoughtKey, ends_at_s: float, largest_bytes: int) -> None:
        self._key = sought.key
        self._size = len(sought.key) + _SUFFIX_BYTES[sought.form]
        self._ends_at_s = ends_at_s
        self._largest_bytes = largest_bytes
        self._read_bytes = 0
        self._hits: dict[tuple[int, bytes], ChangelogHit] = {}
        self._has_more = False

    @property
    def has_value(self) -> bool:
        return any(hit.value_bytes is not None for hit in self._hits.values())

    def take(self, record: TopicRecord) -> None:
        found, value = record.key or b"", record.value
        value_bytes = None if value is None else len(value)
        self._read_bytes += len(found) + (value_bytes or 0)
        if len(found) == self._size and found.startswith(self._key):
            partition = record.partition
            # Again at the end: the dictionary stays in the order of the last records.
            self._hits.pop((partition, found), None)
            self._hits[partition, found] = ChangelogHit(
                partition, record.offset, record.timestamp_ms or 0, found, value_bytes
            )
            if len(self._hits) > MOST_HITS:
                self._hits.pop(next(iter(self._hits)))
                self._has_more = True
        if self._read_bytes > self._largest_bytes:
            raise _EnoughError(f"{self._largest_bytes} bytes were read")
        if time.monotonic() > self._ends_at_s:
            raise _EnoughError("the time was over")

    def result(self, read: list[int], unread: list[int], reason: str) -> ChangelogSearch:
        return ChangelogSearch(
            tuple(self._hits.values()),
            self._has_more,
            tuple(sorted(read)),
            tuple(unread),
            self._read_bytes,
            reason if unread else "",
        )

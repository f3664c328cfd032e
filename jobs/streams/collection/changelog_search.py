"""Look a key up in a changelog: where Kafka Streams says that it is, and wherever else it may be."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.topic_reader import TopicRecord, read_topic_from
from jobs.streams.answers import KeyAnswer
from jobs.streams.application import Application
from jobs.streams.lookup.candidates import SeenPlaces

LARGEST_BYTES = 1 << 30
MOST_HITS = 100


class KeyForm(StrEnum):
    """What a store writes behind the requested key."""

    EXACT = "exact"
    WINDOW = "window"
    SESSION = "session"
    EITHER = "window or session"
    ANY = "any"


# A window: INT64 start, INT32 sequence; a session: INT64 end, INT64 start.
_SUFFIX_BYTES = {KeyForm.EXACT: 0, KeyForm.WINDOW: 12, KeyForm.SESSION: 16}
_INT64 = 8
_FORMS = {"window or session": KeyForm.EITHER, None: KeyForm.ANY}


@dataclass(frozen=True, slots=True)
class SoughtKey:
    """A key as its serializer wrote it, without a window, and where it is expected: there, or in `others`."""

    key: bytes
    partition: int
    form: KeyForm = KeyForm.EXACT
    others: tuple[int, ...] = ()

    def is_in(self, found: bytes) -> bool:
        """Whether a key of a changelog is this one, as it is or with a window."""
        if not found.startswith(self.key):
            return False
        rest = found[len(self.key) :]
        if self.form in _SUFFIX_BYTES:
            return len(rest) == _SUFFIX_BYTES[self.form]
        if len(rest) == _SUFFIX_BYTES[KeyForm.EXACT]:
            return self.form is KeyForm.ANY
        # A time begins with a zero for some 2,000 centuries: else this is the rest of a longer key.
        first, second = rest[:_INT64], rest[_INT64:]
        if len(rest) == _SUFFIX_BYTES[KeyForm.SESSION]:
            return first[0] == second[0] == 0 and second <= first
        return len(rest) == _SUFFIX_BYTES[KeyForm.WINDOW] and first[0] == 0


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

    @property
    def seen(self) -> SeenPlaces:
        """The partitions that have the key with a value."""
        live = {hit.partition for hit in self.hits if hit.value_bytes is not None}
        return SeenPlaces(tuple(sorted(live)), self.unread)


def search_for(application: Application, answer: KeyAnswer) -> tuple[str, SoughtKey, int] | None:
    """Return topic, key and partitions for `key_in_changelog`; None without a changelog that is seen."""
    store = answer.store
    count = application.topic_partitions.get(store.changelog or "", 0)
    if store.changelog is None or not count:
        return None
    first, *others = [one.partition for one in answer.possible if one.partition < count] or [0]
    form = _FORMS.get(store.kind, KeyForm.EXACT)
    return store.changelog, SoughtKey(answer.key, first, form, tuple(others)), count


def key_in_changelog(
    client: ClusterClient,
    topic: str,
    sought: SoughtKey,
    partitions: int,
    *,
    budget_s: float,
    largest_bytes: int = LARGEST_BYTES,
) -> ChangelogSearch:
    """Read the expected partitions to their ends, then others while no such key with a value was seen.

    Committed records only; the last one of a key counts. Reading ends when the budget or `largest_bytes` are
    used up; a partition of which nothing comes costs the client's own timeout besides. A fault of the cluster
    becomes the `reason`.
    """
    search = _Search(sought, time.monotonic() + budget_s, largest_bytes)
    read: list[int] = []
    reason = ""
    # One after the other: what was read to its end is known at any time.
    expected = (sought.partition, *sought.others)
    for number in (*expected, *(n for n in range(partitions) if n not in expected)):
        if search.has_value and number not in expected:
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
        self._sought = sought
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
        if self._sought.is_in(found):
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

"""A key lookup with its trail: the question, the answer, and how old that is."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from console.accounts.audit import audit
from console.frame.errors import ActionRefused
from console.streams.models import StreamsApplication
from console.streams.snapshots import picture_of
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.streams.answers import KeyAnswer, NoSuchStore, metadata_for_key
from jobs.streams.application import Application
from jobs.streams.collection.changelog_search import (
    ChangelogSearch,
    SoughtKey,
    key_in_changelog,
    search_for,
)
from jobs.streams.documents import key_answer_mapping
from jobs.streams.keys import BadKey, KeyFormat, key_bytes
from jobs.streams.lookup.candidates import NOT_SEEN, SeenPlaces, either
from jobs.wire.batches.hashes import Partitioner

# Where a changelog really has a key, read from the cluster with a small budget.

BUDGET_S = 8.0
LARGEST_BYTES = 64 * 1024 * 1024
_TIMEOUT_S = 5.0


# Searches one changelog; a fault of the cluster is the reason in its answer.
Search = Callable[[Connection, str, SoughtKey, int, float], ChangelogSearch]


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
    search: Search = search_cluster,
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


LONGEST_KEY = 10_000
ACTION = "streams.key_lookup"


@dataclass(frozen=True, slots=True)
class KeyQuestion:
    """A lookup; `key` is the text that a user typed."""

    store: str
    key: str
    key_format: KeyFormat = KeyFormat.UTF_8
    check_changelog: bool = False
    partitioner: Partitioner = Partitioner.MURMUR2


@dataclass(frozen=True, slots=True)
class LookedUp:
    """An answer; the assignment holds since `taken_at` and was last seen at `seen_at`."""

    answer: KeyAnswer
    state: str
    taken_at: datetime | None
    seen_at: datetime | None
    cautions: tuple[str, ...]
    changelog: ChangelogFinding | None

    def to_mapping(self, row: StreamsApplication) -> dict[str, Any]:
        """Return the document of REST."""
        return {
            "cluster": row.cluster.alias,
            "application": row.application_id,
            "state": self.state,
            "taken_at": self.taken_at,
            "seen_at": self.seen_at,
            **key_answer_mapping(self.answer),
            "cautions": list(self.cautions),
            "changelog": None if self.changelog is None else asdict(self.changelog),
        }


def look_up(
    row: StreamsApplication, question: KeyQuestion, search: Search = search_cluster
) -> LookedUp:
    """Return where a key is, and write the lookup to the audit log, without the key.

    Raises `InvalidFields` (`store`, `key`), and `ActionRefused` when the changelog cannot be read.
    """
    picture = picture_of(row)
    try:
        key = key_bytes(question.key, question.key_format)
        by = question.partitioner
        answer = metadata_for_key(picture.application, question.store, key, partitioner=by)
    except BadKey as bad:
        raise InvalidFields({"key": str(bad)}) from None
    except NoSuchStore as absent:
        raise InvalidFields({"store": str(absent)}) from None
    _write_trail(row, question, key)
    found = None
    if question.check_changelog:
        try:
            connection = row.cluster.connection()
            found, seen = look_in_changelog(connection, picture.application, answer, search)
            answer = metadata_for_key(picture.application, question.store, key, seen, by)
        except ClusterFault as fault:
            raise ActionRefused(fault.code, f"{fault.message} {fault.hint}".strip()) from None
    cautions = (*answer.cautions, *_age_caution(row, picture.application.state))
    return LookedUp(answer, row.state, picture.taken_at, row.facts_at, cautions, found)


def digest_of(key: bytes) -> str:
    """Return the keyed hash of a key for the audit log: short keys cannot be guessed without the secret."""
    secret = f"crosslog.streams.lookup:{settings.SECRET_KEY}".encode()
    return hmac.new(secret, key, hashlib.sha256).hexdigest()


def _write_trail(row: StreamsApplication, question: KeyQuestion, key: bytes) -> None:
    told = {
        "store": question.store,
        "key_hmac_sha256": digest_of(key),
        "key_format": question.key_format.value,
        "partitioner": question.partitioner.value,
        "check_changelog": question.check_changelog,
    }
    audit(ACTION, row.application_id, after=told, cluster=row.cluster.alias)


def _age_caution(row: StreamsApplication, shown: str) -> tuple[str, ...]:
    if row.state == shown:
        return ()
    return (f"The group is {row.state} now: the answer is of when it was last {shown}.",)

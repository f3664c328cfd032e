"""Narrows a certificate to one offset by comparing the records of both sides between two offset syncs.

Both sides hold the same records in the same order, so the first is the copy of the first. That holds only
where every record's hash of key and value agrees and none is there twice; else the bounds stay as they were.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.record_fingerprints import RecordFingerprint, read_fingerprints
from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.translation.sync_history import Certificate

MOST_RECORDS = 10_000
MATCHED = "The records of both sides between the two offset syncs are the same: {} compared."
TOO_MANY = "There are more than {:,} records between the offset syncs: too many to compare."
TWICE = "A record occurs twice between the offset syncs: which one matches is not known."
DIFFERENT = (
    "The records of both sides differ between the offset syncs: a filter, retention or compaction."
)
NOT_COPIED = "The record is not on the target yet."


# From an offset up to another one, None: as far as there are records.
Span = tuple[int, int | None]


# Returns one side's records from an offset up to another (None: as far as there are any), in order; None when
# there are too many. May raise `ClusterFault`.
FingerprintReader = Callable[[int, int | None], Sequence[RecordFingerprint] | None]


def fingerprints_of(
    client: ClusterClient, where: TopicPartition, most_records: int = MOST_RECORDS
) -> FingerprintReader:
    """Return the reader of a partition."""
    return lambda start, end: read_fingerprints(client, where, start, end, most_records)


def refine(
    found: Certificate,
    upstream: int,
    source: FingerprintReader,
    target: FingerprintReader,
    most_records: int = MOST_RECORDS,
) -> Certificate:
    """Return a certificate for the same offset, exact where the records prove it.

    The first piece of evidence must be the sync at or before the offset, the second the next one, if there
    is one; others are returned as they are. A reason says why nothing was proved. `most_records` is what the
    readers read at most.
    """
    spans = spans_of(found, upstream)
    if spans is None:
        return found
    sources, targets = source(*spans[0]), target(*spans[1])
    if sources is None or targets is None:
        return found._replace(reason=TOO_MANY.format(most_records))
    return _matched(found, upstream, sources, targets)


def spans_of(found: Certificate, upstream: int) -> tuple[Span, Span] | None:
    """Return what `refine` reads of the source and of the target; None: nothing, it proves nothing more."""
    bracket = _bracket(found, upstream)
    if bracket is None:
        return None
    before, after = bracket
    ends = (None, None) if after is None else after
    return (before.upstream + 1, ends[0]), (before.downstream + 1, ends[1])


def _bracket(found: Certificate, upstream: int) -> tuple[KeptSync, KeptSync | None] | None:
    """Return the two syncs that a certificate is based on; None when they do not enclose the offset."""
    if found.exact or not found.evidence:
        return None
    before, *rest = found.evidence
    after = rest[0] if rest else None
    is_open = after is None and found.hi is None
    encloses = before.upstream < upstream and (
        is_open
        or (
            after is not None
            and upstream < after.upstream
            and before.downstream < after.downstream == found.hi
        )
    )
    return (before, after) if encloses else None


def _matched(
    found: Certificate,
    upstream: int,
    sources: Sequence[RecordFingerprint],
    targets: Sequence[RecordFingerprint],
) -> Certificate:
    is_open = found.hi is None
    if _has_twice(sources) or _has_twice(targets):
        return found._replace(reason=TWICE)
    # Behind the last sync the target may not have all of them yet, nor may it have others.
    compared = sources[: len(targets)] if is_open else sources
    if [one.fingerprint for one in compared] != [one.fingerprint for one in targets]:
        return found._replace(reason=DIFFERENT)
    rank = bisect_left(sources, upstream, key=lambda one: one.offset)
    if rank < len(targets):
        place = targets[rank].offset
    elif found.hi is not None:
        place = found.hi
    else:
        return found._replace(reason=NOT_COPIED)
    if not found.lo <= place <= (place if found.hi is None else found.hi):
        return found._replace(reason=DIFFERENT)
    return Certificate(place, place, MATCHED.format(len(targets)), found.evidence)


def _has_twice(records: Sequence[RecordFingerprint]) -> bool:
    return len({one.fingerprint for one in records}) < len(records)

"""When a transaction holds the last stable offset for too long: the rule, without any I/O or clock.

    T1  A transaction that its coordinator has is aborted by it at its timeout: too long is that and a minute.
    T2  One that its coordinator does not have (any more) for this partition is hanging (KIP-664). A minute
        lets markers arrive that are on their way.
    T3  Where no coordinator lists the producer, it is hanging, or the right to DESCRIBE its transactional id
        is missing: too long is the longest timeout that brokers allow by default, and a minute.
    T4  Where the producer could not be asked for, as with T3.

Source: `TransactionsCommand.FindHangingTransactionsCommand`.
"""

from __future__ import annotations

from jobs.cluster.descriptions import OpenTransaction

GRACE_MS = 60_000
# transaction.max.timeout.ms
LONGEST_MS = 900_000


def held_too_long(one: OpenTransaction | None, *, since_ms: int, now_ms: int) -> bool:
    """Return whether that is so of a transaction (None: which one it is is not known).

    `since_ms` is when the offset was first seen where it is.
    """
    seen_ms = now_ms - since_ms
    if one is None or one.transactional_id is None:
        return seen_ms > LONGEST_MS + GRACE_MS
    if not one.is_known:
        return seen_ms > GRACE_MS
    if one.started_ms is None or one.timeout_ms is None:
        return seen_ms > LONGEST_MS + GRACE_MS
    return seen_ms > GRACE_MS and now_ms - one.started_ms > one.timeout_ms + GRACE_MS

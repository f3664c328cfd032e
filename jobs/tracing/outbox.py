"""Rules of an outbox: delays, events that came twice, gaps in sequences, transactions that are not whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jobs.tracing.extractors.columns import ABSENT
from jobs.wire.rebatch.table import Int64s

# What a producer may still be sending: `delivery.timeout.ms` is so long by default.
IN_FLIGHT_MS = 120_000
SHARES = (50, 95, 99, 100)
_BOUNDING = {"in_flight", "after_range", "unread", "compacted"}


class Horizon(NamedTuple):
    """Between which record times (Unix ms) every record of some topics was read.

    `start_ms` None: from the beginning of the logs. `reason`: why nothing is judged, empty: it is.
    """

    start_ms: int | None
    end_ms: int
    reason: str = ""

    def unjudged(self, before_ms: int, after_ms: int) -> str:
        """Return why a record between two record times may be there unread; empty: it is missing."""
        if self.reason:
            return self.reason
        if self.start_ms is not None and before_ms <= self.start_ms + IN_FLIGHT_MS:
            return "before_range"
        return "in_flight" if after_ms > self.end_ms - IN_FLIGHT_MS else ""


def common(horizons: Iterable[Horizon]) -> Horizon:
    """Return the horizon of several together; at least one is required."""
    found = list(horizons)
    starts = [one.start_ms for one in found if one.start_ms is not None]
    reason = next((one.reason for one in found if one.reason), "")
    return Horizon(max(starts, default=None), min(one.end_ms for one in found), reason)


class Delays(NamedTuple):
    """From commit to record time, in ms: `values` (not below 0) of the records `at`; and how many have none.

    `negative`: the record is older than its commit, so clocks differ.
    """

    values: Int64s
    at: Int64s
    negative: int
    unmeasured: int


def delays(times: Int64s, committed: Int64s, are_appended: Int64s) -> Delays:
    """Return the delays; a producer's timestamp that equals the commit time was copied from it."""
    is_known = (committed != ABSENT) & (times >= 0)
    is_known &= (are_appended != 0) | (times != committed)
    at = np.flatnonzero(is_known)
    values = times[at] - committed[at]
    late = values >= 0
    return Delays(values[late], at[late], int((~late).sum()), len(times) - len(at))


def spread(values: Int64s) -> list[int | None]:
    """Return p50, p95, p99 and the maximum by nearest rank; None without values."""
    if not len(values):
        return [None] * len(SHARES)
    ranked = np.sort(values)
    return [int(ranked[-(-share * len(ranked) // 100) - 1]) for share in SHARES]


def repeated(ids: Int64s, times: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return for each id with several records its first and second one, and their number; 0 is no id."""
    present = np.flatnonzero(ids)
    order = present[np.lexsort((times[present], ids[present]))]
    sorted_ids = ids[order]
    starts = np.flatnonzero(np.append(True, sorted_ids[1:] != sorted_ids[:-1])[: len(order)])
    counts = np.diff(np.append(starts, len(order)))
    many = counts > 1
    return order[starts[many]], order[starts[many] + 1], counts[many]


def gaps(scopes: Int64s, sequences: Int64s, times: Int64s) -> tuple[Int64s, Int64s]:
    """Return the records before and after each gap between numbers of one scope.

    Of records with the same number, the oldest is before a gap, and the newest after it.
    """
    present = np.flatnonzero(sequences != ABSENT)
    scopes, numbers = scopes[present], sequences[present]
    order = np.lexsort((-times[present], numbers, scopes))
    scopes, numbers = scopes[order], numbers[order].view(np.uint64)
    holes = np.flatnonzero((scopes[1:] == scopes[:-1]) & (numbers[1:] - numbers[:-1] > 1))
    return present[order[holes]], present[order[holes + 1]]


@dataclass(slots=True)
class Transaction:
    """A database transaction as its topic has it; times are Unix ms, None: that record was not read.

    `parts`: expected events by collection (None: unknown), in the order of the END. `place`: topic, partition
    and offset of its END, without one of its BEGIN.
    """

    place: tuple[str, int, int]
    begin_ms: int | None = None
    end_ms: int | None = None
    committed_ms: int | None = None
    parts: Sequence[tuple[str, int | None]] = ()


class Part(NamedTuple):
    """What is wrong with a transaction: `state` open, incomplete or unknown; `reason` why it is unknown."""

    key: int
    state: str
    reason: str
    collection: str
    expected: int | None
    seen: int | None

    @property
    def is_bound(self) -> bool:
        """Whether nothing can be said to be complete from its commit on."""
        return self.state != "unknown" or self.reason in _BOUNDING


def not_whole(
    transactions: Mapping[int, Transaction],
    seen: Mapping[tuple[int, str], int],
    marks: Horizon,
    events: Mapping[str, Horizon],
    *,
    is_open_end: bool,
) -> Iterator[Part]:
    """Yield the parts of transactions that are not whole, or not known to be.

    `seen`: different events by transaction and collection. `events`: the horizon of each collection whose
    topics were read. `is_open_end`: the transaction topic was read to its end.
    """
    for key, one in transactions.items():
        if one.end_ms is None:
            reason = marks.reason or ("" if is_open_end else "after_range")
            yield Part(key, "unknown" if reason else "open", reason, "", None, None)
            continue
        for collection, expected in one.parts:
            count = seen.get((key, collection), 0)
            if expected is not None and count >= expected:
                continue
            reason = "not_read"
            if collection in events:
                # The record time of an event may be that of its row: older than the BEGIN.
                began = [one.begin_ms or 0, one.committed_ms or one.begin_ms or 0]
                reason = events[collection].unjudged(min(began), one.end_ms)
                if one.begin_ms is None:
                    reason = "before_range"
            state = "unknown" if reason else "incomplete"
            yield Part(key, state, reason, collection, expected, count)


def bounding(reason: str) -> bool:
    """Return whether a gap with this reason (empty: it is one) ends what is complete."""
    return not reason or reason in _BOUNDING


def complete_up_to(newest: Iterable[int | None], bounds: Iterable[int | None]) -> int | None:
    """Return the largest commit time up to which everything is there; None: it is not known.

    `newest`: of each input, the newest commit time of what no record in flight can precede. `bounds`: commit
    times at which something is missing. More may come with those times themselves.
    """
    found = [*newest, *bounds]
    known = [one for one in found if one is not None]
    return min(known) - 1 if known and len(known) == len(found) else None

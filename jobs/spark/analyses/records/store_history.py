"""What the log of one partition says of a moment: the entries of all keys, or the changes of one key.

Kafka's log cleaner removes a record of a key only together with all earlier ones of it. So what is left of a
key are its last records, or nothing where a tombstone was its last. A key of which a record before the moment
is left is known exactly; one whose first record left is later is not, if records before the moment are gone.
A moment is an offset: the records before it count.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.visible import visible_line
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.machine_code import compiled
from jobs.wire.rebatch.columns import RecordColumns, record_columns
from jobs.wire.rebatch.table import Int64s

MOST_CHANGES = 100
# 24 bytes each, and 4 to 8 for the index: 700 MB at most.
MOST_KEYS = 20_000_000
MOST_LETTERS = 1_000
_TOMBSTONE, _LATER = -1, -2
_FULLEST = 0.7


def reduce_partition(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return a row of `partitions`, and with the option `key` (hex) rows of `changes`.

    `extra` of the work has `moment`, and `at_ms` if that was a time. `reason` says why nothing is known.
    """
    (reader,) = readers
    moment, at_ms = work.extra["moment"], work.extra["at_ms"]
    gaps = _Gaps(moment)
    is_one = options["key"] is not None
    keys = _OneKey(moment, options) if is_one else _Entries(moment)
    late, reason = 0, ""
    for chunk in reader:
        records = chunk.records
        if records is None or not len(records):
            continue
        gaps.take(records, reader.left_out)
        if at_ms is not None:
            late += int(((records.offsets >= moment) & (records.times <= at_ms)).sum())
        if (records.key_bytes < 0).any():
            records = records.only(records.key_bytes >= 0)
        if not keys.take(records):
            reason = f"It has more than {MOST_KEYS:,} keys."
            break
    gaps.end(reader.span.end, reader.left_out)
    outcome = reader.outcome
    if outcome.fault or outcome.unreadable_count or outcome.removed:
        reason = "Its log was not read as a whole."
    row = {
        "partition": reader.span.partition,
        "moment": moment,
        "log_start": reader.span.log_start,
        "removed": gaps.before + gaps.after,
        "compacted_to": gaps.last_end or None,
        "late": late,
        "reason": reason,
        "state": "unknown",
        **({} if reason else keys.told(gaps, reader.span.log_start)),
    }
    changes = keys.changes() if isinstance(keys, _OneKey) else []
    for one in changes:
        one["partition"] = reader.span.partition
    return {"partitions": pa.Table.from_pylist([row]), "changes": pa.Table.from_pylist(changes)}


class _Gaps:
    """Offsets without a record that neither markers nor aborted batches explain: removed ones.

    `before` and `after` count them beside the moment; `last_end` and `last_ms` are the first offset behind
    the last of them (0: there is none) and the time of the record there (-1: none).
    """

    def __init__(self, moment: int) -> None:
        self.before = self.after = self.last_end = 0
        self.last_ms = -1
        self._moment = moment
        self._next = 0
        self._passed: list[tuple[int, int]] = []

    def take(self, records: RecordColumns, left_out: Sequence[tuple[int, int]]) -> None:
        """Count gaps up to the last record."""
        offsets = records.offsets
        end = self._count(offsets, left_out, int(offsets[-1]))
        if end:
            self.last_end = end
            at = int(np.searchsorted(offsets, end))
            self.last_ms = int(records.times[at])

    def end(self, end: int, left_out: Sequence[tuple[int, int]]) -> None:
        """Count gaps up to the end of the log."""
        found = self._count(np.array([end], np.int64), left_out, end)
        if found:
            self.last_end, self.last_ms = found, -1

    def _count(self, offsets: Int64s, left_out: Sequence[tuple[int, int]], last: int) -> int:
        """Count what is missing up to `last`; returns where the last gap ends, 0 where there is none."""
        # Some may lie behind this chunk.
        known = {*self._passed, *left_out}
        passed = sorted(one for one in known if self._next <= one[1] and one[0] < last)
        self._passed = [one for one in known if one[1] > last]
        starts, ends = offsets, offsets + 1
        if passed:
            low, high = np.array(passed, np.int64).T
            starts, ends = np.concatenate([starts, low]), np.concatenate([ends, high + 1])
            order = np.argsort(starts, kind="stable")
            starts, ends = starts[order], np.maximum.accumulate(ends[order])
        previous = np.concatenate([[self._next], ends[:-1]])
        self._next = max(self._next, int(ends[-1]))
        are_gaps = starts > previous
        if not are_gaps.any():
            return 0
        first, behind = previous[are_gaps], starts[are_gaps]
        split = np.clip(self._moment, first, behind)
        self.before += int((split - first).sum())
        self.after += int((behind - split).sum())
        return int(behind[-1])


class _Entries:
    """The last record before the moment of every key, by a hash of 64 bits."""

    def __init__(self, moment: int) -> None:
        self._moment = moment
        self._index = np.full(1 << 13, -1, np.int32)
        # Hashes, times, and bytes of key and value.
        self._columns = [np.empty(1 << 12, np.int64) for _ in range(3)]
        # Keys, and offset and time of the first record of the newest key.
        self._seen = np.array([0, -1, -1], np.int64)

    def take(self, records: RecordColumns) -> bool:
        """Take records in the order of their offsets; False: there are too many keys."""
        count = int(self._seen[0])
        if count > MOST_KEYS:
            return False
        room = count + len(records)
        if room > len(self._columns[0]):
            for one in self._columns:
                # In place: a copy beside it would need as much memory again.
                one.resize(max(room, len(one) * 5 // 4), refcheck=False)
        if room > len(self._index) * _FULLEST:
            size = 1 << int(room / _FULLEST).bit_length()
            self._index = np.empty(0, np.int32)
            self._index = np.full(size, -1, np.int32)
            _place(self._index, self._columns[0], count)
        sizes = np.where(
            records.value_bytes < 0, _TOMBSTONE, records.key_bytes + records.value_bytes
        )
        hashes, times, kept = self._columns
        _take(
            self._index,
            hashes,
            times,
            kept,
            self._seen,
            self._moment,
            records.offsets,
            records.times,
            sizes,
            records.key_hashes,
        )
        return True

    def told(self, gaps: _Gaps, log_start: int) -> dict[str, Any]:
        """Return what is known of the moment; `entries_unknown` and `deleted_unknown` are upper bounds."""
        count, newest, newest_ms = map(int, self._seen)
        _, times, sizes = (one[:count] for one in self._columns)
        are_live = sizes >= 0
        entries = int(are_live.sum())
        later = min(int((sizes == _LATER).sum()), gaps.before)
        # To lose a key as a whole takes a tombstone after the moment, or a log that begins later.
        deleted = gaps.before if log_start else min(gaps.before, gaps.after)
        since, since_ms = max((gaps.last_end, gaps.last_ms), (newest + 1, newest_ms))
        if not gaps.before + gaps.after:
            since, since_ms = 0, -1
        timed = are_live & (times >= 0)
        return {
            "state": "range" if later + deleted else "exact",
            "entries": entries,
            "entries_unknown": later,
            "deleted_unknown": deleted,
            "bytes": int(sizes.sum(where=are_live)),
            "tombstones": int((sizes == _TOMBSTONE).sum()),
            "oldest_ms": int(times.min(where=timed, initial=1 << 62)) if timed.any() else None,
            "newest_ms": int(times.max(where=timed, initial=0)) if timed.any() else None,
            "complete_since": None if log_start else since,
            "complete_since_ms": None if log_start or since_ms < 0 else since_ms,
        }


class _OneKey:
    """The records of one key beside the moment; they are few, and are kept with what is shown of them."""

    def __init__(self, moment: int, options: Mapping[str, Any]) -> None:
        self._key = bytes.fromhex(options["key"])
        alone = encode_batch([PlacedRecord(offset=0, timestamp=0, key=self._key, value=None)])
        self._hash = int(record_columns([alone], hash_keys=True).key_hashes[0])
        self._moment = moment
        self._shows = options["show"] == "values"
        self._before: deque[dict[str, Any]] = deque(maxlen=MOST_CHANGES)
        self._after: list[dict[str, Any]] = []
        self._first: tuple[int, int] | None = None

    def take(self, records: RecordColumns) -> bool:
        """Take records in the order of their offsets."""
        for index in map(int, np.flatnonzero(records.key_hashes == self._hash)):
            if records.key(index) != self._key:
                continue
            offset, at_ms = int(records.offsets[index]), int(records.times[index])
            self._first = self._first or (offset, at_ms)
            is_before = offset < self._moment
            if is_before or len(self._after) < MOST_CHANGES // 2:
                value = records.value(index)
                row = {
                    "offset": offset,
                    "at_ms": None if at_ms < 0 else at_ms,
                    "is_tombstone": value is None,
                    "value_bytes": None if value is None else len(value),
                    "value_hash": None if value is None else hashlib.sha256(value).hexdigest(),
                    "value": shown(value) if value is not None and self._shows else None,
                }
                (self._before if is_before else self._after).append(row)
        return True

    def told(self, gaps: _Gaps, log_start: int) -> dict[str, Any]:
        """Return what is known of the key at the moment."""
        first = self._first
        is_whole = not gaps.before + gaps.after
        if self._before:
            state = "deleted" if self._before[-1]["is_tombstone"] else "value"
        elif not gaps.before or (first is None and not gaps.after and not log_start):
            state = "absent"
        else:
            state = "unknown"
        since, since_ms = (0, -1) if is_whole else first or (gaps.last_end, gaps.last_ms)
        is_told = is_whole or first is not None or not log_start
        return {
            "state": state,
            "complete_since": since if is_told else None,
            "complete_since_ms": since_ms if is_told and since_ms >= 0 else None,
        }

    def changes(self) -> list[dict[str, Any]]:
        """Return the records beside the moment, at most `MOST_CHANGES`."""
        before = list(self._before)[len(self._after) - MOST_CHANGES :]
        for one in before:
            one["place"] = "before"
        if before:
            before[-1]["place"] = "at"
        return [*before, *({**one, "place": "after"} for one in self._after)]


def shown(value: bytes) -> str:
    """Return a value as one line of text, hex where it is no UTF-8; what is too long is cut."""
    try:
        text = visible_line(value.decode())
    except UnicodeDecodeError:
        text = value.hex()
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


@compiled
def _slot(index: Any, hashes: Int64s, wanted: int) -> int:
    """Return where a hash is in the index, or would be."""
    last = len(index) - 1
    slot = (wanted ^ (wanted >> 32)) & last
    while index[slot] >= 0 and hashes[index[slot]] != wanted:
        slot = (slot + 1) & last
    return slot


@compiled
def _place(index: Any, hashes: Int64s, count: int) -> None:
    for at in range(count):
        index[_slot(index, hashes, hashes[at])] = at


@compiled
def _take(  # noqa: PLR0913, PLR0917  one loop over columns
    index: Any,
    hashes: Int64s,
    times: Int64s,
    sizes: Int64s,
    seen: Int64s,
    moment: int,
    new_offsets: Int64s,
    new_times: Int64s,
    new_sizes: Int64s,
    new_hashes: Int64s,
) -> None:
    for one in range(len(new_hashes)):
        slot = _slot(index, hashes, new_hashes[one])
        at = index[slot]
        if at < 0:
            at = seen[0]
            index[slot] = at
            hashes[at] = new_hashes[one]
            times[at] = -1
            sizes[at] = _LATER
            seen[0] += 1
            seen[1] = new_offsets[one]
            seen[2] = new_times[one]
        if new_offsets[one] < moment:
            times[at] = new_times[one]
            sizes[at] = new_sizes[one]

"""What the log of one partition says of a moment: the entries of all keys, or the changes of one key.

Kafka's log cleaner removes a record of a key only together with all earlier ones of it. So what is left of a
key are its last records, or nothing where a tombstone was its last. A key of which a record before the moment
is left is known exactly; one whose first record left is later is not, if records before the moment are gone.
A moment is an offset: the records before it count.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.visible import visible_bytes
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
_NEVER = 1 << 62

# An offset, and the time of its record, -1: none.
Place = tuple[int, int]
# The same where both may be unknown.
Since = tuple[int | None, int | None]


def reduce_partition(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Return a row of `partitions`, and with the option `key` (hex) rows of `changes`.

    `extra` of the work has `moment`. `reason` says why nothing is known.
    """
    (reader,) = readers
    span, moment = reader.span, work.extra["moment"]
    gaps = Gaps(moment)
    keys = _Entries(moment) if options["key"] is None else _OneKey(moment, options)
    reason = ""
    for chunk in reader:
        records = chunk.records
        if records is None or not len(records):
            continue
        gaps.take(records.offsets, records.times, reader.left_out)
        if not keys.take(records.only(records.key_bytes >= 0)):
            reason = f"It has more than {MOST_KEYS:,} keys."
            break
    gaps.take(np.array([span.end]), np.array([-1]), reader.left_out)
    if not reader.outcome.is_whole:
        reason = "Its log was not read as a whole."
    row = {
        "partition": span.partition,
        "moment": moment,
        "log_start": span.log_start,
        "compacted_to": gaps.last[0] or None,
        "removed": gaps.before + gaps.after,
        "reason": reason,
        "state": "unknown",
    }
    if not reason:
        told, (since, since_ms) = keys.told(gaps, span.log_start)
        row |= {**told, "complete_since": since, "complete_since_ms": since_ms}
    changes = [{**one, "partition": span.partition} for one in keys.changes()]
    return {"partitions": pa.Table.from_pylist([row]), "changes": pa.Table.from_pylist(changes)}


class Gaps:
    """Offsets without a record that neither markers nor aborted batches explain: removed ones.

    `before` and `after` count them beside the moment; `last`: the first offset behind the last of them (0:
    there is none) and the time of its record (-1: none).
    """

    def __init__(self, moment: int) -> None:
        self.before = self.after = 0
        self.last: Place = (0, -1)
        self._moment = moment
        self._next = 0
        self._passed: set[tuple[int, int]] = set()

    def take(self, offsets: Int64s, times: Int64s, left_out: Iterable[tuple[int, int]]) -> None:
        """Count what is missing up to the last of some offsets."""
        # Some may lie behind this chunk: they count in the next one.
        known = self._passed.union(left_out)
        self._passed = {one for one in known if one[1] > offsets[-1]}
        passed = np.array(sorted(known - self._passed), np.int64).reshape(-1, 2)
        starts = np.concatenate([offsets, passed[:, 0]])
        order = np.argsort(starts, kind="stable")
        ends = np.concatenate([offsets + 1, passed[:, 1] + 1])[order]
        before = np.concatenate([[self._next], np.maximum.accumulate(ends)])
        first, behind = np.maximum(before[:-1], self._next), starts[order]
        self._next = int(before.max())
        first, behind = first[behind > first], behind[behind > first]
        if len(first):
            split = np.clip(self._moment, first, behind)
            self.before += int((split - first).sum())
            self.after += int((behind - split).sum())
            end = int(behind[-1])
            self.last = end, int(times[np.searchsorted(offsets, end)])


class _Entries:
    """The last record before the moment of every key, by a hash of 64 bits."""

    def __init__(self, moment: int) -> None:
        self._moment = moment
        self._index = np.full(1 << 13, -1, np.int32)
        # A row for each key: hash, time, bytes of key and value.
        self._keys = np.empty((1 << 12, 3), np.int64)
        # How many keys, and offset and time of the first record of the newest one.
        self._seen = np.array([0, -1, -1], np.int64)

    def take(self, records: RecordColumns) -> bool:
        """Take records in the order of their offsets; False: there are too many keys."""
        count = int(self._seen[0])
        room = count + len(records)
        if room > len(self._keys):
            # In place: a copy beside it would need as much memory again.
            self._keys.resize((max(room, len(self._keys) * 5 // 4), 3), refcheck=False)
        if room > len(self._index) * _FULLEST:
            self._index = np.empty(0, np.int32)
            self._index = np.full(1 << int(room / _FULLEST).bit_length(), -1, np.int32)
            _place(self._index, self._keys, count)
        sizes = records.key_bytes + records.value_bytes
        sizes[records.value_bytes < 0] = _TOMBSTONE
        rows = np.stack([records.key_hashes, records.times, sizes, records.offsets], axis=1)
        _take(self._index, self._keys, self._seen, self._moment, rows)
        return int(self._seen[0]) <= MOST_KEYS

    def told(self, gaps: Gaps, log_start: int) -> tuple[dict[str, Any], Since]:
        """Return what is known of the moment, and since when all is; `…_unknown` are upper bounds."""
        count, newest, newest_ms = map(int, self._seen)
        times, sizes = self._keys[:count, 1], self._keys[:count, 2]
        live = sizes >= 0
        timed = live & (times >= 0)
        later = min(int((sizes == _LATER).sum()), gaps.before)
        # To lose a key as a whole takes a tombstone after the moment, or a log that begins later.
        deleted = gaps.before if log_start else min(gaps.before, gaps.after)
        told = {
            "state": "range" if later + deleted else "exact",
            "entries": int(live.sum()),
            "entries_unknown": later,
            "deleted_unknown": deleted,
            "bytes": int(sizes.sum(where=live)),
            "tombstones": int((sizes == _TOMBSTONE).sum()),
            "oldest_ms": int(times.min(where=timed, initial=_NEVER)) if timed.any() else None,
            "newest_ms": int(times.max(where=timed, initial=0)) if timed.any() else None,
        }
        return told, _since(gaps, log_start, max(gaps.last, (newest + 1, newest_ms)))

    def changes(self) -> list[dict[str, Any]]:
        return []


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
        self._first: Place | None = None

    def take(self, records: RecordColumns) -> bool:
        """Take records in the order of their offsets."""
        for index in map(int, np.flatnonzero(records.key_hashes == self._hash)):
            place = int(records.offsets[index]), int(records.times[index])
            if records.key(index) != self._key:
                continue
            self._first = self._first or place
            if place[0] < self._moment:
                self._before.append(self._row(place, records.value(index)))
            elif len(self._after) < MOST_CHANGES // 2:
                self._after.append(self._row(place, records.value(index)))
        return True

    def _row(self, place: Place, value: bytes | None) -> dict[str, Any]:
        return {
            "offset": place[0],
            "at_ms": place[1] if place[1] >= 0 else None,
            "is_tombstone": value is None,
            "value_bytes": None if value is None else len(value),
            "value_hash": None if value is None else hashlib.sha256(value).hexdigest(),
            "value": visible_bytes(value, MOST_LETTERS)
            if value is not None and self._shows
            else None,
        }

    def told(self, gaps: Gaps, log_start: int) -> tuple[dict[str, Any], Since]:
        """Return what is known of the key at the moment, and since when it is."""
        if self._before:
            state = "deleted" if self._before[-1]["is_tombstone"] else "value"
        elif gaps.before and (self._first or gaps.after or log_start):
            state = "unknown"
        else:
            state = "absent"
        # After its first record the key is known, wherever the log begins.
        start = 0 if self._first else log_start
        return {"state": state}, _since(gaps, start, self._first or gaps.last)

    def changes(self) -> list[dict[str, Any]]:
        """Return the records beside the moment, at most `MOST_CHANGES`."""
        before = list(self._before)[len(self._after) - MOST_CHANGES :]
        places = ["before"] * (len(before) - 1) + ["at"] * bool(before)
        places += ["after"] * len(self._after)
        rows = [*before, *self._after]
        return [{**row, "place": place} for row, place in zip(rows, places, strict=True)]


def _since(gaps: Gaps, log_start: int, place: Place) -> Since:
    """Return a place since when all is known, where a log has gaps; None where it is not known."""
    if not gaps.before + gaps.after:
        return 0, None
    return (None, None) if log_start else (place[0], place[1] if place[1] >= 0 else None)


@compiled
def _slot(index: Any, keys: Int64s, wanted: int) -> int:
    """Return where a hash is in the index, or would be."""
    last = len(index) - 1
    slot = (wanted ^ (wanted >> 32)) & last
    while index[slot] >= 0 and keys[index[slot], 0] != wanted:
        slot = (slot + 1) & last
    return slot


@compiled
def _place(index: Any, keys: Int64s, count: int) -> None:
    for at in range(count):
        index[_slot(index, keys, keys[at, 0])] = at


@compiled
def _take(index: Any, keys: Int64s, seen: Int64s, moment: int, rows: Int64s) -> None:
    """Take rows of hash, time, bytes and offset."""
    for row in rows:
        slot = _slot(index, keys, row[0])
        if index[slot] < 0:
            index[slot] = seen[0]
            keys[seen[0], 0], keys[seen[0], 1], keys[seen[0], 2] = row[0], -1, _LATER
            seen[0], seen[1], seen[2] = seen[0] + 1, row[3], row[1]
        if row[3] < moment:
            keys[index[slot], 1], keys[index[slot], 2] = row[1], row[2]

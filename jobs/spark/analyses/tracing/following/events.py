"""Events of slips: a task reduces records to columns and the few states that they have, the driver merges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.descriptions import TopicPartition
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.records.running import Reduced
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.tracing.digests import digest
from jobs.tracing.extractors.columns import ABSENT, Extraction
from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.slices import Codebook, Slices
from jobs.tracing.slips.events import Events, places_in
from jobs.tracing.slips.states import Reached, State, reached
from jobs.wire.rebatch.columns import RecordColumns
from jobs.wire.rebatch.table import Int64s
from jobs.wire.values import LATEST_MS

LONGEST_ID = 1_000
MOST_STEPS = 200
_MOST_TEXTS = 20_000
_ROLES = ("type", "step", "steps", "done", "remaining", "original_topic")
_LOOKUP_ROLES = {"steps": "lookup_steps"}


def read_events(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Reduce a piece of a partition to its events; of the lookup topic to its keys and steps."""
    (reader,) = readers
    span = reader.span
    is_lookup = span.topic == options["extractor"].get("lookup_topic")
    roles = {role: _LOOKUP_ROLES.get(role, "") if is_lookup else role for role in _ROLES}
    books = {role: Codebook(_MOST_TEXTS) for role in _ROLES}
    states: dict[tuple[int, ...], int] = {}
    parts, marks = list[pa.Table](), list[int]()
    problems, counts = Counter[str](), Counter[str]()
    for chunk in reader:
        records = chunk.records
        if records is None or not len(records):
            continue
        found = extraction_of(options, chunk, span)
        marks += records.times[[0, -1]].tolist()
        ids = _keys(found, records) if is_lookup else found.texts("id")
        times = found.numbers("time")
        times = np.where(times == ABSENT, records.times, times)
        has_id = ids.is_present & (ids.sizes <= LONGEST_ID)
        has_time = (times >= 0) & (times <= LATEST_MS)
        kept = np.flatnonzero(has_id & has_time)
        codes = [
            found.codes(name, books[role])[kept] if name else np.full(len(kept), -1)
            for role, name in roles.items()
        ]
        codes.append(found.texts("error").is_present[kept].astype(np.int64))
        columns = {
            "id": ids.hashes()[kept],
            "time": times[kept],
            "offset": records.offsets[kept],
            "state": _numbered(np.stack(codes), states).astype(np.int32),
            "pointer": found.texts("pointer").hashes()[kept],
            "text": _texts(ids, kept),
        }
        parts.append(pa.table(columns))
        counts.update(records=len(records), no_id=int((~has_id).sum()))
        counts["no_time"] += int((has_id & ~has_time).sum())
        problems += found.problems
    # A code of -1 is the last one.
    texts = [[*book.texts, None] for book in books.values()] + [[False, True]]
    named = [[texts[n][code] for n, code in enumerate(one)] for one in states]
    told = {"states": named, "problems": problems, "counts": counts}
    return {
        "marks": pa.table({"time": pa.array(marks, pa.int64())}),
        "events": pa.concat_tables([_NO_EVENTS, *parts]),
        "told": pa.table({"json": [orjson.dumps(told)]}),
    }


_NO_EVENTS = pa.schema(
    [(name, pa.int64()) for name in ("id", "time", "offset")]
    + [("state", pa.int32()), ("pointer", pa.int64()), ("text", pa.binary())]
).empty_table()


def _keys(found: Extraction, records: RecordColumns) -> Slices:
    keys = Slices(records.body, records.key_at, records.key_bytes)
    return found.texts("lookup_key").or_else(keys)


def _numbered(codes: Int64s, known: dict[tuple[int, ...], int]) -> Int64s:
    """Return the number of each column of codes; columns that are not known get the next ones."""
    key = np.zeros(codes.shape[1], np.int64)
    for row in codes:
        # Small again, so that no product is beyond 64 bits.
        key = np.unique(key * (int(row.max(initial=0)) + 2) + row + 1, return_inverse=True)[1]
    _, firsts, inverse = np.unique(key, return_index=True, return_inverse=True)
    numbers = [known.setdefault(tuple(codes[:, one].tolist()), len(known)) for one in firsts]
    return np.array(numbers, np.int64)[inverse]


def _texts(ids: Slices, chosen: Int64s) -> pa.Array:
    """Return the bytes of chosen ids."""
    sizes = ids.sizes[chosen]
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    content = np.frombuffer(ids.body, np.uint8)[places_in(ids.at[chosen], sizes)]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.binary(), len(chosen), buffers)


class EventsRead:
    """Events of all works, merged as they come in; about 70 bytes and its id for each.

    `places` are topics and partitions as they come. `counts`: `records`, `no_id`, `no_time`, `unresolved`
    (pointers) and `long_lists`. `done`: the works, each with the table `marks` (some of its record times).
    """

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor
        self._parts: list[pa.Table] = []
        self._states: dict[State, int] = {}
        self._lookups: list[pa.Table] = []
        self.done: list[Reduced] = []
        self.problems: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.places: list[TopicPartition] = []
        self._text: pa.ChunkedArray = pa.chunked_array([], pa.binary())

    def add(self, one: Reduced) -> None:
        """Take the tables of a work."""
        where, events = one.work.spans[0].where, one.tables["events"]
        told = orjson.loads(one.tables["told"]["json"][0].as_py())
        numbers = np.array([self._number(where.topic, row) for row in told["states"]], np.int32)
        states = pa.array(numbers[events["state"].to_numpy()], pa.int32())
        events = events.set_column(3, "state", states)
        self.problems.update(told["problems"])
        self.done.append(one._replace(tables={"marks": one.tables["marks"]}))
        if where.topic == self._extractor.lookup_topic:
            self._lookups.append(events)
            return
        if where not in self.places[-1:]:
            self.places.append(where)
        place = np.full(len(events), len(self.places) - 1)
        self._parts.append(events.append_column("place", pa.array(place)))
        self.counts.update(told["counts"])

    def events(self) -> Events:
        """Return all of them; what was added is given up."""
        table = pa.concat_tables(self._parts)
        self._parts.clear()
        self._text = table["text"]
        table = table.drop_columns(["text"])
        ids, times, offsets, states, pointers, places = (one.to_numpy() for one in table.columns)
        states, found = self._reached(states.astype(np.int64), pointers)
        return Events(ids, times, places, offsets, states, found)

    def text(self, index: int, *, is_shown: bool) -> str:
        """Return the id of an event, or its digest."""
        text = self._text[index].as_py().decode("utf-8", "replace")
        return text if is_shown else digest(text)

    def _number(self, topic: str, row: Sequence[Any]) -> int:
        type_, step, *lists, original_topic, is_failure = row
        steps, done, remaining = map(self._list, lists)
        state = State(topic, type_, step, steps, done, remaining, original_topic, is_failure)
        return self._states.setdefault(state, len(self._states))

    def _list(self, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        # The rest of a codebook is no list.
        found = orjson.loads(text) if text.startswith("[") else [""] * (MOST_STEPS + 1)
        if len(found) > MOST_STEPS:
            self.counts["long_lists"] += 1
            return None
        return tuple(found)

    def _reached(self, states: Int64s, pointers: Int64s) -> tuple[Int64s, list[Reached]]:
        """Return what events say, with the steps that they point to."""
        known = list(self._states)
        looked_up = np.full(len(states), -1, np.int64)
        if self._lookups:
            table = pa.concat_tables(self._lookups)
            # Of equal keys the last record counts.
            keys, lasts = np.unique(table["id"].to_numpy()[::-1], return_index=True)
            values = table["state"].to_numpy()[::-1][lasts]
            at = np.searchsorted(keys, pointers)
            is_found = (pointers != 0) & (np.append(keys, 0)[at] == pointers)
            looked_up[is_found] = values[at[is_found]]
        steps = [one.steps for one in known]
        has_steps = np.array([one is not None for one in [*steps, None]])
        self.counts["unresolved"] = int(((pointers != 0) & ~has_steps[looked_up]).sum())
        pairs, codes = np.unique(states * (len(known) + 1) + looked_up + 1, return_inverse=True)
        found = []
        for pair in pairs.tolist():
            state, by = divmod(pair, len(known) + 1)
            found.append(reached(self._extractor, known[state], steps[by - 1] if by else None))
        return codes.astype(np.int64), found

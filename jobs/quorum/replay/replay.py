"""The metadata log folded into the history of all partitions, millions of records a second.

The rules are those of `jobs.quorum.image.image` and `jobs.quorum.history.histories`, which tell everything
and take a hundred times as long; this tells partitions only. Compiled code folds the partitions; brokers and
topics, of which there are few, are folded here and by `fold.brokers`. Source: KIP-500, KIP-868, KIP-966.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from jobs.quorum.fold.brokers import FOLDS
from jobs.quorum.fold.fold import MetadataDelta
from jobs.quorum.history.change_builders import undated
from jobs.quorum.history.changes import AnomalyKind, BrokerChange, Cause
from jobs.quorum.replay import kernels
from jobs.quorum.replay import table as r
from jobs.quorum.replay.broker_causes import attribute
from jobs.quorum.replay.buffers import ReplayBuffers
from jobs.quorum.replay.framing import MARKERS, Bools, FramedColumns, leaves_open
from jobs.quorum.replay.history import NO_TIME, PartitionHistory
from jobs.quorum.replay.lists import add_topic
from jobs.quorum.replay.table import CAUSES, D, Int64s
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns
from jobs.wire.metadata.records import decode_metadata_record

_Key = tuple[int, int]
_MARKERS = np.array(MARKERS)


class _Part(NamedTuple):
    """Records of columns from `first` to `last` (exclusive) that are folded at once.

    `groups` are the groups of its batches; `group` is that of all of it, where they are of a transaction.
    """

    columns: MetadataColumns
    first: int
    last: int
    groups: Int64s
    borders: Int64s
    resets: Int64s
    applied: int = r.NO_OFFSET
    group: int = -1


class _Events(NamedTuple):
    """What happened to brokers in a group, and who was still shutting down behind it."""

    group: int
    rows: list[tuple[int, int, int]]
    leaving: Int64s


class Replay:
    """The state of all partitions and the history that is made on the way.

    `anomalies` counts, by `AnomalyKind`, records that Kafka itself would refuse; `gaps` are (from, to) of
    offsets that were missing: behind one, partitions are unknown until a snapshot is adopted. Of several
    replays with their own `shard` of all `shards`, each tells a part of the partitions, whole.
    """

    def __init__(self, shard: int = 0, shards: int = 1) -> None:
        self.last_offset = -1
        self.last_epoch = -1
        self._seen_offset = -1
        self.anomalies: Counter[AnomalyKind] = Counter()
        self.gaps: list[tuple[int, int]] = []
        self._buffers = ReplayBuffers()
        self._buffers.context[D.shard], self._buffers.context[D.shards] = shard, shards
        self._fold = MetadataDelta()
        self._names: list[tuple[int, int, str]] = []
        self._topics: dict[_Key, tuple[int, str]] = {}
        self._keys: dict[str, _Key] = {}
        self._events: list[_Events] = []
        self._leaving: Int64s = np.empty(0, np.int64)
        self._group = 0
        self._group_number = -1
        self._last_reset = -1
        self._transaction: list[_Part] | None = None

    def feed(
        self, framed: FramedColumns, begin: int = 0, end: int | None = None
    ) -> PartitionHistory:
        """Fold the next columns of the log, or records of them; return the rows whose cause is settled.

        Columns must come in the order of the log. Those of a group that may be incomplete are held back.
        """
        columns, _, borders, resets, joined = framed
        groups = self._grouped(framed.groups)
        until = len(columns) if end is None else end
        for first, last in self._continued(columns, joined, begin, until):
            for part in self._parts(_Part(columns, first, last, groups, borders, resets)):
                self._fold_part(part)
        return self._settled(self._group)

    def finish(self) -> PartitionHistory:
        """Return what was held back; a transaction that has not ended has changed nothing."""
        return self._settled(self._group + 1)

    def adopt(
        self, pieces: Iterable[MetadataColumns], end_offset: int, epoch: int
    ) -> PartitionHistory:
        """Become what a snapshot says, which holds all before `end_offset`; its rows have no time.

        Who calls has taken what was held back (`finish`). Nothing is said of what differs from before.
        """
        if self.last_offset < 0:
            # The log begins with this snapshot: nothing is missing.
            self.last_offset = end_offset - 1
        self.forget(end_offset)
        for columns in pieces:
            count = len(columns.batches)
            nothing = np.zeros(count, np.int64)
            self._fold_part(_Part(columns, 0, len(columns), nothing, nothing, nothing - 1))
        self._leaving = self._events[-1].leaving if self._events else np.empty(0, np.int64)
        self._events.clear()
        self.last_offset, self.last_epoch = end_offset - 1, epoch
        rows = self._buffers.take_history(self._buffers.history_rows)
        rows[:, [r.OFFSET, r.EPOCH, r.TIMESTAMP]] = end_offset - 1, epoch, NO_TIME
        rows[:, [r.BATCH_OFFSET, r.CAUSE]] = r.NO_OFFSET, CAUSES[Cause.SNAPSHOT]
        return self._history(rows)

    # Where in the log we are.

    def _grouped(self, numbers: Int64s) -> Int64s:
        """Return the group of each batch, counted over all that was fed."""
        steps = np.diff(numbers, prepend=self._group_number) != 0
        groups: Int64s = self._group + np.cumsum(steps, dtype=np.int64)
        if len(groups):
            self._group, self._group_number = int(groups[-1]), int(numbers[-1])
        return groups

    def _continued(
        self, columns: MetadataColumns, joined: Bools, start: int, end: int
    ) -> Iterator[tuple[int, int]]:
        """Yield the records that follow on what was read, in runs; what is missing makes all unknown."""
        offsets, epochs = columns.offset, columns.epoch
        steps = np.flatnonzero(~joined[start + 1 : end]) + start + 1
        runs = [start, *steps.tolist(), end] if start < end else [start]
        for begin, last in pairwise(runs):
            offset, epoch, first = int(offsets[begin]), int(epochs[begin]), begin
            # What follows on records that were known is known up to the last offset, in a later epoch, too.
            is_next = offset == self._seen_offset + 1
            self._seen_offset = int(offsets[last - 1])
            if offset <= self.last_offset and (is_next or epoch <= self.last_epoch):
                self.anomalies[AnomalyKind.OFFSET_WENT_BACK] += 1
                first += int(np.searchsorted(offsets[begin:last], self.last_offset + 1))
            elif offset <= self.last_offset or (
                offset > self.last_offset + 1 and not joined[begin]
            ):
                self.forget(offset)
            if first < last:
                self.last_offset, self.last_epoch = int(offsets[last - 1]), int(epochs[last - 1])
                yield first, last

    def forget(self, to_offset: int) -> None:
        """Make everything unknown: offsets up to `to_offset` (exclusive) are missing."""
        if to_offset > self.last_offset + 1:
            self.gaps.append((self.last_offset + 1, to_offset))
        buffers = self._buffers
        buffers.topics.rows[:, r.TOPIC_ALIVE] = 0
        buffers.slots.rows[:, r.SLOT_ALIVE] = 0
        buffers.context[D.growing_topic] = -1
        self._topics.clear()
        self._keys.clear()
        self._fold = MetadataDelta()
        self._transaction = None

    # Transactions (KIP-868).

    def _parts(self, part: _Part) -> Iterator[_Part]:
        """Cut records at the borders of transactions; those of one come when it ends."""
        columns, at = part.columns, part.first
        is_marker = np.isin(columns.type[at : part.last], _MARKERS)
        is_marker &= columns.tables.records[t.READING, at : part.last] == t.TYPED
        is_marker &= columns.is_control[at : part.last] == 0
        for row in (np.flatnonzero(is_marker) + at).tolist():
            kind = int(columns.type[row])
            if (kind == t.BEGIN_TRANSACTION) == (self._transaction is not None):
                self.anomalies[AnomalyKind.TRANSACTION] += 1
                continue
            piece = part._replace(first=at, last=row)
            at = row + 1
            if self._transaction is None:
                yield piece
                self._transaction = []
                continue
            waiting, self._transaction = [*self._transaction, piece], None
            self._end_creation(waiting)
            if kind == t.END_TRANSACTION:
                yield from self._published(waiting, row)
        rest = part._replace(first=at)
        if self._transaction is None:
            yield rest
        else:
            self._transaction.append(rest)

    def _published(self, waiting: list[_Part], end: int) -> Iterator[_Part]:
        last = waiting[-1]
        applied = int(last.columns.offset[end])
        group = int(last.groups[self._batch_of(last.columns, end)])
        for piece in waiting:
            yield piece._replace(applied=applied, group=group)

    def _end_creation(self, waiting: list[_Part]) -> None:
        """Let a border of batches, from BEGIN to END or ABORT, end the creation of a topic from before."""
        for number, piece in enumerate(waiting):
            first = piece.first - (number == 0)
            last = piece.last - (number < len(waiting) - 1)
            batch = self._batch_of(piece.columns, first)
            batch += int(piece.columns.batches[batch, t.FIRST] != first)
            if np.any(piece.borders[batch : self._batch_of(piece.columns, last) + 1]):
                begun_at = int(waiting[0].columns.offset[waiting[0].first - 1])
                self._last_reset = max(self._last_reset, begun_at)

    @staticmethod
    def _batch_of(columns: MetadataColumns, row: int) -> int:
        return int(columns.tables.records[t.BATCH, row])

    # Folding.

    def _fold_part(self, part: _Part) -> None:
        columns, tables = part.columns, part.columns.tables
        rows = tables.partitions[t.RECORD]
        at, end = np.searchsorted(rows, (part.first, part.last)).tolist()
        keep = self._prepare(part, at, end)
        address = self._buffers.address
        for record, row, is_topic in _specials(part):
            until = int(np.searchsorted(rows, record))
            kernels.merge(address, at, until)
            at = until
            if is_topic:
                self._fold_topic(columns, row, record)
            else:
                self._fold_broker(part, row, record)
        kernels.merge(address, at, end)
        del keep

    def _prepare(self, part: _Part, at: int, end: int) -> object:
        """Lay everything on the context that a part is folded with; what is returned must live as long."""
        columns, context = part.columns, self._buffers.context
        self._buffers.make_room_for(columns)
        t.lay_out(columns.content, columns.tables)
        batches = np.ascontiguousarray(columns.batches)
        resets = np.empty(columns.tables.partitions.shape[1], np.int64)
        resets[at:end] = self._resets(part)[
            columns.tables.partitions[t.RECORD, at:end] - part.first
        ]
        context[D.source], context[D.batches] = (
            columns.tables.counts.ctypes.data,
            batches.ctypes.data,
        )
        context[D.resets], context[D.groups] = resets.ctypes.data, part.groups.ctypes.data
        context[D.applied], context[D.group] = part.applied, part.group
        return batches, resets

    def _resets(self, part: _Part) -> Int64s:
        """Return for each record the last offset at which the creation of a topic could not continue."""
        columns, rows = part.columns, slice(part.first, part.last)
        continues = leaves_open(columns, part.first, part.last)
        batches = columns.tables.records[t.BATCH, rows]
        if part.applied == r.NO_OFFSET:
            begins = np.diff(batches, prepend=-1) != 0
            begins &= columns.batches[batches, t.FIRST] == np.arange(part.first, part.last)
            continues &= ~(begins & (part.borders[batches] != 0))
        found = np.where(continues, part.resets[batches], columns.offset[rows])
        found = np.maximum.accumulate(np.maximum(found, self._last_reset))
        if len(found):
            self._last_reset = int(found[-1])
        return found

    def _fold_broker(self, part: _Part, row: int, record: int) -> None:
        columns = part.columns
        decoded = decode_metadata_record(columns.value(record))
        stamp = undated(int(columns.offset[record]), int(columns.epoch[record]), None)
        group = part.group if part.group >= 0 else int(part.groups[self._batch_of(columns, record)])
        if not self._events or self._events[-1].group != group:
            self._events.append(_Events(group, [], self._leaving))
        told = self._events[-1].rows
        for change in FOLDS[decoded.type](self._fold, stamp, decoded.data):
            if isinstance(change, BrokerChange):
                cause = CAUSES.get(change.cause, r.OTHER_EVENT)
                told.append((self._buffers.history_rows, change.broker_id, cause))
            else:
                self.anomalies[AnomalyKind.UNKNOWN_BROKER] += 1
        brokers = self._fold.tables.brokers.values()
        leaving = [one.broker_id for one in brokers if one.in_controlled_shutdown]
        self._events[-1] = self._events[-1]._replace(leaving=np.array(leaving, np.int64))

    def _fold_topic(self, columns: MetadataColumns, row: int, record: int) -> None:
        key = (
            int(columns.tables.topics[t.TOPIC_HIGH, row]),
            int(columns.tables.topics[t.TOPIC_LOW, row]),
        )
        kind = int(columns.type[record])
        if kind == t.TOPIC:
            self._create(key, columns.name_of(row), int(columns.offset[record]))
        elif kind == t.REMOVE_TOPIC:
            self._remove(key, record)
        else:
            self._clear_elr(columns.name_of(row), record)

    def _create(self, key: _Key, name: str, offset: int) -> None:
        if key in self._topics or name in self._keys:
            self.anomalies[AnomalyKind.DUPLICATE_TOPIC] += 1
        _, known = self._topics.get(key, (-1, ""))
        if self._keys.get(known) == key:
            del self._keys[known]
        number = add_topic(*key, self._buffers.address)
        self._buffers.topics.rows[number, r.TOPIC_NAME] = len(self._names)
        self._names.append((*key, name))
        self._topics[key], self._keys[name] = (number, name), key
        self._buffers.context[D.growing_topic], self._buffers.context[D.growing_row] = (
            number,
            offset,
        )

    def _remove(self, key: _Key, record: int) -> None:
        number, name = self._topics.pop(key, (-1, ""))
        if number < 0:
            self.anomalies[AnomalyKind.UNKNOWN_TOPIC] += 1
            return
        self._end_partitions(number, record, is_removed=True)
        self._buffers.topics.rows[number, r.TOPIC_ALIVE] = 0
        if self._keys.get(name) == key:
            del self._keys[name]

    def _clear_elr(self, name: str, record: int) -> None:
        if name and name not in self._keys:
            self.anomalies[AnomalyKind.UNKNOWN_TOPIC] += 1
            return
        for key in [self._keys[name]] if name else list(self._topics):
            self._end_partitions(self._topics[key][0], record, is_removed=False)

    def _end_partitions(self, topic: int, record: int, *, is_removed: bool) -> None:
        """Let a record about a topic change its partitions, in their order."""
        address = self._buffers.address
        found = np.empty(
            (kernels.slots_of(address, topic, np.empty((0, 2), np.int64)), 2), np.int64
        )
        kernels.slots_of(address, topic, found)
        self._buffers.make_room_for_history(len(found) + 1)
        for slot in found[np.argsort(found[:, 0]), 1].tolist():
            kernels.end_partition(address, slot, record, int(is_removed))

    # What comes out.

    def _settled(self, before_group: int) -> PartitionHistory:
        """Return the rows of the groups before one, with the causes that brokers' events tell."""
        buffers = self._buffers
        filled = buffers.history.rows[: buffers.history_rows, r.GROUP]
        count = int(np.searchsorted(filled, before_group))
        done, at = 0, 0
        for number, events in enumerate(self._events):
            if events.group >= before_group:
                break
            first, last = np.searchsorted(filled, (events.group, events.group + 1)).tolist()
            self._attribute(at, first, ())
            self._attribute(first, last, events.rows)
            self._leaving, at, done = events.leaving, last, number + 1
        self._attribute(at, count, ())
        self._events = [_moved(events, count) for events in self._events[done:]]
        return self._history(buffers.take_history(count))

    def _history(self, rows: Int64s) -> PartitionHistory:
        buffers = self._buffers
        lists, ids = (int(buffers.context[field]) for field in (D.lists, D.ids))
        return PartitionHistory(
            rows, self._names, buffers.lists.rows[:lists], buffers.values, buffers.ids.rows[:ids]
        )

    def _attribute(self, first: int, last: int, events: Sequence[tuple[int, int, int]]) -> None:
        if first < last and (events or len(self._leaving)):
            told = np.array(events, np.int64).reshape(-1, r.EVENT_FIELDS)
            attribute(self._buffers.address, first, last, told, self._leaving)


def _moved(events: _Events, rows: int) -> _Events:
    """Return events as they stand when so many rows of history are taken away."""
    return events._replace(rows=[(at - rows, broker, cause) for at, broker, cause in events.rows])


def _specials(part: _Part) -> list[tuple[int, int, bool]]:
    """Return the records of topics and brokers in their order: (record, row of its table, is a topic)."""
    found = []
    for table, is_topic in (
        (part.columns.tables.topics, True),
        (part.columns.tables.brokers, False),
    ):
        first, last = np.searchsorted(table[t.RECORD], (part.first, part.last)).tolist()
        records = table[t.RECORD, first:last].tolist()
        found += [(record, row, is_topic) for row, record in enumerate(records, first)]
    return sorted(found)

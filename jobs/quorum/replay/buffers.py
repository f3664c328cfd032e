"""The memory of the compiled replay: tables that grow, and the context that says where they are."""

from __future__ import annotations

import numpy as np

from jobs.quorum.replay import table as r
from jobs.quorum.replay.table import D, Int32s, Int64s
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns

_FIRST_ROWS = 1 << 10


class _Grown:
    """A table whose rows stay when it becomes larger, with a hash beside it where one is needed."""

    def __init__(self, filled: int, table: int, fields: int, *, is_hashed: bool = True) -> None:
        self.filled = filled
        self.table = table
        self.is_hashed = is_hashed
        self.rows: Int64s = np.zeros((_FIRST_ROWS, fields), np.int64)
        self.index: Int64s = np.zeros(2 * _FIRST_ROWS if is_hashed else 0, np.int64)

    def grow(self, rows: int, filled: int) -> None:
        larger = np.zeros((rows, self.rows.shape[1]), np.int64)
        larger[:filled] = self.rows[:filled]
        self.rows = larger
        if self.is_hashed:
            self.index = np.zeros(1 << (2 * rows).bit_length(), np.int64)


class ReplayBuffers:
    """States, lists and history of a replay; `context` is what compiled code is given."""

    def __init__(self) -> None:
        self.context: Int64s = np.zeros(r.CONTEXT_FIELDS, np.int64)
        self.slots = _Grown(D.slots, D.slot_table, r.SLOT_FIELDS)
        self.topics = _Grown(D.topics, D.topic_table, r.TOPIC_FIELDS)
        self.lists = _Grown(D.lists, D.list_table, r.LIST_FIELDS)
        self.ids = _Grown(D.ids, D.id_table, r.ID_FIELDS)
        self.history = _Grown(D.history, D.history_table, r.HISTORY_FIELDS, is_hashed=False)
        self.values: Int32s = np.zeros(_FIRST_ROWS, np.int32)
        self.scratch: Int32s = np.zeros(_FIRST_ROWS, np.int32)
        self._longest = 0
        self.context[D.growing_topic] = -1
        # The empty list and the id of a directory that is not known are the first of their kind.
        self.context[D.lists] = self.context[D.ids] = 1
        for one in self._all():
            self._lay_out(one)
        self._lay_out_values()

    @property
    def address(self) -> int:
        """The memory address of the context."""
        return int(self.context.ctypes.data)

    @property
    def history_rows(self) -> int:
        """How many rows of history there are."""
        return int(self.context[D.history])

    def make_room_for(self, columns: MetadataColumns) -> None:
        """Make room for everything that folding these columns may add."""
        tables = columns.tables
        partitions = tables.partitions.shape[1]
        types = columns.type[tables.partitions[t.RECORD]]
        directories = np.maximum(tables.partitions[t.DIRECTORIES], 0)
        counts = np.diff(tables.ends, axis=1)
        longest = max(int(counts.max(initial=0)), int(directories.max(initial=0)))
        self._ensure(self.slots, int((types == t.PARTITION_RECORD).sum()))
        self._ensure(self.topics, tables.topics.shape[1])
        # Each list that a record names, and the directories that follow from its replicas.
        self._ensure(self.lists, int(tables.valid.sum()) + partitions)
        self._ensure(self.ids, int(directories.sum()))
        self.make_room_for_history(partitions)
        # Unknown directories are made up, one for each replica.
        self._longest = max(self._longest, longest)
        replicas = int(counts[t.REPLICAS].sum()) + self._longest * int((directories > 0).sum())
        self._ensure_values(int(counts.sum()) + int(directories.sum()) + replicas)

    def make_room_for_history(self, rows: int) -> None:
        """Make room for so many more rows of history."""
        self._ensure(self.history, rows)

    def take_history(self, rows: int) -> Int64s:
        """Return the first rows of history and remove them."""
        filled = self.history_rows
        taken = self.history.rows[:rows].copy()
        self.history.rows[: filled - rows] = self.history.rows[rows:filled].copy()
        self.context[D.history] = filled - rows
        return taken

    def _all(self) -> tuple[_Grown, ...]:
        return self.slots, self.topics, self.lists, self.ids, self.history

    def _ensure(self, one: _Grown, more: int) -> None:
        filled = int(self.context[one.filled])
        if filled + more > len(one.rows):
            one.grow(max(filled + more, 2 * filled), filled)
            self._lay_out(one)

    def _lay_out(self, one: _Grown) -> None:
        from jobs.quorum.replay import kernels

        self.context[one.table] = one.rows.ctypes.data
        if one.is_hashed:
            self.context[one.table + 1] = one.index.ctypes.data
            self.context[one.table + 2] = len(one.index) - 1
            # The empty list is in no hash: it is known by its length.
            first = 1 if one is self.lists else 0
            kernels.index_all(self.address, one.table, first, int(self.context[one.filled]))

    def _ensure_values(self, more: int) -> None:
        filled = int(self.context[D.values])
        if filled + more > len(self.values):
            larger = np.zeros(max(filled + more, 2 * filled), np.int32)
            larger[:filled] = self.values[:filled]
            self.values = larger
        if self._longest > len(self.scratch):
            self.scratch = np.zeros(2 * self._longest, np.int32)
        self._lay_out_values()

    def _lay_out_values(self) -> None:
        self.context[D.value_table] = self.values.ctypes.data
        self.context[D.scratch] = self.scratch.ctypes.data

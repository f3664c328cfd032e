"""Rows of partition history with what their numbers stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from jobs.quorum.history.changes import PartitionChange
from jobs.quorum.replay import table as r
from jobs.quorum.replay.table import CAUSE_OF, ELECTION_OF, Int32s, Int64s
from jobs.wire import values
from jobs.wire.metadata import table as t

# A row that only a snapshot tells has no time.
NO_TIME = -1


@dataclass(frozen=True, slots=True)
class PartitionHistory:
    """Changes of partitions in the order of the log: `rows` are of `table.HISTORY_FIELDS`.

    `topics` has the id (its two halves, signed) and the name by number; `lists` where the numbers of a list
    stand in `values`, by its number; `ids` the halves of directory ids.
    """

    rows: Int64s
    topics: list[tuple[int, int, str]]
    lists: Int64s
    values: Int32s
    ids: Int64s

    def __len__(self) -> int:
        return len(self.rows)

    def list_of(self, number: int) -> tuple[int, ...]:
        begin, count = self.lists[number].tolist()
        return tuple(self.values[begin : begin + count].tolist())

    def changes(self) -> Iterator[PartitionChange]:
        """Yield the rows as values, which takes a thousand times as long as making them."""
        for row in self.rows.tolist():
            yield self._change(row)

    def _change(self, row: list[int]) -> PartitionChange:
        high, low, name = self.topics[row[r.TOPIC]]
        state = row[r.STATE : r.STATE + r.STATE_FIELDS]
        lists = [self.list_of(number) for number in state[r.LISTS : r.DIRECTORIES]]
        had_before = bool(row[r.HAD_BEFORE])
        is_dated = row[r.BATCH_OFFSET] >= 0
        broker = row[r.CAUSE_BROKER]
        return PartitionChange(
            offset=row[r.OFFSET],
            epoch=row[r.EPOCH],
            timestamp_ms=row[r.TIMESTAMP] if is_dated else None,
            batch_offset=row[r.BATCH_OFFSET] if is_dated else None,
            applied_offset=None if row[r.APPLIED] == r.NO_OFFSET else row[r.APPLIED],
            cause=CAUSE_OF[row[r.CAUSE]],
            topic_id=uuid_text(high, low),
            topic=name,
            partition=row[r.PARTITION],
            leader=state[r.LEADER],
            leader_epoch=state[r.LEADER_EPOCH],
            partition_epoch=state[r.PARTITION_EPOCH],
            isr=lists[t.ISR],
            elr=lists[t.ELR],
            last_known_elr=lists[t.LAST_KNOWN_ELR],
            replicas=lists[t.REPLICAS],
            adding=lists[t.ADDING],
            removing=lists[t.REMOVING],
            recovery_state=state[r.RECOVERY],
            directories=self._directories(state[r.DIRECTORIES]),
            previous_leader=row[r.PREVIOUS_LEADER] if had_before else None,
            previous_isr=self.list_of(row[r.PREVIOUS_ISR]) if had_before else None,
            previous_elr=self.list_of(row[r.PREVIOUS_ELR]) if had_before else None,
            cause_broker=None if broker == r.NO_BROKER else broker,
            election=ELECTION_OF[row[r.ELECTION]],
            leader_was_outside=bool(row[r.WAS_OUTSIDE]),
            began_recovering=bool(row[r.BEGAN_RECOVERING]),
            is_removed=bool(row[r.IS_REMOVED]),
        )

    def _directories(self, number: int) -> tuple[str, ...]:
        return tuple(uuid_text(*self.ids[one].tolist()) for one in self.list_of(number))


@lru_cache(1 << 16)
def uuid_text(high: int, low: int) -> str:
    """Return an id from its signed halves."""
    return values.uuid_text(b"".join(half.to_bytes(8, "big", signed=True) for half in (high, low)))

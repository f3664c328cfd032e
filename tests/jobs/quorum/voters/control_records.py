"""Voters and kraft.version by offset, from control records alone. Pure.

What `KRaftControlRecordStateMachine` of Kafka does with the log of one replica: both histories take effect
when a record is appended, committed or not. A feature record of the name `kraft.version` is never looked at:
several versions of Kafka wrote a wrong one (KAFKA-18979).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.quorum.timeline.controls import KRAFT_VERSION, KRAFT_VOTERS
from jobs.quorum.voters.voter_sets import BEFORE_THE_LOG, LogHistory, VoterSet, VoterSetHistory
from jobs.wire.metadata.log import LogRecord


@dataclass(frozen=True, slots=True)
class ControlSnapshot:
    """A snapshot's records; `offset` is that of its name, the first which it does not contain.

    `0-0.checkpoint` of a formatted node has offset 0: its voters stand at -1, before the log.
    """

    offset: int
    records: Iterable[LogRecord] = field(default_factory=tuple)


class ControlRecords:
    """The two histories, read as far as `next_offset`; -1 when nothing has been read."""

    def __init__(
        self, static_voter_set: VoterSet | None = None, *, is_strict: bool = False
    ) -> None:
        self.voter_sets = VoterSetHistory(static_voter_set, is_strict=is_strict)
        self.kraft_versions: LogHistory[int] = LogHistory()
        self.next_offset = BEFORE_THE_LOG

    def update(
        self,
        records: Iterable[LogRecord] = (),
        *,
        snapshot: ControlSnapshot | None = None,
        log_start_offset: int = 0,
    ) -> None:
        """Read what is new in a log: its latest snapshot where it begins behind what was read, then records.

        Records that were read before are passed by. Raises ValueError for voters that make no sense.
        """
        behind = self.next_offset == BEFORE_THE_LOG or self.next_offset < log_start_offset
        if behind and snapshot is not None:
            self.load(snapshot)
        self.next_offset = max(self.next_offset, 0)
        for record in records:
            if record.offset >= self.next_offset:
                self.read(record)

    def load(self, snapshot: ControlSnapshot) -> None:
        """Restart from a snapshot: all of it holds from the offset before the snapshot's own."""
        self.voter_sets.clear()
        self.kraft_versions.clear()
        for record in snapshot.records:
            self._apply(record, snapshot.offset - 1)
        self.next_offset = snapshot.offset

    def read(self, record: LogRecord) -> None:
        """Read the next record of the log, of whatever type."""
        self._apply(record, record.offset)
        self.next_offset = record.offset + 1

    def voter_set_at_offset(self, offset: int) -> VoterSet | None:
        """Return the voters at an offset, None when no record said; ValueError for what was not read."""
        self._check_read(offset)
        return self.voter_sets.value_at_or_before(offset)

    def kraft_version_at_offset(self, offset: int) -> int:
        """Return kraft.version at an offset, 0 when no record said; ValueError for what was not read."""
        self._check_read(offset)
        return self.kraft_versions.value_at_or_before(offset) or 0

    @property
    def last_voter_set(self) -> VoterSet:
        """The last voters, also when they are not committed; else the static ones."""
        return self.voter_sets.last_value()

    @property
    def last_kraft_version(self) -> int:
        """The last kraft.version, 0 when no record said one."""
        last = self.kraft_versions.last_entry()
        return last[1] if last else 0

    def truncate_new_entries(self, end_offset: int) -> None:
        """Forget a tail that was cut off, and read on from there.

        Upstream leaves its own position where it was and would skip what is written there again.
        """
        self.voter_sets.truncate_new_entries(end_offset)
        self.kraft_versions.truncate_new_entries(end_offset)
        self.next_offset = min(self.next_offset, end_offset)

    def truncate_old_entries(self, start_offset: int) -> None:
        """Forget what is before a new log start; a history must not."""
        self.voter_sets.truncate_old_entries(start_offset)
        self.kraft_versions.truncate_old_entries(start_offset)

    def _apply(self, record: LogRecord, offset: int) -> None:
        if not record.is_control:
            return
        if record.type == KRAFT_VERSION:
            self.kraft_versions.add_at(offset, int(record.data["kRaftVersion"]))
        elif record.type == KRAFT_VOTERS:
            self.voter_sets.add_at(offset, VoterSet.from_voters_record(record.data))

    def _check_read(self, offset: int) -> None:
        if offset >= self.next_offset:
            raise ValueError(
                f"offset {offset} was not read yet: the next one is {self.next_offset}"
            )

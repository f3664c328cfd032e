"""The metadata log folded record by record into the state of the cluster (Kafka's `MetadataImage`).

The rules are upstream's (`MetadataDelta`, `MetadataBatchLoader`). Where Kafka's own replay would throw, the
fold yields an anomaly and continues. What is missing in the log is unknown afterwards: nothing is merged into
a state from before a gap, until a snapshot has everything again.
"""

from __future__ import annotations

from jobs.quorum.fold.fold import MetadataDelta
from jobs.quorum.fold.record import fold_record
from jobs.quorum.history.change_builders import ChangePosition, anomaly, position_of, undated
from jobs.quorum.history.changes import Anomaly, AnomalyKind, AnyChange, Cause
from jobs.quorum.image.diff import as_change, diff_images
from jobs.quorum.image.tables import ImageTables
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord, PassedBatch

BEGIN, END, ABORT = (
    "BEGIN_TRANSACTION_RECORD",
    "END_TRANSACTION_RECORD",
    "ABORT_TRANSACTION_RECORD",
)
MARKERS = frozenset({BEGIN, END, ABORT})
# A transaction of more records than this is not Kafka's; it would fill the memory.
LARGEST_TRANSACTION_RECORDS = 1_000_000


class OpenTransaction:
    """The records since a BeginTransactionRecord, in order."""

    def __init__(self, begun_at: int, name: str | None) -> None:
        self.begun_at = begun_at
        self.name = name
        self.records: list[LogRecord] = []
        self.is_too_long = False

    def add(self, record: LogRecord) -> None:
        """Keep a record until the end; when there are too many, none is kept."""
        if self.is_too_long:
            return
        self.records.append(record)
        if len(self.records) > LARGEST_TRANSACTION_RECORDS:
            self.is_too_long = True
            self.records.clear()

    def __str__(self) -> str:
        name = "" if self.name is None else f" {self.name!r}"
        return f"the transaction{name} that began at offset {self.begun_at}"


# The controller splits what it writes into batches of at most so many records (maxRecordsPerBatch).
LARGEST_BATCH_RECORDS = 10_000
_HEADER, _FOOTER = "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"


class _SnapshotReading:
    """A snapshot between its header and its footer: tables of its own."""

    def __init__(self, header: LogRecord) -> None:
        self.fold = MetadataDelta()
        self.epoch = header.epoch
        # In a history all records of a snapshot share one offset, the last before its end.
        self.end_offset = header.offset + 1
        self.contained_ms: int | None = header.data.get("lastContainedLogTimestamp")


class MetadataImage(ImageTables):
    """What the cluster is after the records that were applied; fields as `ImageTables`.

    `last_offset` and `last_epoch` are those of the last record (-1: none yet), `last_timestamp_ms` its time
    or that of the snapshot. `unknown_before` is None when everything before is known; else the offset from
    which on the log was read without a state to begin with: what was not written since then is missing here.
    `latest_ms` is the latest time that any record so far had: clocks go back when the leader changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.last_offset = -1
        self.last_epoch = -1
        self.last_timestamp_ms: int | None = None
        self.latest_ms = -1
        self.unknown_before: int | None = None
        self._fold = MetadataDelta(self)
        self._batch_offset = -1
        self._transaction: OpenTransaction | None = None
        self._reading: _SnapshotReading | None = None
        self._before_gap: tuple[int, ImageTables] | None = None

    @property
    def open_transaction(self) -> int | None:
        """The offset at which a transaction began that has not ended yet; its records are not applied."""
        return None if self._transaction is None else self._transaction.begun_at

    def apply(self, record: LogRecord) -> list[AnyChange]:
        """Apply the next record and return what it changed, causes as the record itself shows them.

        Nothing is raised for what a record says: see `Anomaly`. Records of a transaction are applied with the
        one that ends it. `jobs.quorum.history.histories.read_changes` adds what the rest of the batch says
        of causes.
        """
        if record.type == _HEADER:
            return self._begin_snapshot(record)
        if self._reading is not None and record.offset == self._reading.end_offset - 1:
            return self._in_snapshot(self._reading, record)
        found = self._without_footer()
        if record.offset <= self.last_offset and record.epoch <= self.last_epoch:
            return [*found, _repeated(record, self.last_offset)]
        found += self._step_to(record)
        return found if record.is_control else found + self._of_data(record)

    def skip(self, to_offset: int, problem: str | None = None) -> list[AnyChange]:
        """Pass by missing records, up to `to_offset` (exclusive); the state is unknown afterwards."""
        first = self.last_offset + 1
        if to_offset <= first:
            return []
        self._forget(to_offset)
        text = problem or f"offsets {first} to {to_offset - 1} are missing in what was read"
        self.last_offset = to_offset - 1
        stamp = undated(self.last_offset, self.last_epoch, first - 1)
        return [anomaly(stamp, AnomalyKind.GAP, text)]

    def pass_by(self, passed: PassedBatch) -> list[AnyChange]:
        """Take note of records that are read elsewhere: none of them is missing, none is applied."""
        found = [*self._without_footer(), *self._step_to(passed)]
        self.last_offset = passed.end_offset - 1
        if passed.end_ms is not None:
            self.last_timestamp_ms = passed.end_ms
            self.latest_ms = max(self.latest_ms, passed.end_ms)
        return found

    def damaged(self, damage: LogDamage) -> list[AnyChange]:
        """Take note of bytes that cannot be read; a gap follows where they held records.

        The unfinished end of a log is none of it.
        """
        if damage.is_tail:
            return []
        return [anomaly(self._here(), AnomalyKind.DAMAGE, damage.sentence)]

    # Where in the log we are.

    def _here(self) -> ChangePosition:
        return undated(self.last_offset, self.last_epoch, None)

    def _step_to(self, record: LogRecord | PassedBatch) -> list[AnyChange]:
        found: list[AnyChange] = []
        if record.offset > self.last_offset + 1:
            nothing_yet = self.last_offset < 0 and self.is_empty
            problem = f"the log begins at offset {record.offset}, without the snapshot before it"
            found = self.skip(record.offset, problem if nothing_yet else None)
        elif record.offset <= self.last_offset:
            # A leader of a later epoch wrote there again: what was applied was never committed.
            self._forget(record.offset)
            found = [_overwritten(record, self.last_offset)]
        if record.batch_offset != self._batch_offset:
            # The creation of a topic continues in the next batch only where the last one was full.
            if self.last_offset + 1 - self._batch_offset < LARGEST_BATCH_RECORDS:
                self._fold.topic_being_created = None
            self._batch_offset = record.batch_offset
        self.last_offset, self.last_epoch = record.offset, record.epoch
        self.last_timestamp_ms = record.timestamp_ms
        self.latest_ms = max(self.latest_ms, record.timestamp_ms)
        return found

    def _forget(self, to_offset: int) -> None:
        """Put the state aside until a snapshot says what became of it."""
        known = ImageTables()
        known.take(self)
        if self._before_gap is not None:
            # What an earlier gap left, with the changes since then.
            offset, older = self._before_gap
            older.overlay(known)
            self._before_gap = (offset, older)
        elif not known.is_empty:
            self._before_gap = (self.last_offset, known)
        self.take(ImageTables())
        self._transaction = None
        self._fold.topic_being_created = None
        self.unknown_before = to_offset

    # Data records and transactions.

    def _of_data(self, record: LogRecord) -> list[AnyChange]:
        if record.type in MARKERS:
            return self._of_marker(record)
        if self._transaction is not None:
            self._transaction.add(record)
            return []
        return fold_record(self._fold, record, position_of(record))

    def _of_marker(self, record: LogRecord) -> list[AnyChange]:
        transaction = self._transaction
        if record.type == BEGIN:
            if transaction is not None:
                return [_misplaced(record, f"it is inside {transaction}")]
            self._transaction = OpenTransaction(record.offset, record.data.get("name"))
            return []
        if transaction is None:
            return [_misplaced(record, "no transaction is open")]
        self._transaction = None
        return [] if record.type == ABORT else self._publish(transaction, record)

    def _publish(self, transaction: OpenTransaction, end: LogRecord) -> list[AnyChange]:
        """Apply a transaction as a whole, with the offset of its end."""
        if transaction.is_too_long:
            problem = f"{transaction} has too many records: it is not applied"
            return [anomaly(position_of(end), AnomalyKind.TRANSACTION, problem, end.type)]
        found: list[AnyChange] = []
        for record in transaction.records:
            found += fold_record(self._fold, record, position_of(record, end.offset))
        return found

    # Snapshots.

    def _begin_snapshot(self, header: LogRecord) -> list[AnyChange]:
        found = self._without_footer()
        self._reading = _SnapshotReading(header)
        return found

    def _without_footer(self) -> list[AnyChange]:
        """Drop a snapshot that was not read to its end: half of it would look like deletions."""
        if self._reading is None:
            return []
        problem = f"the snapshot of offset {self._reading.end_offset} has no footer: it is left out"
        self._reading = None
        return [anomaly(self._here(), AnomalyKind.SNAPSHOT, problem)]

    def _in_snapshot(self, reading: _SnapshotReading, record: LogRecord) -> list[AnyChange]:
        if record.type == _FOOTER:
            self._reading = None
            return self._adopt(reading)
        if record.is_control:
            return []
        stamp = undated(reading.end_offset - 1, reading.epoch, None, reading.contained_ms)
        found = fold_record(reading.fold, record, stamp)
        return [one for one in found if isinstance(one, Anomaly)]

    def _adopt(self, reading: _SnapshotReading) -> list[AnyChange]:
        """Become what a snapshot says; what differs from what was known happened in between."""
        offset = reading.end_offset - 1
        if self.unknown_before is None and offset <= self.last_offset and not self.is_empty:
            return self._compared(reading) if offset == self.last_offset else []
        since, known = self._known()
        cause = Cause.SNAPSHOT if since is None else Cause.BETWEEN
        stamp = undated(offset, reading.epoch, since, reading.contained_ms)
        found = [as_change(one, stamp, cause) for one in diff_images(known, reading.fold.tables)]
        self._replace(reading, known)
        return found

    def _known(self) -> tuple[int | None, ImageTables]:
        """Return what was known, and at which offset; changes after a gap count, too."""
        if self._before_gap is not None:
            offset, known = self._before_gap
            known.overlay(self)
            return offset, known
        return (None if self.is_empty else self.last_offset), self

    def _replace(self, reading: _SnapshotReading, known: ImageTables) -> None:
        for name, topic_id in known.topic_ids.items():
            if topic_id not in reading.fold.tables.topics:
                self._fold.remember_deleted(name, topic_id)
        self.take(reading.fold.tables)
        self.last_offset = max(reading.end_offset - 1, self.last_offset)
        self.last_epoch, self.last_timestamp_ms = reading.epoch, reading.contained_ms
        self.latest_ms = max(self.latest_ms, reading.contained_ms or 0)
        self.unknown_before = self._before_gap = self._transaction = (
            self._fold.topic_being_created
        ) = None

    def _compared(self, reading: _SnapshotReading) -> list[AnyChange]:
        """Hold a snapshot against the log up to the same record: the log stays the truth."""
        found = list(diff_images(self, reading.fold.tables))
        if not found:
            return []
        first = found[0]
        problem = (
            f"the snapshot of offset {reading.end_offset} and the log differ in {len(found)} places, "
            f"first in {first.kind} {first.key}"
        )
        return [anomaly(self._here(), AnomalyKind.SNAPSHOT_DISAGREES, problem)]


def _repeated(record: LogRecord, last_offset: int) -> AnyChange:
    problem = f"offset {record.offset} comes after offset {last_offset}: it is not applied"
    return anomaly(position_of(record), AnomalyKind.OFFSET_WENT_BACK, problem, record.type)


def _overwritten(record: LogRecord | PassedBatch, last_offset: int) -> AnyChange:
    problem = (
        f"epoch {record.epoch} wrote offsets {record.offset} to {last_offset} again: "
        "the changes told of them were never committed, and the state is unknown until the next snapshot"
    )
    return anomaly(position_of(record), AnomalyKind.OFFSET_WENT_BACK, problem, record.type)


def _misplaced(record: LogRecord, why: str) -> AnyChange:
    problem = f"the {record.type} at offset {record.offset} is out of place: {why}; it is ignored"
    return anomaly(position_of(record), AnomalyKind.TRANSACTION, problem, record.type)

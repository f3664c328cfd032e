"""An open transaction of the metadata log (KIP-868): its records wait for the one that ends it."""

from __future__ import annotations

from jobs.wire.metadata.log import LogRecord

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

"""What can be wrong with bytes."""

from __future__ import annotations


class RecordFormatError(ValueError):
    """Bytes that are not what they should be: `kind` names the record, the message says what is wrong."""

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind = kind
        self.problem = problem


class BatchError(RecordFormatError):
    """A record batch that cannot be used as asked; `offset` is its base offset as it was read."""

    def __init__(self, offset: int, problem: str) -> None:
        super().__init__(f"record batch at offset {offset}", problem)
        self.offset = offset


class OldMagic(BatchError):
    """A message set of magic 0 or 1, as brokers before 0.11 wrote them: only the record path reads it."""

    def __init__(self, offset: int, magic: int) -> None:
        super().__init__(offset, f"has the old magic {magic}")
        self.magic = magic


class Damaged(BatchError):
    """A batch that no healthy broker serves: wrong CRC, nonsense lengths or fields."""


class ControlBatch(BatchError):
    """A transaction marker or a record of the quorum's own where data was expected."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset, "is a control batch")


class NotDense(BatchError):
    """A compacted batch: fewer records than offsets, which brokers refuse from a producer."""

    def __init__(self, offset: int, offsets: int, records: int) -> None:
        super().__init__(offset, f"holds {records} records over {offsets} offsets")


class HasDeleteHorizon(BatchError):
    """A batch whose base timestamp is the time when the source's cleaner drops its tombstones."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset, "carries a delete horizon")


class ExpandsTooFar(RecordFormatError):
    """Compressed bytes that are longer than `limit_bytes` when expanded, whether healthy or a bomb."""

    def __init__(self, kind: str, limit_bytes: int) -> None:
        super().__init__(kind, f"expands beyond {limit_bytes} bytes")
        self.limit_bytes = limit_bytes

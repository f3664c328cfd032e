"""What can be wrong with bytes."""

from __future__ import annotations


class RecordFormatError(ValueError):
    """Bytes that are not what they should be: `kind` names the record, the message says what is wrong."""

    def __init__(self, kind: str, problem: str) -> None:
        super().__init__(f"{kind}: {problem}")
        self.kind = kind
        self.problem = problem

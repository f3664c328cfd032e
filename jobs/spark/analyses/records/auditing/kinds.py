"""The kinds of records that have no match; light, as the console imports it."""

from __future__ import annotations

from enum import IntEnum, auto


class Kind(IntEnum):
    """What a record without a match is, see `COUNTS`; OPEN: not judged yet.

    ABORTED: of an aborted transaction, left out. BEFORE_FIRST: before the first copy of a flow that may have
    begun later. UNREAD: its copy is among records that were not read. UNSURE: what decides was not read.
    UNDELETED: more than the target can have deleted.
    """

    OPEN = 0
    MISSING = auto()
    EXTRA = auto()
    DUPLICATED = auto()
    REORDERED = auto()
    ALTERED = auto()
    DELETED_ON_SOURCE = auto()
    DELETED_ON_TARGET = auto()
    NOT_COPIED_YET = auto()
    SUPERSEDED = auto()
    ABORTED = auto()
    BEFORE_FIRST = auto()
    UNREAD = auto()
    UNSURE = auto()
    UNDELETED = auto()

    @property
    def code(self) -> str:
        """Its name in tables and facts."""
        return self.name.lower()


# The columns of the answer: kind, title, definition.
COUNTS = (
    (Kind.MISSING, "Missing", ""),
    (Kind.EXTRA, "Extra", ""),
    (Kind.DUPLICATED, "Duplicated", ""),
    (Kind.REORDERED, "Reordered", ""),
    (Kind.ALTERED, "Altered", ""),
    (Kind.DELETED_ON_SOURCE, "Deleted on source", "Before the log start there."),
    (Kind.DELETED_ON_TARGET, "Deleted on target", "Before the log start there."),
    (Kind.NOT_COPIED_YET, "Not copied yet", "After the last copied record."),
    (Kind.SUPERSEDED, "Compacted", "A later record has their key."),
    (Kind.ABORTED, "Aborted", "Of aborted transactions, not on the target of MirrorMaker 2."),
)
NAMES = tuple(kind.code for kind, *_ in COUNTS)
DIFFERENCES = ("missing", "extra", "reordered", "altered")
DOUBTS = {
    "unsure": "cannot be judged: tombstones or transactions of which a part was not read. Read what was "
    "proven again, with more records.",
    "before_first": "before the first copy are not on the target: whether MirrorMaker 2 began behind them is "
    "not known.",
    "undeleted": "before the first copy are more than the target's log can have deleted.",
}

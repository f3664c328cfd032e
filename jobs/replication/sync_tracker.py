"""Which offset syncs a copied partition owes to its readers.

A sync is due wherever the difference between downstream and upstream offsets changes, and for the
newest record at every commit. With both, a reader that has all of them knows the downstream offset
of every record: between two neighbours the difference is constant. MirrorMaker 2 (OffsetSyncWriter)
sends a subset of these and drops more of them under load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Pair = tuple[int, int]


@dataclass(slots=True)
class SyncTracker:
    """Collects the pairs of one partition between two commits.

    Pairs are (upstream offset, downstream offset) of the same record, in order of both. `last` is that
    of the newest record that was copied.
    """

    last: Pair | None = None
    _difference: int | None = None
    _told: Pair | None = None
    _safe: tuple[Pair | None, int | None] = (None, None)
    _due: list[Pair] = field(default_factory=list)

    @classmethod
    def after(cls, last: Pair) -> SyncTracker:
        """Begin behind a record that was copied before: its pair is told once more, before all others.

        Whoever copied it may have ended before it told, or may have told of records behind it that then
        did not count: where syncs are not part of the transaction, this pair takes those back.
        """
        difference = last[1] - last[0]
        return cls(last, difference, _safe=(last, difference), _due=[last])

    def copied(self, changes: Sequence[Pair], last: Pair) -> None:
        """Take a batch that the target acknowledged.

        `changes` are the first pairs of its stretches of constant difference, `last` is the pair of
        its newest record.
        """
        for upstream, downstream in changes:
            if downstream - upstream != self._difference:
                self._difference = downstream - upstream
                self._due.append((upstream, downstream))
        self.last = last

    def due(self) -> list[Pair]:
        """Return the pairs that are due when everything up to here is committed; changes nothing."""
        is_told = self.last in (None, self._told, *self._due[-1:])
        return [*self._due, *([] if is_told or self.last is None else [self.last])]

    def commit(self) -> None:
        """Note that everything up to here is committed, and what was due is written."""
        self._due.clear()
        self._told = self.last
        self._safe = (self.last, self._difference)

    def abort(self) -> None:
        """Forget what was not committed: these records get other offsets when they come again.

        What may have been told of them already is taken back by the last pair that counts.
        """
        self.last, self._difference = self._safe
        self._due = [] if self.last is None else [self.last]

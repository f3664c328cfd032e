"""Which offset syncs a copied partition owes to its readers.

A sync is due wherever the difference between downstream and upstream offsets changes, and for the
newest record at every commit. With both, a reader that has all of them knows the downstream offset
of every record: between two neighbours the difference is constant. MirrorMaker 2 (OffsetSyncWriter)
sends a subset of these and drops more of them under load.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Pair = tuple[int, int]
Pairs = npt.NDArray[np.int64]


def _none() -> array[int]:
    return array("q")


@dataclass(slots=True)
class SyncTracker:
    """Collects the pairs of one partition between two commits.

    Pairs are (upstream offset, downstream offset) of the same record, in order of both; many of them are
    rows of an array. `last` is that of the newest record that was copied.
    """

    last: Pair | None = None
    _difference: int | None = None
    _told: Pair | None = None
    _safe: tuple[Pair | None, int | None] = (None, None)
    _due: array[int] = field(default_factory=_none)

    @classmethod
    def after(cls, last: Pair) -> SyncTracker:
        """Begin behind a record that was copied before: its pair is told once more, before all others.

        Whoever copied it may have ended before it told, or may have told of records behind it that then
        did not count: where syncs are not part of the transaction, this pair takes those back.
        """
        difference = last[1] - last[0]
        return cls(last, difference, _safe=(last, difference), _due=array("q", last))

    @property
    def told(self) -> Pair | None:
        """The pair that was told last and counts; None: not known."""
        return self._told

    def copied(self, changes: Pairs, last: Pair) -> None:
        """Take a batch that the target acknowledged.

        `changes` are the first pairs of its stretches of constant difference, `last` is the pair of
        its newest record.
        """
        differences = changes[:, 1] - changes[:, 0]
        if len(changes) and differences[0] == self._difference:
            changes = changes[1:]
        if len(changes):
            self._difference = int(differences[-1])
            self._due.frombytes(changes.astype(np.int64, copy=False).tobytes())
        self.last = last

    def due(self) -> Pairs:
        """Return the pairs that are due when everything up to here is committed; changes nothing."""
        pairs = np.array(self._due, np.int64).reshape(-1, 2)
        newest = tuple(self._due[-2:])
        if self.last is None or self.last in (self._told, newest):
            return pairs
        return np.vstack((pairs, np.array([self.last], np.int64)))

    def commit(self) -> None:
        """Note that everything up to here is committed, and what was due is written."""
        del self._due[:]
        self._told = self.last
        self._safe = (self.last, self._difference)

    def abort(self) -> None:
        """Forget what was not committed: these records get other offsets when they come again.

        What may have been told of them already is taken back by the last pair that counts.
        """
        self.last, self._difference = self._safe
        self._due = array("q", self.last or ())

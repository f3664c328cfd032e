"""Due offset syncs of a copied partition.

A sync is due wherever the difference between downstream and upstream offsets changes, and for the
newest record at every commit. With both, a reader that has all of them knows the downstream offset
of every record: between two neighbours the difference is constant. MirrorMaker 2 (OffsetSyncWriter)
sends a subset of these and drops more of them under load.

Every commit on the target is a marker there, so with many commits there are many changes. They may wait a
little, and are written together: until then they are beside the position, so that no crash loses them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Pair = tuple[int, int]
Pairs = npt.NDArray[np.int64]
NO_PAIRS: Pairs = np.empty((0, 2), np.int64)


# What may wait to be written: so many changes, as many records as MirrorMaker 2 lets pass between two syncs
# (offset.lag.max), so long.
MOST_UNTOLD = 100
MOST_RECORDS = 100
LONGEST_WAIT_S = 3.0


def _none() -> array[int]:
    return array("q")


@dataclass(slots=True)
class SyncTracker:
    """Collects the pairs of one partition that are due, and says when they are written.

    Pairs are (upstream offset, downstream offset) of the same record, in order of both; many of them are
    rows of an array. `last` is that of the newest record that was copied. From `tell` to `commit` it is known
    whether what is due is being written.
    """

    last: Pair | None = None
    _difference: int | None = None
    _told: Pair | None = None
    _due: array[int] = field(default_factory=_none)
    _safe: tuple[Pair | None, int | None, int] = (None, None, 0)
    _is_again: bool = False
    _untold_since: float | None = None
    _is_telling: bool | None = None

    @classmethod
    def after(cls, last: Pair, untold: Sequence[Pair] = ()) -> SyncTracker:
        """Begin behind a record that was copied before: its pair is written once more, before all others.

        Its copier may have ended before it wrote, or may have written about records behind it that then
        did not count: where syncs are not part of the transaction, this pair replaces those. `untold` is
        what was beside the position, see `untold`.
        """
        due = array("q", [number for pair in (*untold, last) for number in pair])
        difference = last[1] - last[0]
        safe, since = (last, difference, len(due)), 0.0 if untold else None
        return cls(last, difference, _due=due, _safe=safe, _is_again=True, _untold_since=since)

    @property
    def told(self) -> Pair | None:
        """The pair that was written last and counts; None: not known."""
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
        numbers, newest = self._due, tuple(self._due[-2:])
        if self.last is not None and self.last not in (self._told, newest):
            numbers = array("q", (*numbers, *self.last))
        return np.array(numbers, np.int64).reshape(-1, 2)

    def owes(self, now_s: float, *, at_once: bool = False) -> bool:
        """Whether what was committed and not written has waited long enough; `at_once`: at all."""
        since = self._untold_since
        return since is not None and (at_once or now_s - since >= LONGEST_WAIT_S)

    def tell(self, now_s: float, *, at_once: bool = False) -> Pairs:
        """Return the pairs that are written with the commit that begins now: all that are due, or none."""
        pairs = self.due()
        self._is_telling = at_once or not len(pairs) or self._is_urgent(pairs) or self.owes(now_s)
        if self._is_telling:
            return pairs
        if self._untold_since is None:
            self._untold_since = now_s
        return NO_PAIRS

    def _is_urgent(self, pairs: Pairs) -> bool:
        if self._is_again or self._told is None or self.last is None:
            return True
        is_long = self.last[0] - self._told[0] > MOST_RECORDS
        return is_long or chain_of(self._told, pairs) is None

    def untold(self) -> tuple[Pair, ...]:
        """Return what is noted beside the position: the pair that was written last, and the changes since.

        A later copier that resumes there can write them. None where all are written, perhaps with this
        commit.
        """
        pairs = self.due()
        if self._is_telling or not len(pairs):
            return ()
        first = tuple(pairs[0].tolist())
        if self._told not in (None, first):
            return chain_of(self._told, pairs) or ()
        return chain_of(first, pairs[1:]) or ()

    def commit(self) -> None:
        """Note that everything up to here is committed, and what `tell` returned is written."""
        if self._is_telling is not False:
            del self._due[:]
            self._told, self._untold_since, self._is_again = self.last, None, False
        self._safe = (self.last, self._difference, len(self._due))
        self._is_telling = None

    def abort(self) -> None:
        """Forget what was not committed: these records get other offsets when they come again.

        What may have been written about them already is replaced by the last pair that counts.
        """
        self.last, self._difference, safe = self._safe
        first = () if self._told is None or self._is_again else self._told
        due = array("q", (*first, *self._due[:safe]))
        if self.last is not None and tuple(due[-2:]) != self.last:
            due.extend(self.last)
        self._due, self._is_again, self._is_telling = due, True, None
        self._safe = (self.last, self._difference, len(due))


def chain_of(told: Pair, pairs: Pairs) -> tuple[Pair, ...] | None:
    """Return `told` and all of the pairs but the newest; None where they are no chain.

    A chain is short, and both offsets rise from each of its pairs to the next, up to the newest.
    """
    if len(pairs) > MOST_UNTOLD:
        return None
    # Few numbers, for each partition of every commit: numpy takes longer.
    every = [told, *((up, down) for up, down in pairs.tolist())]
    if any(one[0] >= two[0] or one[1] >= two[1] for one, two in pairwise(every)):
        return None
    return tuple(every[:-1])

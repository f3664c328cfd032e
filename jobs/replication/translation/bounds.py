"""The rule of translation between two neighbouring offset syncs. Pure.

It is written once, for one offset (ints) and for many (arrays): `ONE` and `MANY` say how values are compared
and chosen. `own` is the side of the given offset, `other` the other one: going there the source and
the target, on the way back the target and the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

UNBOUNDED = -1


class Why(IntEnum):
    """Why an answer is exact, or is not; `text` says it to a person."""

    IS_SYNC = 0
    ONE_POSSIBILITY = 1
    GAPS_ON_BOTH = 2
    GAPS_ON_SOURCE = 3
    NO_LATER_SYNC = 4
    BEFORE_FIRST = 5
    SYNCS_MISSING = 6
    WENT_BACK = 7
    NO_SYNC = 8
    AT_THE_END = 9
    ALL_COPIED = 10
    PERHAPS_NO_RECORD = 11

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Why.IS_SYNC: "The offset is an offset sync.",
    Why.ONE_POSSIBILITY: "The two offset syncs leave one possibility.",
    Why.GAPS_ON_BOTH: "Between the two offset syncs source and target may have offsets without a record.",
    Why.GAPS_ON_SOURCE: "Between the two offset syncs the source has offsets without a record.",
    Why.NO_LATER_SYNC: "There is no later offset sync.",
    Why.BEFORE_FIRST: "The offset is before the first offset sync.",
    Why.SYNCS_MISSING: "The offset is before the first offset sync that follows a gap in the archive.",
    Why.WENT_BACK: "Later source offsets were lower: records were copied again, or the topic was deleted and "
    "re-created.",
    Why.NO_SYNC: "There is no offset sync of this partition.",
    Why.AT_THE_END: "All records from there on are written after the current end of the target.",
    Why.ALL_COPIED: "All records are read and replicated.",
    Why.PERHAPS_NO_RECORD: "Exact if the offset has a record, later if it has none.",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a flow beside its offset syncs; each makes answers narrower, and must be true.

    `target_has_no_gaps`: remote partitions have one writer, no transaction markers and no record twice, and
    are not compacted. `is_same_topic`: source topics are those that they were at all syncs.
    `all_changes_told`: there is an offset sync wherever the difference of the offsets changes, and none is
    missing. Of the syncs of crosslog's own flows this is known without asking, see `PartitionSyncs`.
    """

    target_has_no_gaps: bool = False
    is_same_topic: bool = False
    all_changes_told: bool = False


NOTHING_KNOWN = Facts()


class Answers(NamedTuple):
    """An answer per question; see `Certificate`.

    `hi` is -1 where nothing bounds it. `why` are numbers of `Why`; where it is `NO_SYNC` there is no answer,
    and both bounds are -1.
    """

    lo: npt.NDArray[np.int64]
    hi: npt.NDArray[np.int64]
    why: npt.NDArray[np.uint8]

    @classmethod
    def none(cls, count: int) -> Answers:
        """Return answers that say nothing yet."""
        nothing = np.full(count, UNBOUNDED, np.int64)
        return cls(nothing, nothing.copy(), np.full(count, Why.NO_SYNC, np.uint8))

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Where there is only one possible answer."""
        found: npt.NDArray[np.bool_] = (self.lo == self.hi) & (self.why != Why.NO_SYNC)
        return found

    def put(self, places: Any, found: tuple[Any, Any, Any]) -> None:
        """Write the answers to some of the questions."""
        self.lo[places], self.hi[places], self.why[places] = found


class Values(NamedTuple):
    """How one value or many are compared and chosen."""

    greatest: Callable[[Any, Any], Any]
    least: Callable[[Any, Any], Any]
    pick: Callable[[Any, Any, Any], Any]


ONE = Values(max, min, lambda is_so, yes, no: yes if is_so else no)
MANY = Values(np.maximum, np.minimum, np.where)


class Place(NamedTuple):
    """Offsets that are translated, and the sync at or before and the one behind, each as (own, other).

    Where there is none behind (`has_after`) its numbers mean nothing. `is_linked`: no sync is missing between
    the two.
    """

    asked: Any
    before: tuple[Any, Any]
    after: tuple[Any, Any]
    has_after: Any
    is_linked: Any


def bounds_of(at: Place, facts: Facts, values: Values, *, is_back: bool) -> tuple[Any, Any, Any]:
    """Return lo, hi and why of offsets that are not before the first sync of their epoch."""
    greatest, least, pick = values
    (own, other), (own_after, other_after) = at.before, at.after
    as_far, from_after = other + (at.asked - own), other_after - (own_after - at.asked)
    # Every record before `after` is as far from its copy as `before` is.
    is_told = facts.all_changes_told | at.is_linked
    lo, hi = other + 1, other_after
    if facts.target_has_no_gaps:
        # True only where the target has no more offsets than the source: else that is a mistake.
        least_lo, most_hi = (as_far, from_after) if is_back else (from_after, as_far)
        more = (own_after - own) - (other_after - other)
        holds = (more <= 0) if is_back else (more >= 0)
        lo = pick(holds, greatest(lo, least_lo), lo)
        hi = pick(holds, least(hi, most_hi), hi)
    lo = pick(is_told, greatest(lo, least(as_far, other_after)), lo)
    untold = Why.GAPS_ON_SOURCE if facts.target_has_no_gaps else Why.GAPS_ON_BOTH
    why = pick(lo == hi, Why.ONE_POSSIBILITY, pick(is_told, Why.PERHAPS_NO_RECORD, untold))
    lo, hi = pick(at.has_after, lo, other + 1), pick(at.has_after, hi, UNBOUNDED)
    why = pick(at.has_after, why, Why.NO_LATER_SYNC)
    is_sync = at.asked == own
    lo, hi = pick(is_sync, other, lo), pick(is_sync, other, hi)
    return lo, hi, pick(is_sync, Why.IS_SYNC, why)


def copied_again(
    found: tuple[Any, Any, Any],
    at: Place,
    facts: Facts,
    values: Values,
    again_from: int,
    newest: int,
) -> tuple[Any, Any, Any]:
    """Return what an older epoch says, bounded by the newest, which may have copied the record again.

    `again_from` is the lowest source offset of all later epochs, `newest` the target offset that the newest
    begins at.
    """
    lo, hi, why = found
    is_dense = (at.after[0] - at.before[0]) == (at.after[1] - at.before[1])
    is_once = (at.after[0] < again_from) | (facts.target_has_no_gaps & is_dense)
    holds = facts.is_same_topic & ((at.asked == at.before[0]) | (at.has_after & is_once))
    return lo, values.pick(holds, hi, newest), values.pick(holds, why, Why.WENT_BACK)


def seen_again(
    found: tuple[Any, Any, Any], values: Values, again_from: int
) -> tuple[Any, Any, Any]:
    """Return what an older epoch says on the way back: what was copied again is behind it, too.

    `again_from` is the lowest source offset of all later epochs.
    """
    lo, hi, why = found
    holds = (hi != UNBOUNDED) & (hi <= again_from)
    return (
        values.pick(holds, lo, values.least(lo, again_from)),
        values.pick(holds, hi, again_from),
        values.pick(holds, why, Why.WENT_BACK),
    )

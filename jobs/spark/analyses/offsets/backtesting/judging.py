"""What checkpoints and certificates said, beside the truth. Pure."""

from __future__ import annotations

from enum import IntEnum
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.replication.translation.sync_history import SyncHistory
from jobs.replication.translation.translator import started_store
from jobs.spark.analyses.offsets.backtesting.truth import Bools, Int64s, Known, Side, Truth

UInt8s = npt.NDArray[np.uint8]
_NONE = -1
# Of what a question was about that is gone, nothing can be said, not even that it is wrong.
_ABOUT_OTHERS = (Known.OTHER_SOURCE, Known.OTHER_TARGET, Known.BEHIND_END, Known.NO_TOPIC)


class Verdict(IntEnum):
    """How an answer compares with the truth; WRONG: its upper bound is too low."""

    NO_ANSWER = 0
    RIGHT = 1
    MISS = 2
    UNKNOWN = 3
    WRONG = 4


class Questions(NamedTuple):
    """Source offsets that are translated; `known` is how many offset syncs there were at that time.

    `downstream` is what a checkpoint said, `group` the number of its group; both are -1 for a
    sample. `is_other`: it was about another remote topic of this name.
    """

    at_ms: Int64s
    upstream: Int64s
    downstream: Int64s
    group: Int64s
    known: Int64s
    is_other: Bools

    @property
    def is_checkpoint(self) -> Bools:
        """Which of them are checkpoints that were written."""
        found: Bools = self.group >= 0
        return found


class Given(NamedTuple):
    """The certificate at that time (`lo` -1: none, `hi` -1: unbounded), and MirrorMaker 2's own answer.

    -1 of MirrorMaker 2: none.
    """

    lo: Int64s
    hi: Int64s
    mm2: Int64s


class Judged(NamedTuple):
    """A row per question; -1 means that there is none. `why` are numbers of `Known`, see `Places`."""

    place: Int64s
    why: UInt8s
    checkpoint: UInt8s
    certificate: UInt8s
    mm2: UInt8s
    width: Int64s
    checkpoint_reread: Int64s
    certificate_reread: Int64s
    mm2_reread: Int64s


def known_at(syncs: SyncRows, moments: Int64s) -> Int64s:
    """Return how many syncs there were at some moments (Unix ms); one without a time was there."""
    since = np.minimum.accumulate(syncs.at_ms[::-1])[::-1]
    return np.searchsorted(since, moments, side="right").astype(np.int64)


def sample(syncs: SyncRows, source: Side, others: UInt8s, since_ms: int, most: int) -> Questions:
    """Return at most so many records of the source, evenly, each asked right after the next offset sync.

    Only syncs from a time on count (without a time they do), and those about the topics of now: `others` is
    of `about_others`.
    """
    first = int(np.flatnonzero(others != Known.YES)[-1]) if others.any() else 0
    highest = np.maximum.accumulate(syncs.upstream[first:])
    known = np.searchsorted(highest, source.offsets, side="right") + first + 1
    found = np.flatnonzero(known <= len(syncs.upstream))
    at_ms = syncs.at_ms[known[found] - 1]
    found = found[(at_ms >= since_ms) | (at_ms < 0)]
    if len(found) > most:
        found = found[np.linspace(0, len(found) - 1, most).astype(np.int64)]
    none = np.full(len(found), _NONE, np.int64)
    asked = known[found].astype(np.int64)
    return Questions(
        syncs.at_ms[asked - 1],
        source.offsets[found],
        none,
        none,
        asked,
        np.zeros(len(found), np.bool_),
    )


def given_then(syncs: SyncRows, questions: Questions) -> Given:
    """Return what would have been answered to each question at its time."""
    found = np.full((3, len(questions.upstream)), _NONE, np.int64)
    history, store, added = SyncHistory(), started_store(), 0
    columns = [column.tolist() for column in _columns(syncs)]
    for number in np.argsort(questions.known, kind="stable").tolist():
        known, upstream = int(questions.known[number]), int(questions.upstream[number])
        while added < known:
            _add(history, columns, added)
            if not syncs.chained[added]:
                store.sync(columns[0][added], columns[1][added])
            added += 1
        certificate = history.certify(upstream)
        if certificate is not None:
            found[0, number] = certificate.lo
            found[1, number] = _NONE if certificate.hi is None else certificate.hi
        mm2 = store.translate(upstream)
        found[2, number] = _NONE if mm2 is None else mm2
    return Given(*found)


def _columns(syncs: SyncRows) -> tuple[Int64s, ...]:
    return (
        syncs.upstream,
        syncs.downstream,
        syncs.hole,
        syncs.follows_upstream,
        syncs.follows_downstream,
    )


def _add(history: SyncHistory, columns: list[list[int]], row: int) -> None:
    upstream, downstream, hole, follows_up, follows_down = (column[row] for column in columns)
    after_gap = row > 0 and columns[2][row - 1] != hole
    follows = None if follows_up < 0 else (follows_up, follows_down)
    history.add(upstream, downstream, after_gap=after_gap, follows=follows)


def about_others(syncs: SyncRows, truth: Truth) -> UInt8s:
    """Return for each number of known syncs whether a question of then was about topics that are gone.

    The remote topic was another one before the last sync that goes back on it. The source was another one
    before a sync that goes back on it, if no sync before that fits to the records of now and one does not.
    """
    count = len(syncs.upstream)
    why = np.full(count + 1, Known.YES, np.uint8)
    up, down = np.diff(syncs.upstream), np.diff(syncs.downstream)
    starts = np.flatnonzero((down < 0) | ((down == 0) & (up != 0))) + 1
    first = int(starts[-1]) if len(starts) else 0
    begins = [first, *(np.flatnonzero(up[first:] < 0) + first + 1).tolist()]
    for start, end in pairwise(begins):
        good, bad = _fitting(syncs, slice(start, end), truth)
        if bad and not good:
            why[: end + 1] = Known.OTHER_SOURCE
    if first:
        why[: first + 1] = Known.OTHER_TARGET
    return why


def _fitting(syncs: SyncRows, rows: slice, truth: Truth) -> tuple[int, int]:
    """Return how many syncs name equal records on both sides, and how many do not."""
    upstream, downstream = syncs.upstream[rows], syncs.downstream[rows]
    source, target = truth.source, truth.target
    here, there = _hashes_at(source, upstream), _hashes_at(target, downstream)
    both = here[1] & there[1]
    good = both & (here[0] == there[0])
    return int(good.sum()), int((both & ~good).sum() + (upstream >= source.end).sum())


def _hashes_at(side: Side, offsets: Int64s) -> tuple[Int64s, Bools]:
    if not len(side.offsets):
        return np.zeros(len(offsets), np.int64), np.zeros(len(offsets), np.bool_)
    at = np.minimum(np.searchsorted(side.offsets, offsets), len(side.offsets) - 1)
    return side.hashes[at], side.offsets[at] == offsets


def judge(
    truth: Truth,
    questions: Questions,
    given: Given,
    others: UInt8s,
    *,
    is_compacted: bool = False,
) -> Judged:
    """Return how every answer compares with the truth; `others` is of `about_others`.

    `is_compacted`: the target may have lost copies that were there at that time. Then no upper bound can
    be shown to be too low: the first copy may have been before it.
    """
    places = truth.places(questions.upstream)
    why = places.why.copy()
    then = others[questions.known]
    why = np.where(then != Known.YES, then, why)
    why = np.where(questions.is_other, Known.OTHER_TARGET, why).astype(np.uint8)
    is_known, highest = why == Known.YES, places.highest
    is_sure = ~np.isin(why, _ABOUT_OTHERS)

    def verdicts(answers: Int64s) -> UInt8s:
        out = is_sure & (answers > places.bound) & (answers <= truth.sure_to)
        found = np.where(is_known & (answers <= highest), Verdict.RIGHT, Verdict.UNKNOWN)
        found = np.where(out, Verdict.MISS, found)
        return np.where(answers < 0, Verdict.NO_ANSWER, found).astype(np.uint8)

    def rereads(answers: Int64s, found: UInt8s) -> Int64s:
        return np.where(found == Verdict.RIGHT, truth.target.count_between(answers, highest), _NONE)

    checkpoint, certificate, mm2 = map(verdicts, (questions.downstream, given.lo, given.mm2))
    is_right = certificate == Verdict.RIGHT
    reread = rereads(given.lo, certificate)
    is_there = (places.lowest < truth.target.end) & (not is_compacted)
    low = is_right & is_there & (given.hi >= 0) & (given.hi < places.lowest)
    certificate[low] = Verdict.WRONG
    behind = (checkpoint == Verdict.UNKNOWN) | (certificate == Verdict.UNKNOWN)
    why[is_known & behind] = Known.BEHIND_TARGET
    return Judged(
        np.where(is_known, highest, _NONE),
        why,
        checkpoint,
        certificate,
        mm2,
        np.where((given.lo >= 0) & (given.hi >= 0), given.hi - given.lo, _NONE),
        rereads(questions.downstream, checkpoint),
        reread,
        rereads(given.mm2, mm2),
    )

"""The backtest of one partition, in a task of Spark: both sides read, aligned, every answer judged."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.files import cache_folder
from jobs.replication.flow.spec import FlowSpec, IsolationLevel
from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.spark.analyses.offsets.backtesting.checkpoint_log import Checkpoints
from jobs.spark.analyses.offsets.backtesting.judging import (
    Given,
    Judged,
    Questions,
    Verdict,
    about_others,
    given_then,
    judge,
    known_at,
    sample,
)
from jobs.spark.analyses.offsets.backtesting.reading import SideRecords, read_side
from jobs.spark.analyses.offsets.backtesting.truth import Bools, Known, Truth, align

# So many records of a partition are sampled beside the checkpoints.
MOST_SAMPLES = 1000
# So many misses of a partition are listed one by one; all are counted.
MOST_MISSES = 1000
_NONE = -1


@dataclass(frozen=True, slots=True)
class Work:
    """What a task does: a partition of a flow, by its names on both sides, and the checkpoints about it.

    `is_gone`: a topic of it is not there. `are_other`: which checkpoints are about another remote topic.
    `is_compacted`: the remote topic is, or that is not known.
    """

    flow: FlowSpec
    archive: Path
    where: TopicPartition
    remote: TopicPartition
    checkpoints: Checkpoints
    are_other: Bools
    is_gone: bool
    is_compacted: bool
    since_ms: int
    most_records: int


class Missed(NamedTuple):
    """An answer that leaves out a record: `skipped` on the source, `skipped_copy` on the target.

    `row` is its question. Of an upper bound that is too low, both places are -1.
    """

    row: int
    who: str
    answer: int
    skipped: int
    skipped_copy: int


@dataclass(slots=True)
class Told:
    """What a task found; `fault` (code, message, cluster, hint) instead where a cluster did not answer."""

    questions: Questions | None = None
    given: Given | None = None
    judged: Judged | None = None
    missed: tuple[Missed, ...] = ()
    records: tuple[int, int] = (0, 0)
    are_cut: bool = False
    untimed_syncs: int = 0
    seconds: float = 0.0
    fault: tuple[str, str, str, str] | None = None


def backtest_partition(work: Work) -> Told:
    """Judge a partition; a fault of a cluster is reported, other errors are raised."""
    # Where compiled code is kept must be said before it is made.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    from jobs.replication.offset_syncs.archive import open_parts

    began = time.monotonic()
    syncs = open_parts(work.archive).rows(work.where)
    try:
        told = _told(work, syncs)
    except ClusterFault as fault:
        return Told(fault=(fault.code, fault.message, fault.cluster, fault.hint))
    told.untimed_syncs = int((syncs.at_ms < 0).sum())
    told.seconds = time.monotonic() - began
    return told


def _told(work: Work, syncs: SyncRows) -> Told:
    written = _written(work, syncs)
    is_recent = bool(((syncs.at_ms >= work.since_ms) | (syncs.at_ms < 0)).any())
    if work.is_gone or not (is_recent or len(written.upstream)):
        return _unknown(written, given_then(syncs, written))
    source, target = _sides(work)
    with_times = not target.has_own_times
    truth = align(source.side(with_times=with_times), target.side(with_times=with_times))
    others = about_others(syncs, truth)
    asked = sample(syncs, truth.source, others, work.since_ms, MOST_SAMPLES)
    questions = Questions(*(np.concatenate(pair) for pair in zip(written, asked, strict=True)))
    given = given_then(syncs, questions)
    judged = judge(truth, questions, given, others, is_compacted=work.is_compacted)
    return Told(
        questions,
        given,
        judged,
        tuple(_missed(truth, questions, given, judged)),
        (len(truth.source.offsets), len(truth.target.offsets)),
        source.span.is_cut or target.span.is_cut,
    )


def _sides(work: Work) -> tuple[SideRecords, SideRecords]:
    """Read the target first: whatever comes to it meanwhile is behind its end."""
    flow, most = work.flow, work.most_records
    target = read_side(flow.target, work.remote, most, read_committed=True)
    # MirrorMaker 2 copies what was aborted, too, unless it is configured otherwise; more records do no harm
    # here.
    is_committed = not flow.is_watched and flow.isolation_level is IsolationLevel.READ_COMMITTED
    source = read_side(flow.source, work.where, most, read_committed=is_committed)
    return source, target


def _written(work: Work, syncs: SyncRows) -> Questions:
    given = work.checkpoints
    known = known_at(syncs, given.at_ms)
    return Questions(
        given.at_ms, given.upstream, given.downstream, given.group, known, work.are_other
    )


def _unknown(questions: Questions, given: Given) -> Told:
    """Return the rows of a partition that is not there."""
    count = len(questions.upstream)
    none, why = np.full(count, _NONE, np.int64), np.full(count, Known.NO_TOPIC, np.uint8)
    checkpoint, certificate, mm2 = (
        np.where(answers < 0, Verdict.NO_ANSWER, Verdict.UNKNOWN).astype(np.uint8)
        for answers in (questions.downstream, given.lo, given.mm2)
    )
    judged = Judged(none, why, checkpoint, certificate, mm2, none, none, none, none)
    return Told(questions, given, judged)


def _missed(truth: Truth, questions: Questions, given: Given, judged: Judged) -> list[Missed]:
    found: list[Missed] = []
    told: list[tuple[str, Any, Any]] = [
        ("checkpoint", judged.checkpoint, questions.downstream),
        ("certificate", judged.certificate, given.lo),
        ("MirrorMaker 2's rule", judged.mm2, given.mm2),
    ]
    for who, verdicts, answers in told:
        for row in np.flatnonzero(verdicts == Verdict.MISS)[:MOST_MISSES].tolist():
            upstream, answer = int(questions.upstream[row]), int(answers[row])
            skipped = truth.skipped(upstream, answer) or (_NONE, _NONE)
            found.append(Missed(row, who, answer, *skipped))
    low = np.flatnonzero(judged.certificate == Verdict.WRONG)[:MOST_MISSES].tolist()
    found += [Missed(row, "upper bound", int(given.hi[row]), _NONE, _NONE) for row in low]
    return found

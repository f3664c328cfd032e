"""Answers beside the truth: misses, what is right, what is not known, and what was known when."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.offset_syncs.sync_rows import SyncRows
from jobs.spark.analyses.offsets.backtesting.judging import (
    Questions,
    Verdict,
    about_others,
    given_then,
    judge,
    known_at,
    sample,
)
from jobs.spark.analyses.offsets.backtesting.truth import Known, align
from tests.examples import examples
from tests.jobs.spark.analyses.offsets.backtesting.copying import Story, side, stories


def syncs(pairs, times=None):
    """Offset syncs, one a second from 1000 on, whose predecessors are not known."""
    pairs = np.array(pairs, np.int64).reshape(-1, 2)
    none = np.full(len(pairs), -1, np.int64)
    at_ms = np.arange(1, len(pairs) + 1) * 1000 if times is None else np.array(times)
    return SyncRows(none * 0, pairs[:, 0], pairs[:, 1], none * 0, none, none, at_ms, none * 0)


def checkpoints(log, *told):
    """Questions of checkpoints (at_ms, upstream, downstream)."""
    at_ms, upstream, downstream = np.array(told, np.int64).reshape(-1, 3).T
    groups, other = np.zeros(len(told), np.int64), np.zeros(len(told), np.bool_)
    return Questions(at_ms, upstream, downstream, groups, known_at(log, at_ms), other)


def judged(story, log, questions, **deleted):
    truth = align(*story.sides(**deleted))
    return judge(truth, questions, given_then(log, questions), about_others(log, truth))


def dense(count, target_gap=0):
    """Records that are all copied, behind a gap of the target."""
    story = Story([(n, 100 + n) for n in range(count)], count, target_end=target_gap)
    story.copy(count)
    return story


VERDICTS = {
    "the true place": (4, 14, Verdict.RIGHT, 0),
    "before it: records are read again": (4, 11, Verdict.RIGHT, 3),
    "behind it: one is left out": (4, 15, Verdict.MISS, -1),
    "the end of both sides": (10, 20, Verdict.RIGHT, 0),
    "behind everything": (10, 21, Verdict.UNKNOWN, -1),
    "behind the source's end": (12, 20, Verdict.UNKNOWN, -1),
}


@pytest.mark.parametrize(
    ("upstream", "answer", "verdict", "reread"), VERDICTS.values(), ids=VERDICTS
)
def test_a_checkpoint_is_judged_by_the_first_record_that_was_not_read(
    upstream, answer, verdict, reread
):
    log = syncs([(0, 10)])
    found = judged(dense(10, target_gap=10), log, checkpoints(log, (5000, upstream, answer)))
    assert (found.checkpoint[0], found.checkpoint_reread[0]) == (verdict, reread)


def test_a_certificate_is_the_one_of_its_time():
    log = syncs([(0, 10), (4, 14), (8, 18)])
    questions = checkpoints(log, (500, 5, 0), (1000, 5, 0), (2500, 5, 0), (3000, 5, 0))
    given = given_then(log, questions)
    assert given.lo.tolist() == [-1, 11, 15, 15]
    assert given.hi.tolist() == [-1, -1, -1, 18]
    found = judge(align(*dense(10, 10).sides()), questions, given, np.zeros(4, np.uint8))
    assert found.certificate.tolist() == [Verdict.NO_ANSWER] + 3 * [Verdict.RIGHT]
    assert found.certificate_reread.tolist() == [-1, 4, 0, 0]
    assert found.width.tolist() == [-1, -1, -1, 3]


def test_syncs_that_lie_give_certificates_that_miss_or_bound_too_low():
    log = syncs([(0, 10), (4, 17), (9, 18)])
    found = judged(
        dense(10, 10), log, checkpoints(log, (9000, 4, 14), (9000, 5, 15), (9000, 9, 19))
    )
    assert found.certificate.tolist() == [Verdict.MISS, Verdict.MISS, Verdict.WRONG]
    assert found.checkpoint.tolist() == 3 * [Verdict.RIGHT]


def test_no_upper_bound_is_too_low_where_compaction_may_have_taken_the_first_copy():
    log = syncs([(0, 10), (4, 14), (6, 16)])
    source = side([(n, 100 + n) for n in range(10)], 0, 10)
    # Copies 15 to 17, and with them the record that the last sync names, are gone.
    target = side([(10 + n, 100 + n) for n in range(10) if n not in (5, 6, 7)], 10, 20)
    questions = checkpoints(log, (9000, 5, 15))
    given, others = given_then(log, questions), np.zeros(4, np.uint8)
    truth = align(source, target)
    assert given.hi.tolist() == [16]
    for is_compacted, verdict in ((False, Verdict.WRONG), (True, Verdict.RIGHT)):
        found = judge(truth, questions, given, others, is_compacted=is_compacted)
        assert found.certificate.tolist() == [verdict]


def test_a_sample_is_asked_right_after_the_next_sync():
    log = syncs([(0, 10), (4, 14), (8, 18)])
    source, _ = dense(10).sides()
    asked = sample(log, source, np.zeros(4, np.uint8), since_ms=2500, most=100)
    assert (asked.upstream.tolist(), set(asked.known.tolist())) == ([4, 5, 6, 7], {3})
    assert not asked.is_checkpoint.any()
    few = sample(log, source, np.zeros(4, np.uint8), since_ms=0, most=3)
    assert few.upstream.tolist() == [0, 3, 7]
    assert few.at_ms.tolist() == [2000, 2000, 3000]


def test_what_was_said_of_a_source_topic_that_was_re_created_is_neither_right_nor_a_miss():
    # Six records of a topic that is gone are copied to 0 to 5, the new one's three to 6 to 8.
    log = syncs([(0, 0), (3, 3), (0, 6)])
    source = side([(n, 200 + n) for n in range(3)], 0, 3)
    old, new = [(n, 100 + n) for n in range(6)], [(6 + n, 200 + n) for n in range(3)]
    truth = align(source, side([*old, *new], 0, 9))
    questions = checkpoints(log, (2000, 2, 2), (2000, 1, 7), (3000, 1, 7), (3000, 1, 8))
    found = judge(truth, questions, given_then(log, questions), about_others(log, truth))
    assert found.why.tolist() == 2 * [Known.OTHER_SOURCE] + 2 * [Known.YES]
    assert found.checkpoint.tolist() == [
        Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.RIGHT, Verdict.MISS,
    ]  # fmt: skip
    assert sample(log, source, about_others(log, truth), 0, 9).upstream.tolist() == []


def test_a_source_that_only_went_back_is_the_same_topic():
    story = Story([(n, 100 + n) for n in range(8)], 8)
    story.copy(6)
    story.position = 2
    story.copy(6)
    log = syncs([(0, 0), (5, 5), (2, 6), (7, 11)])
    found = judged(story, log, checkpoints(log, (2000, 5, 5), (2000, 6, 6), (4000, 6, 11)))
    assert found.checkpoint.tolist() == [Verdict.RIGHT, Verdict.RIGHT, Verdict.MISS]


def test_what_was_said_of_a_remote_topic_that_was_re_created_cannot_be_checked():
    log = syncs([(0, 50), (5, 55), (0, 0)])
    found = judged(dense(8), log, checkpoints(log, (2000, 3, 53), (3000, 3, 3)))
    assert found.why.tolist() == [Known.OTHER_TARGET, Known.YES]
    assert found.checkpoint.tolist() == [Verdict.UNKNOWN, Verdict.RIGHT]


def test_a_sync_without_a_time_was_there_and_one_behind_a_later_time_was_not():
    log = syncs([(0, 0), (1, 1), (2, 2)], times=[-1, 3000, 2000])
    assert known_at(log, np.array([0, 1999, 2000, 3000])).tolist() == [1, 1, 3, 3]


@given(stories(), st.data())
@examples(300)
def test_certificates_from_true_syncs_never_miss(story, data):
    """A copier writes a sync when it begins, when it goes back, and whenever it likes."""
    told, last = [], -1
    for at, _ in story.target:
        rank = next((rank for rank, places in story.copies.items() if at in places), None)
        if rank is None:
            continue
        upstream = story.source[rank][0]
        if not told or upstream <= last or data.draw(st.booleans()):
            told.append((upstream, at))
        last = upstream
    log = syncs(told)
    upstreams = np.arange(story.source_end + 2)
    at_ms = np.full(len(upstreams), 10**9)
    questions = checkpoints(log, *zip(at_ms, upstreams, upstreams * 0, strict=True))
    found = judged(story, log, questions)
    assert not set(found.certificate.tolist()) & {Verdict.MISS, Verdict.WRONG}


def test_mirror_maker_2_does_not_see_what_is_in_a_chain_and_the_certificate_does():
    log = syncs([(0, 10), (4, 15), (9, 21)])._replace(chained=np.array([0, 1, 0]))
    given = given_then(log, checkpoints(log, (3000, 4, 11)))
    assert (given.lo.tolist(), given.hi.tolist(), given.mm2.tolist()) == ([15], [15], [11])

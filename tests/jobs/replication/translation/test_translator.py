"""The door to translation: one question, many at once, the end of both sides, and the way back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.translation.bounds import Facts, Why
from jobs.replication.translation.translator import SourceEnd, Translator
from tests.jobs.replication.translation.worlds import worlds

ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 1)
FACTS = st.builds(Facts, st.booleans(), st.booleans(), st.booleans())


@given(worlds(), worlds(), FACTS, st.booleans())
def test_many_questions_at_once_get_the_answers_of_each_alone(first, second, facts, is_numbered):
    told = Translator({ORDERS: first.syncs, CLICKS: second.syncs}, facts=facts)
    asked = [
        (where, offset)
        for offset in range(max(first.upstream, second.upstream) + 3)
        for where in (ORDERS, CLICKS, TopicPartition("unknown", 0))
    ]
    wheres, offsets = [where for where, _ in asked], np.array([offset for _, offset in asked])
    if is_numbered:
        names = list(dict.fromkeys(wheres))
        answers = told.translate_many(names, offsets, [names.index(where) for where in wheres])
    else:
        answers = told.translate_many(wheres, offsets.tolist())
    for at, (where, offset) in enumerate(asked):
        alone = told.translate(where, offset)
        lo, hi = int(answers.lo[at]), int(answers.hi[at])
        why = Why(int(answers.why[at]))
        if alone is None:
            assert (lo, hi, why) == (-1, -1, Why.NO_SYNC)
        else:
            assert (lo, None if hi < 0 else hi, why.text) == (alone.lo, alone.hi, alone.reason)
            assert answers.exact[at] == alone.exact


def test_so_many_offsets_need_so_many_partitions():
    with pytest.raises(ValueError, match="2 offsets of 1 partitions"):
        Translator().translate_many([ORDERS], [1, 2])


def test_no_question_has_no_answer():
    assert len(Translator({ORDERS: [(1, 1)]}).translate_many([], []).lo) == 0


@pytest.mark.parametrize(
    ("upstream", "end", "lo", "hi"),
    [
        pytest.param(50, SourceEnd(50, 45), 45, None, id="everything read"),
        pytest.param(50, SourceEnd(50, 45, 50), 45, 45, id="everything read and copied"),
        pytest.param(50, SourceEnd(50, 45, 49), 45, None, id="not everything copied"),
        pytest.param(50, SourceEnd(60, 45, 60), 21, None, id="something left to read"),
        pytest.param(10, SourceEnd(60, 45, 60), 20, 20, id="far behind"),
        pytest.param(
            10, SourceEnd(60, 45, 60, 60, 45), 45, 45, id="below the start, both are empty"
        ),
        pytest.param(
            10, SourceEnd(60, 45, 60, 60, 44), 20, 20, id="below the start, a copy is there"
        ),
        pytest.param(50, SourceEnd(50, 5), 21, None, id="an end that says less than the syncs"),
    ],
)
def test_where_both_sides_end_says_more_of_a_group_that_has_read_everything(upstream, end, lo, hi):
    found = Translator({ORDERS: [(10, 20)]}).translate(ORDERS, upstream, end=end)
    assert (found.lo, found.hi) == (lo, hi)


def test_the_ends_tell_something_even_without_any_sync():
    told = Translator()
    assert told.translate(ORDERS, 50, end=SourceEnd(50, 45)).lo == 45
    assert told.translate(ORDERS, 49, end=SourceEnd(50, 45)) is None


@given(worlds(), st.integers(0, 10))
def test_the_end_read_before_the_last_records_came_skips_none_of_them(world, later):
    """The target's end first, then the source's: what lies between is copied behind the first."""
    seen = len(world.log) - min(later, world.since_upheaval)
    behind = world.log[seen:]
    target_end = world.log[seen - 1][1] + 1 if seen else 0
    source_end = behind[0][0] if behind else world.upstream
    told = Translator({ORDERS: world.syncs})
    found = told.translate(ORDERS, source_end, end=SourceEnd(source_end, target_end))
    newest = dict(behind)
    assert found is None or all(
        found.lo <= newest[upstream] for upstream in newest if upstream >= source_end
    )


@given(worlds())
def test_mirror_maker_2s_own_answer_is_beside(world):
    told, store = Translator({ORDERS: world.syncs}), OffsetSyncStore()
    store.start(must_read_to_end=False)
    for sync in world.syncs:
        store.sync(*sync)
    for upstream in range(world.upstream + 2):
        assert told.mm2(ORDERS, upstream) == store.translate(upstream)
    assert told.mm2(CLICKS, 5) is None


def test_the_way_back_of_a_sync_is_exact():
    told = Translator({ORDERS: [(10, 20), (30, 40)]})
    assert (told.reverse(ORDERS, 20).lo, told.reverse(ORDERS, 20).exact) == (10, True)
    assert told.reverse(CLICKS, 20) is None

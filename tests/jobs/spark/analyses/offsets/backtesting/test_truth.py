"""What both sides' records prove, beside an engine whose every copy is known."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from jobs.spark.analyses.offsets.backtesting.truth import BEHIND, Known, align
from tests.examples import examples
from tests.jobs.spark.analyses.offsets.backtesting.copying import FOREIGN, Story, side, stories


def truth_of(story, **deleted):
    """Return (lowest, highest, bound, why) of every source offset."""
    upstreams = np.arange(story.source_end + 3)
    found = align(*story.sides(**deleted)).places(upstreams)
    return list(zip(*(column.tolist() for column in found), strict=True))


def copied(contents, *counts, back=()):
    """Copy so many records at a time, and go back to a rank after each."""
    story = Story(list(enumerate(contents)), len(contents))
    for count, to in zip(counts, [*back, None], strict=False):
        story.copy(count)
        story.position = story.position if to is None else to
    return story


def assert_true(story, **deleted):
    sure_to = align(*story.sides(**deleted)).sure_to
    for upstream, (lowest, highest, bound, why) in enumerate(truth_of(story, **deleted)):
        event(Known(why).name)
        place = story.place(upstream)
        if why == Known.YES:
            assert lowest <= highest <= place, upstream
            assert place == highest or place > sure_to, upstream
        if upstream <= story.source_end and bound < sure_to:
            assert place <= bound or place > sure_to, upstream


@given(stories(), st.integers(0, 8))
@examples(1000)
def test_what_is_called_known_is_so_and_what_is_called_left_out_is_left_out(story, older):
    assert_true(story, target_from=older)


@given(stories(equal=False), st.integers(0, 8), st.integers(0, 8))
@examples(700)
def test_the_same_holds_where_both_sides_deleted_their_oldest(story, older, olden):
    assert_true(story, source_from=older, target_from=olden)


@given(stories(equal=False, dropping=False))
@examples(300)
def test_where_records_differ_and_all_are_copied_every_record_is_known(story):
    found = truth_of(story)
    for offset, _ in story.source:
        lowest, highest, _, why = found[offset]
        if highest < story.target_end:
            assert (lowest, why) == (story.first_place(offset), Known.YES)


def test_a_record_copied_twice_has_two_places():
    story = copied([100, 101, 102, 103], 3, 3, back=[1])
    assert [one[:2] for one in truth_of(story)[:5]] == [(0, 0), (1, 3), (2, 4), (5, 5), (6, 6)]


def test_what_is_being_copied_again_is_not_left_out_behind_its_old_place():
    story = copied([100, 101, 102, 103], 4, 1, back=[1])
    # 101 is at 1 and 4; 102 and 103, at 2 and 3, will come behind 5.
    assert [one[1] for one in truth_of(story)[:5]] == [0, 4, 5, 5, 5]


def test_equal_records_between_two_known_ones_are_told_apart_by_their_order():
    story = copied([100, 7, 7, 7, 101], 5)
    assert [one[1] for one in truth_of(story)[:5]] == [0, 1, 2, 3, 4]


def test_equal_records_at_the_end_are_not_told_apart():
    story = copied([100, 7, 7, 7], 4)
    assert [Known(one[3]) for one in truth_of(story)[:4]] == [Known.YES] + 3 * [Known.EQUAL_RECORDS]


def test_a_single_record_out_of_order_is_a_stranger():
    story = copied([100, 101, 102, 103], 2)
    story.write(100)
    story.copy(2)
    found = truth_of(story)
    assert [one[1] for one in found[1:4]] == [1, 3, 4]
    assert found[0][3] == Known.EQUAL_RECORDS


UNKNOWN = {
    "before what the source keeps": (copied([100, 101], 2), {"source_from": 1}, 0, Known.SOURCE_DELETED),
    "a copy that the target deleted": (copied([100, 101], 2), {"target_from": 1}, 0, Known.TARGET_DELETED),
    "behind the end": (copied([100], 1), {}, 2, Known.BEHIND_END),
}  # fmt: skip


@pytest.mark.parametrize(("story", "deleted", "upstream", "why"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_known_has_its_reason(story, deleted, upstream, why):
    assert truth_of(story, **deleted)[upstream][3] == why


def test_where_records_were_compacted_away_the_targets_may_be_their_copies():
    source = side([(0, 100), (3, 103)], 0, 4)
    target = side([(0, 100), (1, 101), (2, FOREIGN), (3, 103)], 0, 4)
    places = align(source, target).places(np.arange(5))
    assert [Known(one) for one in places.why] == [
        Known.YES, Known.OTHER_RECORDS, Known.OTHER_RECORDS, Known.YES, Known.YES,
    ]  # fmt: skip
    assert places.bound.tolist() == [0, 3, 3, 3, BEHIND]


def test_the_first_record_that_is_left_out_is_named():
    truth = align(*copied([100, 101, 102], 3).sides())
    assert truth.skipped(1, 1) is None
    assert truth.skipped(1, 2) == (1, 1)

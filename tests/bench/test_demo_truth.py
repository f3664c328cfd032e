"""Checkpoints judged by the records themselves: what the hours of the demo count."""

import pytest

from bench.demo_truth import Pairs, Where, Written, judge

WHERE = Where("orders", 0)


def paired(*both: tuple[int, int]) -> Pairs:
    pairs = Pairs()
    for content, (upstream, downstream) in enumerate(both):
        pairs.target(downstream, content)
        pairs.source(upstream, content)
    return pairs


@pytest.mark.parametrize(
    ("upstream", "downstream", "skips", "reads_again"),
    [
        pytest.param(12, 27, 0, 0, id="at-its-record"),
        pytest.param(11, 27, 0, 0, id="in-a-gap-of-the-source"),
        pytest.param(12, 26, 0, 0, id="in-a-gap-of-the-target"),
        pytest.param(13, 30, 0, 0, id="at-both-ends"),
        pytest.param(12, 28, 1, 0, id="one-too-far"),
        pytest.param(12, 25, 0, 1, id="one-too-early"),
        pytest.param(12, 0, 0, 2, id="at-the-beginning"),
    ],
)
def test_a_checkpoint_is_judged_by_the_records_on_both_sides(
    upstream, downstream, skips, reads_again
):
    assert paired((5, 20), (10, 25), (12, 27)).judge(upstream, downstream) == (skips, reads_again)


def test_records_pair_by_content_however_far_one_reader_is_ahead():
    pairs = Pairs()
    for offset in range(3):
        pairs.target(100 + offset, offset)
    for offset in range(3):
        pairs.source(offset, offset)
    assert list(pairs.upstream) == [0, 1, 2]
    assert list(pairs.downstream) == [100, 101, 102]


def test_a_source_record_that_the_target_passed_over_is_missing():
    pairs = Pairs()
    for offset in range(3):
        pairs.source(offset, offset)
    pairs.target(50, 0)
    pairs.target(51, 2)
    assert pairs.missing == 1
    assert list(pairs.downstream) == [50, 51]


def test_a_target_record_that_is_no_copy_is_unexpected():
    pairs = Pairs()
    pairs.target(0, 99)
    pairs.source(7, 1)
    pairs.target(1, 1)
    assert pairs.unexpected == 1
    assert list(pairs.downstream) == [1]


def written(*both: tuple[int, int]) -> list[Written]:
    return [Written("g", WHERE, upstream, downstream, 0) for upstream, downstream in both]


@pytest.mark.parametrize(
    ("told", "zero", "skipping", "falling"),
    [
        pytest.param([(5, 20), (10, 25)], 0, 0, 0, id="right"),
        pytest.param([(10, 25), (10, 0)], 1, 0, 1, id="zero-after-a-right-one"),
        pytest.param([(12, 27), (10, 25)], 0, 0, 0, id="the-group-went-back"),
        pytest.param([(12, 27), (13, 25)], 0, 0, 1, id="falls-while-the-group-goes-on"),
        pytest.param([(5, 25)], 0, 1, 0, id="skips-a-record"),
        pytest.param([(5, 0)], 0, 0, 0, id="zero-before-all-records"),
    ],
)
def test_checkpoints_are_counted_that_are_zero_skip_or_fall(told, zero, skipping, falling):
    found = judge(written(*told), {WHERE: paired((5, 20), (10, 25), (12, 27))})
    assert (found["target_offset_zero"], found["would_skip_records"], found["falling"]) == (
        zero,
        skipping,
        falling,
    )

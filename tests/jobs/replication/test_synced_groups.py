"""A group of the target that is ahead of what its source has read would skip records: it is found."""

import pytest

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.sync_history import Certificate
from jobs.replication.synced_groups import Ahead, find_ahead_of_source

WHERE = TopicPartition("east.orders", 0)


def found(offset: int | None, lo: int, hi: int | None):
    certificates = {WHERE: Certificate(lo, hi, "because")}
    return list(find_ahead_of_source("billing", certificates, {WHERE: CommittedOffset(offset)}))


@pytest.mark.parametrize(
    ("offset", "lo", "hi"),
    [
        pytest.param(19, 20, 20, id="behind"),
        pytest.param(20, 20, 20, id="there"),
        pytest.param(20, 20, None, id="there, without an upper bound"),
        pytest.param(None, 20, 20, id="without an offset"),
    ],
)
def test_a_group_that_would_skip_nothing_is_not_told(offset, lo, hi):
    assert found(offset, lo, hi) == []


@pytest.mark.parametrize(
    ("offset", "lo", "hi", "sure", "at_least", "skipped"),
    [
        pytest.param(50, 20, 20, Ahead.SURELY, 30, 30, id="ahead of an exact place"),
        pytest.param(50, 20, 30, Ahead.SURELY, 20, 30, id="ahead of both bounds"),
        pytest.param(25, 20, 30, Ahead.MAYBE, 0, 5, id="between the bounds"),
        pytest.param(50, 20, None, Ahead.MAYBE, 0, 30, id="without an upper bound"),
    ],
)
def test_a_group_that_would_skip_records_is_told_with_how_many(
    offset, lo, hi, sure, at_least, skipped
):
    (one,) = found(offset, lo, hi)
    assert (one.sure, one.at_least, one.skipped) == (sure, at_least, skipped)
    assert f"stands at {offset} of east.orders-0" in str(one)


def test_a_partition_without_a_translation_or_an_offset_says_nothing():
    other = TopicPartition("east.clicks", 0)
    committed = {other: CommittedOffset(50)}
    assert not list(find_ahead_of_source("g", {WHERE: Certificate(1, 1, "")}, committed))

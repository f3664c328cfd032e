"""What a partition knows of itself while it is copied."""

import pytest

from jobs.replication.copy.contract import CopyState, PartitionStart
from jobs.replication.copy.records.partition import BATCH_OVERHEAD_BYTES, CopiedPartition


def part(position=10, remote_end=None):
    return CopiedPartition(PartitionStart("orders", 3, position, "east.orders", remote_end))


def queue(copied, count, size=7):
    copied.receives()
    copied.position += count
    copied.records += count
    copied.bytes += count * size
    copied.last_timestamp_ms = copied.position * 1000


def test_only_what_is_safe_is_shown():
    copied = part()
    queue(copied, 5)
    shown = copied.progress()
    assert (shown.position, shown.records, shown.bytes) == (10, 0, 0)
    assert shown.last_timestamp_ms is None
    copied.settle()
    shown = copied.progress()
    assert (shown.position, shown.records, shown.bytes) == (15, 5, 35)
    assert shown.last_timestamp_ms == 15_000


def test_a_commit_counts_when_it_moves_the_position():
    copied = part()
    copied.settle()
    queue(copied, 5)
    copied.settle()
    copied.settle()
    assert copied.progress().commits == 1


def test_beginning_again_forgets_what_is_not_safe():
    copied = part()
    queue(copied, 5)
    copied.settle()
    queue(copied, 2)
    copied.begin(None)
    assert (copied.position, copied.pending, copied.bytes) == (15, 0, 35)
    assert copied.last_timestamp_ms == 15_000


@pytest.mark.parametrize(
    ("before", "now", "duplicates"),
    [
        pytest.param(100, 107, 7, id="more than at the last commit"),
        pytest.param(100, 100, 0, id="as at the last commit"),
        pytest.param(None, 107, 0, id="a first start"),
        pytest.param(100, None, 0, id="the target does not say"),
        pytest.param(100, 3, 0, id="a remote topic that was made again"),
    ],
)
def test_what_the_target_has_beyond_the_last_commit_is_written_twice(before, now, duplicates):
    copied = part(remote_end=before)
    copied.begin(now)
    shown = copied.progress()
    assert shown.duplicates == duplicates
    assert bool(shown.findings) is (duplicates > 0)


def test_duplicates_of_several_beginnings_add_up():
    copied = part(remote_end=100)
    copied.begin(103)
    queue(copied, 5)
    assert copied.remote_end_now() == 108
    copied.settle()
    copied.begin(110)
    assert copied.duplicates == 5


def test_markers_at_the_end_move_the_position_but_are_no_records():
    copied = part()
    queue(copied, 1)
    copied.reached_end(14)
    assert (copied.position, copied.records) == (14, 1)


def test_caught_up_is_shown_when_everything_is_safe():
    copied = part()
    queue(copied, 1)
    copied.reached_end(11)
    assert copied.progress().state is CopyState.COPYING
    copied.settle()
    assert copied.progress().state is CopyState.CAUGHT_UP


def test_a_cluster_that_is_away_is_the_reason_of_open_partitions_only():
    copied, failed = part(), part()
    failed.fail("too large")
    assert copied.progress("west is away").reason == "west is away"
    assert copied.progress("west is away").state is CopyState.RETRYING
    assert failed.progress("west is away").reason == "too large"


def test_care_ends_when_the_place_of_the_refusal_is_behind():
    copied = part()
    copied.limited_to(1000)
    easy = 1000 - BATCH_OVERHEAD_BYTES
    assert (copied.easy_bytes, copied.is_large(easy), copied.is_large(easy + 1)) == (
        easy,
        False,
        True,
    )
    copied.be_careful(until=12, chunk=0)
    queue(copied, 1)
    copied.settle()
    assert (copied.chunk, copied.easy_bytes) == (1, -1)
    queue(copied, 1)
    copied.settle()
    assert (copied.chunk, copied.easy_bytes) == (0, easy)


def test_a_lost_range_is_told_once_with_its_offsets():
    copied = part()
    copied.skip_to(25)
    copied.begin(None)
    copied.skip_to(25)
    (finding,) = copied.progress().findings
    assert "Offsets 10 to 24 of orders-3" in finding
    assert "up to 15 records" in finding


def test_a_record_with_timestamp_0_that_is_written_again_is_counted_once():
    copied = part()
    for offset in (11, 12, 11, 12, 13):
        copied.has_zero_timestamp(offset)
    (finding,) = copied.progress().findings
    assert finding.startswith("3 records, the first at offset 11,")


def test_a_partition_that_is_set_aside_begins_again():
    copied = part()
    copied.set_aside("not there", 5.0)
    assert (copied.is_open, copied.retry_at) == (True, 5.0)
    copied.begin(None)
    assert (copied.retry_at, copied.reason) == (None, "")

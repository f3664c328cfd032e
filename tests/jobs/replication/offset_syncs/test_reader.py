"""Offset syncs out of fetched bytes: what counts, what is passed by, and where something is missing."""

import random

import pytest

from jobs.replication.offset_syncs.reader import UNREADABLE, take_syncs
from jobs.wire.batches.record_batch import HIGHEST_OFFSET
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.topics.offset_syncs import DAMAGED, MOST_SYNCS, NULL
from jobs.wire.topics.sync_links import encode_chain
from tests.jobs.replication.offset_syncs.sync_logs import ABORT, COMMIT, batch, marker
from tests.jobs.wire.mutations import damaged_batch


def take(*batches, position=0, **more):
    return take_syncs(memoryview(b"".join(batches)), position, **more)


def upstreams(taken):
    return taken.rows.upstream.tolist()


def test_syncs_come_with_how_far_was_read():
    taken = take(batch(0, 1), batch(2))
    assert upstreams(taken) == [0, 1, 2]
    assert (taken.first_offset, taken.next_offset, taken.holes) == (0, 3, 0)
    assert taken.newest_at_ms == 1002


def test_markers_are_no_holes():
    taken = take(
        batch(0, is_transactional=True, producer_id=7), marker(1, COMMIT), batch(2), position=0
    )
    assert (upstreams(taken), taken.holes, taken.missing) == ([0, 2], 0, None)


def test_aborted_syncs_do_not_count_and_are_no_hole():
    taken = take(
        batch(0, is_transactional=True, producer_id=7),
        marker(1, ABORT),
        batch(2, is_transactional=True, producer_id=7),
        marker(3, COMMIT),
        aborted=[(7, 0)],
    )
    assert (upstreams(taken), taken.holes) == ([2], 0)


@pytest.mark.parametrize(
    ("batches", "missing", "same_side"),
    [
        pytest.param([batch(0), batch(5)], (1, 5), [True, False], id="between batches"),
        pytest.param([batch(0, 2)], (0, 3), [True, True], id="inside a batch"),
        pytest.param([batch(0, 2), batch(3)], (0, 3), [True, True, False], id="inside, and more"),
        pytest.param(
            [batch(0), batch(1, last=3), batch(4)], (1, 4), [True, False, False], id="end"
        ),
    ],
)
def test_where_records_were_removed_is_a_hole(batches, missing, same_side):
    taken = take(*batches)
    assert taken.missing == missing
    holes = taken.rows.hole.tolist()
    assert [hole == holes[0] for hole in holes] == same_side
    assert taken.holes >= holes[-1]


def test_a_position_inside_a_batch_is_where_its_syncs_begin_to_count():
    assert upstreams(take(batch(3, 4, 5), position=4)) == [4, 5]


def test_damaged_and_foreign_records_are_counted_and_the_next_are_read():
    broken = batch(0)[:-1] + b"x"
    foreign = encode_batch([PlacedRecord(1, 1, b"key", None)])
    taken = take(broken, foreign, batch(2))
    assert upstreams(taken) == [2]
    assert taken.refused == {DAMAGED: 1, NULL: 1}
    assert taken.holes == 0


def test_bytes_that_are_no_batch_are_passed_by():
    garbage = b"\x00" * 7 + b"\x01" + b"\xff" * 60
    taken = take(batch(0), garbage)
    assert (upstreams(taken), taken.refused, taken.next_offset) == ([0], {UNREADABLE: 1}, 2)


def test_a_batch_with_offsets_that_no_log_has_is_passed_by():
    beyond = (2**63 - 1).to_bytes(8, "big") + batch(1)[8:]
    taken = take(batch(0), beyond)
    assert (upstreams(taken), taken.refused, taken.next_offset) == ([0], {UNREADABLE: 1}, 2)


@pytest.mark.parametrize("seed", range(2))
def test_damaged_bytes_never_stop_the_reading(seed):
    chance = random.Random(seed)
    for _ in range(500):
        fetched = b"".join(
            damaged_batch(one, chance) for one in (batch(0, 1), batch(2), batch(3, 4, 5))
        )
        taken = take_syncs(memoryview(fetched), 1)
        assert 1 <= taken.next_offset <= HIGHEST_OFFSET
        assert len(taken.rows.upstream) <= 6


def test_nothing_is_read_of_nothing():
    taken = take(position=5)
    assert (taken.next_offset, taken.first_offset, taken.newest_at_ms) == (5, None, None)


def chained(offset, *pairs) -> bytes:
    """One batch with a record at an offset that follows the first pair and tells all others."""
    sync = encode_offset_sync(OffsetSync("orders", 0, *pairs[-1]))
    header = (b"crosslog.chain", encode_chain(pairs[:-1]))
    return encode_batch([PlacedRecord(offset, 1000, *sync, (header,))])


def test_the_syncs_of_a_record_stand_behind_the_same_hole_and_come_with_it():
    content = [batch(0), chained(5, (0, 10), (2, 13), (4, 14)), batch(6)]
    taken = take(*content)
    assert upstreams(taken) == [0, 2, 4, 6]
    assert taken.rows.hole.tolist() == [0, 1, 1, 1]
    assert taken.rows.follows_upstream.tolist() == [-1, 0, 2, -1]
    assert (upstreams(take(*content, position=6)), taken.next_offset) == ([6], 7)
    assert taken.rows.records().upstream.tolist() == [0, 4, 6]


def test_very_many_syncs_are_read_in_several_calls_and_none_is_left_out():
    each, count = 8000, 260
    pairs = [(n, 10 + n) for n in range(each * count + 1)]
    records = [chained(at, *pairs[at * each : (at + 1) * each + 1]) for at in range(count)]
    position, calls, found = 0, 0, []
    while position < count:
        taken = take(*records[position:], position=position)
        assert len(taken.rows.upstream) < 2 * MOST_SYNCS
        position, calls = taken.next_offset, calls + 1
        found += upstreams(taken)
    assert found == list(range(1, each * count + 1))
    assert calls > 1

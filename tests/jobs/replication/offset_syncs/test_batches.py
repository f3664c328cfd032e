"""Offset syncs out of fetched bytes: what counts, what is passed by, and where something is missing."""

import random

import pytest

from jobs.replication.offset_syncs.batches import UNREADABLE, take_syncs
from jobs.wire.batches.record_batch import HIGHEST_OFFSET
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.topics.offset_syncs import DAMAGED, NULL
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

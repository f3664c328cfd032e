"""What is dropped, what passes as it is, what is repacked, and where it ends."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.copy.batches.filter import BatchFilter, OutgoingBatch
from jobs.wire.batches.record_batch import (
    BatchHeader,
    Codec,
    ControlType,
    claim_batch,
    has_valid_crc,
)
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records
from jobs.wire.errors import Damaged, ExpandsTooFar, OldMagic
from tests.examples import examples
from tests.jobs.replication.copy.batches.logs import Log, data, logs, marker, plain
from tests.jobs.wire.strategies import flipped

LARGE = 1 << 20
# A message of magic 1, as brokers before 0.11 wrote it: CRC 0, no key, no value.
OLD = (90).to_bytes(8, "big") + (22).to_bytes(4, "big") + bytes(4) + b"\1" + bytes(9) + b"\xff" * 8


def sent(parcels: list[OutgoingBatch]) -> list[PlacedRecord]:
    """Return the records of outgoing batches at their upstream offsets."""
    found = []
    for parcel in parcels:
        records = placed_records(parcel.batch)
        assert len(records) == parcel.record_count
        for index, record in enumerate(records):
            found.append(
                PlacedRecord(
                    parcel.offset_of(index),
                    record.timestamp,
                    record.key,
                    record.value,
                    record.headers,
                )
            )
    return found


def take_all(intake: BatchFilter, log: Log, position: int, step: int) -> list[OutgoingBatch]:
    """Fetch a log to its end, some batches at a time."""
    parcels = []
    while position < log.end:
        taken = intake.filter(*_swapped(log.fetch(position, step), position))
        assert taken.problem is None
        assert taken.next_offset > position
        position = taken.next_offset
        parcels += taken.batches
    return parcels


def _swapped(answer, position):
    fetched, aborted = answer
    return fetched, position, aborted


@examples(150)
@given(
    log=logs(),
    committed=st.booleans(),
    step=st.integers(1, 13),
    skipped=st.integers(0, 40),
    small=st.sampled_from([0, 300, 1 << 20]),
    target=st.sampled_from([200, 1 << 19]),
    limit=st.sampled_from([150, 1000, 1 << 20]),
)
def test_what_comes_out_is_what_a_reader_of_single_records_sees(
    log, committed, step, skipped, small, target, limit
):
    intake = BatchFilter(limit, committed, dict.fromkeys(Codec, small), target)
    position = min(BatchHeader.decode(log.batches[0]).base_offset + skipped, log.end)
    parcels = take_all(intake, log, position, step)
    assert plain(sent(parcels)) == plain(log.records(position, committed=committed))
    for before, after in pairwise(parcels):
        assert before.next_offset <= after.from_offset <= after.first_offset
    for parcel in parcels:
        assert has_valid_crc(parcel.batch)
        assert len(parcel.batch) <= limit or parcel.record_count == 1
        assert parcel.last_offset < parcel.next_offset
        identity = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
        assert claim_batch(parcel.batch, **identity, transactional=True)


@examples(60)
@given(log=logs(), until=st.integers(0, 60), step=st.integers(1, 13))
def test_nothing_comes_out_from_the_first_unwanted_offset_on(log, until, step):
    position = BatchHeader.decode(log.batches[0]).base_offset
    intake = BatchFilter(LARGE, until=position + until)
    parcels = []
    while position < min(log.end, intake.until):
        taken = intake.filter(*_swapped(log.fetch(position, step), position))
        position = taken.next_offset
        parcels += taken.batches
    assert position <= intake.until
    wanted = [r for r in log.records(0, committed=True) if r.offset < intake.until]
    assert plain(sent(parcels)) == plain(wanted)


def test_markers_are_dropped_and_the_position_passes_them():
    log = memoryview(data(10) + marker(13, 7, ControlType.COMMIT))
    taken = BatchFilter(LARGE).filter(log, 10)
    assert [parcel.next_offset for parcel in taken.batches] == [13]
    assert taken.next_offset == 14


def test_an_abort_of_one_producer_does_not_touch_what_the_other_writes_in_between():
    transactional = {"is_transactional": True, "producer_epoch": 0, "base_sequence": 0}
    log = memoryview(
        data(0, producer_id=7, **transactional)
        + data(3, producer_id=8, **transactional)
        + data(6, producer_id=7, **transactional)
        + marker(9, 7, ControlType.ABORT)
        + data(10, producer_id=7, **transactional)
        + marker(13, 8, ControlType.COMMIT)
        + marker(14, 7, ControlType.COMMIT)
    )
    taken = BatchFilter(LARGE).filter(log, 0, [(7, 0)])
    assert [r.offset for r in sent(taken.batches)] == [3, 4, 5, 10, 11, 12]


def test_an_abort_that_began_in_an_earlier_fetch_is_dropped_and_forgotten_after_it():
    """Every answer names all aborted transactions that reach into it."""
    transactional = {
        "is_transactional": True,
        "producer_id": 7,
        "producer_epoch": 0,
        "base_sequence": 0,
    }
    intake = BatchFilter(LARGE)
    assert intake.filter(memoryview(data(0, **transactional)), 0, [(7, 0)]).batches == []
    second = memoryview(
        data(3, **transactional)
        + marker(6, 7, ControlType.ABORT)
        + data(7, **transactional)
        + marker(10, 7, ControlType.COMMIT)
    )
    assert [r.offset for r in sent(intake.filter(second, 3, [(7, 0)]).batches)] == [7, 8, 9]
    # The marker was lost to the cleaner: what comes in the next answer is not named in it, so it counts.
    assert intake.filter(memoryview(data(11, **transactional)), 11, [(7, 11)]).batches == []
    later = memoryview(data(14, **transactional))
    assert len(intake.filter(later, 14).batches) == 1


def test_with_read_uncommitted_everything_but_markers_comes_out():
    transactional = {
        "is_transactional": True,
        "producer_id": 7,
        "producer_epoch": 0,
        "base_sequence": 0,
    }
    log = memoryview(data(0, **transactional) + marker(3, 7, ControlType.ABORT) + data(4))
    taken = BatchFilter(LARGE, read_committed=False).filter(log, 0)
    assert [r.offset for r in sent(taken.batches)] == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("batch", "why"),
    [
        pytest.param(data(10, 3, 50_000), False, id="large: as it is"),
        pytest.param(data(10, 3, 50_000, codec=Codec.LZ4), False, id="alone and small: as it is"),
        pytest.param(data(10, 3, 50_000, last_offset=20), True, id="a gap at its end"),
        pytest.param(data(10, 3, 50_000, base_offset=8), True, id="a gap at its beginning"),
        pytest.param(data(10, 3, 50_000, log_append_time_ms=5), True, id="LogAppendTime"),
        pytest.param(data(10, 3, 50_000, delete_horizon_ms=5), True, id="a delete horizon"),
        pytest.param(data(9, 4, 50_000), True, id="begins before the position"),
        pytest.param(data(10, 3, 400_000), True, id="larger than the target takes"),
    ],
)
def test_a_batch_passes_as_it_is_where_it_can(batch, why):
    taken = BatchFilter(900_000).filter(memoryview(batch), 10)
    assert {parcel.is_packed for parcel in taken.batches} == {why}
    if not why:
        assert bytes(taken.batches[0].batch) == batch


def test_small_batches_are_packed_together_and_a_large_one_between_them_is_not_touched():
    large = data(6, 3, 50_000)
    log = memoryview(data(0) + data(3) + large + data(9) + data(12))
    taken = BatchFilter(LARGE).filter(log, 0)
    assert [(p.first_offset, p.record_count, p.is_packed) for p in taken.batches] == [
        (0, 6, True),
        (6, 3, False),
        (9, 6, True),
    ]


@pytest.mark.parametrize("until", [None, 6, 7])
def test_an_abort_that_begins_between_small_batches_and_an_end_there_are_both_kept(until):
    mine, other = (
        {"is_transactional": True, "producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
        for producer in (7, 8)
    )
    log = data(0, **mine) + data(3, **other) + data(6, **mine) + data(9, **other)
    taken = BatchFilter(LARGE, until=until).filter(memoryview(log), 0, [(8, 3)])
    wanted = [0, 1, 2, 6, 7, 8]
    assert [r.offset for r in sent(taken.batches)] == [o for o in wanted if o < (until or 99)]
    assert taken.next_offset == (until or 12)


def test_the_last_of_many_small_batches_says_where_it_resumes_and_how_far_was_seen():
    log = b"".join(data(offset) for offset in range(0, 300, 3))
    taken = BatchFilter(LARGE).filter(memoryview(log + data(300)[:-1]), 0)
    assert (taken.next_offset, taken.last_seen, len(taken.batches)) == (300, 299, 1)
    assert [r.offset for r in sent(taken.batches)] == list(range(300))


def test_every_record_keeps_the_compression_and_the_leader_epoch_of_its_batch():
    log = b""
    kinds = [(Codec.NONE, 1), (Codec.NONE, 1), (Codec.ZSTD, 1), (Codec.ZSTD, 2), (Codec.LZ4, 2)]
    for index, (codec, epoch) in enumerate(kinds):
        log += data(3 * index, codec=codec, partition_leader_epoch=epoch)
    taken = BatchFilter(LARGE).filter(memoryview(log), 0)
    found = [(BatchHeader.decode(p.batch).codec, p.leader_epoch) for p in taken.batches]
    assert found == [(Codec.NONE, 1), (Codec.ZSTD, 1), (Codec.ZSTD, 2), (Codec.LZ4, 2)]
    assert taken.leader_epoch == 2


def test_a_batch_that_is_cut_off_comes_with_the_next_fetch():
    whole, cut = data(0), data(3)
    taken = BatchFilter(LARGE).filter(memoryview(whole + cut[:-1]), 0)
    assert (len(taken.batches), taken.next_offset, taken.problem) == (1, 3, None)


def test_an_answer_that_ends_before_what_was_asked_for_is_not_asked_for_again():
    taken = BatchFilter(LARGE).filter(memoryview(data(0) + data(3)), 6)
    assert isinstance(taken.problem, Damaged)
    assert (taken.batches, taken.next_offset) == ([], 6)


def test_batches_that_compaction_emptied_are_passed():
    empty = encode_batch([], base_offset=3, last_offset=9)
    taken = BatchFilter(LARGE).filter(memoryview(data(0) + empty), 0)
    assert (len(taken.batches), taken.next_offset) == (1, 10)


def test_before_an_old_format_everything_is_taken():
    taken = BatchFilter(LARGE).filter(memoryview(data(84) + data(87) + OLD), 84)
    assert [r.offset for r in sent(taken.batches)] == [84, 85, 86, 87, 88, 89]
    assert isinstance(taken.problem, OldMagic)
    assert taken.next_offset == 90


def test_before_a_damaged_batch_everything_is_taken_and_nothing_behind_it():
    bad = bytes(flipped(data(6), 8 * 80))
    taken = BatchFilter(LARGE).filter(memoryview(data(0) + data(3) + bad + data(9)), 0)
    assert [r.offset for r in sent(taken.batches)] == [0, 1, 2, 3, 4, 5]
    assert isinstance(taken.problem, Damaged)
    assert taken.next_offset == 6


def test_before_bytes_that_are_no_batch_everything_is_taken():
    log = data(0) + (3).to_bytes(8, "big") + b"\0\0\0\1" + bytes(80)
    taken = BatchFilter(LARGE).filter(memoryview(log), 0)
    assert [r.offset for r in sent(taken.batches)] == [0, 1, 2]
    assert isinstance(taken.problem, Damaged)
    assert taken.next_offset == 3


def test_a_batch_that_expands_too_far_ends_it_only_where_it_must_be_opened(monkeypatch):
    monkeypatch.setattr("jobs.wire.rebatch.rebatcher.EXPANSION_LIMIT_BYTES", 1000)
    bomb = data(3, 50, 1000, codec=Codec.ZSTD)
    passing = BatchFilter(LARGE, small_bytes=dict.fromkeys(Codec, 0))
    assert passing.filter(memoryview(bomb), 3).problem is None
    taken = BatchFilter(LARGE).filter(memoryview(data(0, codec=Codec.ZSTD) + bomb), 0)
    assert [r.offset for r in sent(taken.batches)] == [0, 1, 2]
    assert isinstance(taken.problem, ExpandsTooFar)
    assert taken.next_offset == 3


def test_a_damaged_batch_that_would_have_to_be_cut_is_not_laundered():
    """Cutting makes a new CRC, so the old one is compared before."""
    bad = flipped(data(0, 5, 50_000), 8 * 200)
    taken = BatchFilter(LARGE, until=2).filter(bad, 0)
    assert taken.batches == []
    assert isinstance(taken.problem, Damaged)

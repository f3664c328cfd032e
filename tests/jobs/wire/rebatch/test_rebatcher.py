"""Re-batching: the same records in batches that a broker takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    Codec,
    iterate_batches,
    verify_crc,
)
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records, records_body, seal
from jobs.wire.errors import Damaged
from jobs.wire.rebatch import compiled as rebatch_compiled
from jobs.wire.rebatch.rebatcher import alike, change_points, rebatch
from tests.jobs.wire.rebatch import plain as rebatch_plain
from tests.jobs.wire.strategies import codecs, dense, flipped, stretches

# The first example waits for the compiler.
PATIENT = settings(deadline=None)
BOTH = pytest.mark.parametrize(
    "kernels", [rebatch_plain, rebatch_compiled], ids=["plain", "compiled"]
)
ROOMY = {"from_offset": 0, "codec": None, "target_bytes": 10**6, "limit_bytes": 10**6}
sizes = st.one_of(st.integers(0, 400), st.just(10**6))
asked = st.fixed_dictionaries({
    "codec": st.one_of(st.none(), codecs),
    "target_bytes": sizes,
    "limit_bytes": sizes,
})  # fmt: skip


def fields(made):
    offsets = None if made.offsets is None else made.offsets.tolist()
    return (
        made.header_and_records,
        made.record_count,
        made.first_offset,
        made.last_offset,
        offsets,
        made.max_timestamp,
        made.key_value_bytes,
    )


def upstream_offsets(made):
    if made.offsets is None:
        return list(range(made.first_offset, made.first_offset + made.record_count))
    return made.offsets.tolist()


def copied(made_batches):
    """Return the records of new batches at their upstream offsets."""
    return [
        PlacedRecord(
            offset, record.timestamp, record.key, record.value, record.headers, record.attributes
        )
        for made in made_batches
        for offset, record in zip(
            upstream_offsets(made), placed_records(made.header_and_records), strict=True
        )
    ]


def uncompressed_bytes(made):
    batch = made.header_and_records
    return len(records_body(BatchHeader.decode(batch), batch, 10**7))


def starts(stretch):
    """Offsets to begin at: before all, at or between records, behind all."""
    offsets = [record.offset for records, _ in stretch for record in records]
    return st.sampled_from([0, *offsets, *(offset + 1 for offset in offsets)])


@PATIENT
@given(st.data())
def test_compiled_and_plain_code_make_the_same_bytes(data):
    stretch = data.draw(stretches())
    ask = data.draw(asked) | {"from_offset": data.draw(starts(stretch))}
    batches = [batch for _, batch in stretch]
    plain = rebatch(batches, **ask, kernels=rebatch_plain)
    compiled = rebatch(batches, **ask, kernels=rebatch_compiled)
    assert list(map(fields, compiled)) == list(map(fields, plain))


@BOTH
@PATIENT
@given(data=st.data())
def test_a_consumer_sees_the_same_records_as_at_the_source(kernels, data):
    stretch = data.draw(stretches())
    start = data.draw(starts(stretch))
    batches = [batch for _, batch in stretch]
    made = rebatch(batches, **data.draw(asked), from_offset=start, kernels=kernels)
    at_source = [record for batch in batches for record in placed_records(batch)]
    assert copied(made) == [record for record in at_source if record.offset >= start]


@BOTH
@PATIENT
@given(data=st.data())
def test_every_new_batch_is_one_that_a_broker_takes(kernels, data):
    stretch = data.draw(stretches())
    batches = [batch for _, batch in stretch]
    for made in rebatch(batches, **ROOMY | data.draw(asked), kernels=kernels):
        verify_crc(made.header_and_records)
        ((header, _),) = iterate_batches(made.header_and_records)
        assert header.is_claimable
        assert not header.is_transactional
        assert not header.is_log_append_time
        unowned = (header.producer_id, header.producer_epoch, header.base_sequence)
        assert (header.base_offset, header.partition_leader_epoch, unowned) == (0, -1, (-1,) * 3)


@BOTH
@PATIENT
@given(data=st.data())
def test_what_is_said_about_a_new_batch_is_true(kernels, data):
    stretch = data.draw(stretches())
    batches = [batch for _, batch in stretch]
    for made in rebatch(batches, **ROOMY | data.draw(asked), kernels=kernels):
        records = placed_records(made.header_and_records)
        header = BatchHeader.decode(made.header_and_records)
        latest = max(record.timestamp for record in records)
        assert (made.max_timestamp, header.max_timestamp) == (latest, latest)
        assert header.base_timestamp == records[0].timestamp
        assert made.record_count == len(records) == header.record_count
        assert made.key_value_bytes == sum(
            len(record.key or b"") + len(record.value or b"") for record in records
        )


@BOTH
@PATIENT
@given(data=st.data())
def test_target_and_limit_hold_unless_a_single_record_is_larger(kernels, data):
    stretch = data.draw(stretches())
    ask = data.draw(asked)
    for made in rebatch([b for _, b in stretch], from_offset=0, **ask, kernels=kernels):
        if made.record_count > 1:
            assert uncompressed_bytes(made) <= ask["target_bytes"]
            assert len(made.header_and_records) <= ask["limit_bytes"]


@BOTH
def test_batches_are_filled_up_to_the_target(kernels):
    batches = [dense(count=10, offset=100 + 10 * number) for number in range(20)]
    made = rebatch(batches, **ROOMY | {"target_bytes": 1000}, kernels=kernels)
    assert all(960 < uncompressed_bytes(one) <= 1000 for one in made[:-1])


@BOTH
@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_records_that_compression_makes_longer_still_keep_the_limit(kernels, codec):
    random = np.random.default_rng(1)
    records = [PlacedRecord(n, 0, None, random.bytes(100)) for n in range(40)]
    limit = HEADER_BYTES + 1090  # ten records fit uncompressed, and not with a frame around them
    ask = {"codec": codec, "target_bytes": 10**6, "limit_bytes": limit}
    made = rebatch([encode_batch(records)], from_offset=0, **ask, kernels=kernels)
    assert all(len(one.header_and_records) <= limit for one in made)
    assert copied(made) == records


@BOTH
def test_a_record_above_the_limit_is_alone_in_its_batch(kernels):
    records = [PlacedRecord(n, 0, None, b"x" * (500 if n == 1 else 1)) for n in range(3)]
    made = rebatch([encode_batch(records)], **ROOMY | {"limit_bytes": 200}, kernels=kernels)
    assert [one.record_count for one in made] == [1, 1, 1]
    assert len(made[1].header_and_records) > 200


@BOTH
@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_without_a_codec_the_first_batch_decides(kernels, codec):
    batches = [dense(offset=0, codec=codec), dense(offset=3, codec=Codec.GZIP)]
    (made,) = rebatch(batches, **ROOMY, kernels=kernels)
    assert BatchHeader.decode(made.header_and_records).codec is codec


@BOTH
def test_bytes_that_are_not_in_their_shortest_form_stay_as_they_are(kernels):
    # The length of the value, 1, written in three bytes.
    odd = bytes.fromhex("14 00 00 00 01 82 80 00 76 02 02 61 01")
    odd = bytes([2 * (len(odd) - 1)]) + odd[1:]
    source = BatchHeader.decode(dense(count=1))
    (made,) = rebatch([seal(source, odd)], **ROOMY, kernels=kernels)
    assert made.header_and_records[HEADER_BYTES:] == odd


@BOTH
def test_dense_offsets_are_not_listed(kernels):
    (made,) = rebatch([dense(offset=5), dense(offset=8)], **ROOMY, kernels=kernels)
    assert (made.first_offset, made.last_offset, made.offsets) == (5, 10, None)


@BOTH
def test_offsets_with_a_gap_are_listed(kernels):
    (made,) = rebatch([dense(offset=5), dense(offset=9)], **ROOMY, kernels=kernels)
    assert made.offsets.tolist() == [5, 6, 7, 9, 10, 11]


@BOTH
def test_listed_offsets_outlive_the_next_call(kernels):
    (made,) = rebatch([dense(offset=5), dense(offset=9)], **ROOMY, kernels=kernels)
    rebatch([dense(offset=50), dense(offset=99)], **ROOMY, kernels=kernels)
    assert made.offsets.tolist() == [5, 6, 7, 9, 10, 11]


@BOTH
@pytest.mark.parametrize(
    "batches",
    [
        [],
        [dense(offset=5)],
        [encode_batch([], base_offset=60, last_offset=70)],
        [encode_batch([], base_offset=60, last_offset=70, codec=Codec.LZ4)],
    ],
    ids=["no batch", "all below", "cleaned to nothing", "cleaned to nothing, compressed"],
)
def test_without_records_there_is_no_batch(kernels, batches):
    assert rebatch(batches, **ROOMY | {"from_offset": 50}, kernels=kernels) == []


@BOTH
def test_views_of_a_larger_buffer_are_taken(kernels):
    fetched = memoryview(b"".join(dense(offset=3 * number) for number in range(5)))
    (made,) = rebatch([view for _, view in iterate_batches(fetched)], **ROOMY, kernels=kernels)
    assert made.record_count == 15


def end_of_transaction(offset, kind):
    key = b"\0\0" + kind.to_bytes(2, "big")
    marker = PlacedRecord(offset, 5, key, b"\0" * 6)
    return encode_batch([marker], is_control=True, is_transactional=True, producer_id=7)


MASK = 0x17
ALIKE = {
    "small ones": (dense(offset=3) + dense(offset=6), 2),
    "a gap between them": (dense(offset=3) + dense(offset=9), 2),
    "one that is cut off": (dense(offset=3) + dense(offset=6)[:-1], 1),
    "one of another compression": (dense(offset=3, codec=Codec.LZ4) + dense(offset=6), 0),
    "one of a transaction": (dense(offset=3) + dense(offset=6, is_transactional=True), 1),
    "a commit behind the last": (dense(offset=3) + end_of_transaction(6, 1), 1),
    "an abort": (dense(offset=3) + end_of_transaction(6, 0) + dense(offset=7), 1),
    "a control batch of no known form": (dense(offset=3) + dense(offset=6, is_control=True), 1),
    "a time of the broker's": (dense(offset=3, log_append_time_ms=5) + dense(offset=6), 2),
    "one of another leader": (dense(offset=3, partition_leader_epoch=5) + dense(offset=6), 0),
    "one that is not small": (dense(offset=3) + dense(offset=6, count=20), 1),
    "one that was emptied": (dense(offset=3) + encode_batch([], base_offset=6), 1),
    "offsets that do not rise": (dense(offset=3) + dense(offset=5), 1),
    "an end that is not wanted": (dense(offset=3) + dense(offset=48), 1),
    "no batch": (dense(offset=3) + bytes(100), 1),
    "nothing": (b"", 0),
}


@BOTH
@pytest.mark.parametrize(("behind", "count"), ALIKE.values(), ids=ALIKE)
def test_small_batches_are_alike_up_to_the_first_that_is_not(kernels, behind, count):
    content = memoryview(dense(offset=0) + behind)
    one = len(dense())
    assert alike(content, mask=MASK, before=50, small_bytes=300, kernels=kernels) == [one] * count


@PATIENT
@given(st.data())
def test_what_is_alike_is_so_for_both_loops_whatever_the_headers_say(data):
    made = (dense(offset=0), dense(offset=3), end_of_transaction(6, 1), dense(offset=7, count=1))
    first, *others = map(bytearray, made)
    places = st.integers(0, 75)
    for batch in others:
        for at in data.draw(st.lists(places, max_size=2)):
            batch[at] = data.draw(st.integers(0, 255))
    offset = data.draw(st.sampled_from([0, 2, 2**62 - 3, 2**62 - 1, 2**63 - 1]))
    first[:8] = offset.to_bytes(8, "big")
    content = memoryview(b"".join((first, *others)))
    found = [
        alike(content, mask=MASK, before=9, small_bytes=300, kernels=kernels)
        for kernels in (rebatch_plain, rebatch_compiled)
    ]
    assert found[0] == found[1]


@BOTH
@pytest.mark.parametrize("bad", [False, True])
def test_commits_between_small_batches_are_passed_over(kernels, bad):
    batches = [dense(offset=0), end_of_transaction(3, 1), dense(offset=4), end_of_transaction(7, 1)]
    batches.append(bytes(flipped(dense(offset=8), 8 * 80)) if bad else dense(offset=8))
    whole = memoryview(b"".join(batches))
    lengths = [len(batches[0]), *alike(whole, mask=7, before=50, small_bytes=300, kernels=kernels)]
    assert [length > 0 for length in lengths] == [True, False, True, False, True]
    if bad:
        with pytest.raises(Damaged) as caught:
            rebatch([whole], lengths=lengths, **ROOMY, kernels=kernels)
        assert caught.value.offset == 8
    else:
        (found,) = rebatch([whole], lengths=lengths, **ROOMY, kernels=kernels)
        assert found.offsets.tolist() == [0, 1, 2, 4, 5, 6, 8, 9, 10]


@BOTH
def test_a_part_may_hold_several_batches_when_their_lengths_are_reported(kernels):
    batches = [dense(offset=5), dense(offset=8, count=5), dense(offset=20)]
    parts, lengths = [batches[0] + batches[1], batches[2]], list(map(len, batches))
    found = rebatch(parts, lengths=lengths, **ROOMY, kernels=kernels)
    assert list(map(fields, found)) == list(map(fields, rebatch(batches, **ROOMY)))


@given(st.data())
def test_change_points_rebuild_every_pair_of_offsets(data):
    steps = data.draw(st.lists(st.sampled_from([1, 1, 1, 2, 50]), max_size=30))
    offsets = np.cumsum([data.draw(st.integers(0, 2**50)), *steps])
    base = data.draw(st.integers(0, 2**50))
    points = change_points(offsets, int(offsets[0]), len(offsets), base).tolist()
    for index, offset in enumerate(offsets.tolist()):
        upstream, downstream = max(point for point in points if point[0] <= offset)
        assert downstream + (offset - upstream) == base + index


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (None, [(5, 70)]),
        ([5, 6, 7], [(5, 70)]),
        ([5, 9, 10], [(5, 70), (9, 71)]),
        ([5, 7, 9], [(5, 70), (7, 71), (9, 72)]),
    ],
    ids=["dense", "dense and listed", "one gap", "every other one"],
)
def test_only_changes_of_the_difference_are_points(offsets, expected):
    listed = None if offsets is None else np.array(offsets)
    assert change_points(listed, 5, 3, 70).tolist() == [list(pair) for pair in expected]


def test_no_records_have_no_change_points():
    assert change_points(None, 5, 0, 70).shape == (0, 2)

"""Random records and batches, with everything in them that Kafka allows."""

from hypothesis import strategies as st

from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch

codecs = st.sampled_from(Codec)
int64 = st.integers(-(2**63), 2**63 - 1)
timestamps = st.one_of(
    st.sampled_from([-1, 0, 1]), st.integers(0, 2_000_000_000_000), int64, st.integers(-999, 999)
)
contents = st.one_of(st.none(), st.binary(max_size=40), st.just(b"x" * 300))
names = st.sampled_from([b"", b"a", b"a", b"trace", b"\xff\xfe"])
headers = st.lists(st.tuples(names, contents), max_size=3).map(tuple)


@st.composite
def placed(draw, least=0, most=12):
    """Records at rising offsets with gaps, as a compacted log has them."""
    offset = draw(st.integers(0, 2**40))
    records = []
    for _ in range(draw(st.integers(least, most))):
        record = PlacedRecord(
            offset=offset,
            timestamp=draw(timestamps),
            key=draw(contents),
            value=draw(contents),
            headers=draw(headers),
            attributes=draw(st.sampled_from([0, 0, 1, -128, 127])),
        )
        records.append(record)
        offset += draw(st.sampled_from([1, 1, 1, 2, 70, 40_000]))
    return records


@st.composite
def stretches(draw, most=4):
    """Records cut into consecutive batches of any kind that may be re-batched: (records, bytes) each."""
    records = draw(placed(least=1, most=20))
    cuts = sorted(draw(st.sets(st.integers(1, len(records)), max_size=most - 1)) | {len(records)})
    batches = []
    for start, end in zip([0, *cuts], cuts, strict=False):
        part = records[start:end]
        batches.append((part, encode_batch(part, **draw(shapes(part)))))
    return batches


@st.composite
def shapes(draw, records):
    """Fields of a batch over these records: every codec, timestamp type, and offsets left by cleaning."""
    shape = {
        "codec": draw(codecs),
        "base_offset": max(0, records[0].offset - draw(st.sampled_from([0, 0, 1]))),
        "partition_leader_epoch": draw(st.integers(-1, 2**31 - 1)),
        "producer_id": draw(int64),
        "producer_epoch": draw(st.integers(-1, 2**15 - 1)),
        "base_sequence": draw(st.integers(-1, 2**31 - 1)),
        "is_transactional": draw(st.booleans()),
    }
    if draw(st.booleans()):
        shape["log_append_time_ms"] = draw(timestamps)
    if draw(st.booleans()):
        shape["delete_horizon_ms"] = draw(timestamps)
    return shape


def dense(count=3, offset=100, **fields):
    """Return a plain batch of some records without gaps."""
    records = [
        PlacedRecord(offset + index, 1000 + index, b"k%d" % index, b"v" * 20, ((b"h", None),))
        for index in range(count)
    ]
    return encode_batch(records, **fields)


def flipped(batch, bit):
    """Return the batch with one bit turned, counted from its first byte."""
    damaged = bytearray(batch)
    damaged[bit // 8] ^= 1 << bit % 8
    return memoryview(bytes(damaged))

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.record_batch import Codec, iterate_batches, verify_crc
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records
from jobs.wire.mirror_records import OffsetSync, decode_offset_sync, encode_offset_sync
from jobs.wire.topics.sync_links import SyncGroup, encode_sync_batch

NOW_MS = 1_700_000_000_000
offsets = st.integers(-(2**63), 2**63 - 1)
headers = st.sampled_from([(), ((b"crosslog.follows", b"1:2"),)])


@st.composite
def groups(draw):
    pairs = draw(st.lists(st.tuples(offsets, offsets), min_size=1, max_size=90))
    rows = np.array(pairs, np.int64).reshape(-1, 2)
    topic = draw(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
    return SyncGroup(topic, draw(st.integers(0, 2**31 - 1)), rows, draw(headers))


def by_record(wanted):
    """The same records, encoded one by one."""
    records = []
    for group in wanted:
        for number, pair in enumerate(group.pairs.tolist()):
            key, value = encode_offset_sync(OffsetSync(group.topic, group.partition, *pair))
            own = group.headers if number == 0 else ()
            records.append(PlacedRecord(len(records), NOW_MS, key, value, own))
    return records


def read(batch):
    ((header, whole),) = iterate_batches(batch)
    verify_crc(whole)
    return header, placed_records(whole)


@given(st.lists(groups(), min_size=1, max_size=4))
def test_a_batch_holds_what_encoding_record_by_record_gives(wanted):
    records = by_record(wanted)
    batch = encode_sync_batch(wanted, NOW_MS)
    header, found = read(batch)
    assert list(found) == records
    assert batch == encode_batch(records, codec=header.codec)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 20_000])
def test_records_are_read_back_whatever_the_length_of_their_offset_delta(count):
    pairs = np.column_stack((np.arange(count) * 3, np.arange(count) + 7))
    _, found = read(encode_sync_batch([SyncGroup("orders", 4, pairs)], NOW_MS))
    syncs = [decode_offset_sync(record.key, record.value) for record in found]
    assert syncs == [OffsetSync("orders", 4, up, down) for up, down in pairs.tolist()]


def test_many_syncs_are_compressed_and_few_are_not():
    def codec_of(count):
        pairs = np.column_stack((np.arange(count), np.arange(count)))
        return read(encode_sync_batch([SyncGroup("orders", 0, pairs)], NOW_MS))[0].codec

    assert [codec_of(10), codec_of(2000)] == [Codec.NONE, Codec.LZ4]

"""Segments of internal topics: whose they are, and what they say."""

import pytest

from jobs.wire.batches.log_batches import BytesSource, LogDamage, scan_batches
from jobs.wire.batches.record_batch import BatchHeader
from jobs.wire.batches.records import PlacedRecord, encode_batch, seal
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata.control_records import encode_control_record
from jobs.wire.mirror_records import (
    Checkpoint,
    Heartbeat,
    OffsetSync,
    encode_checkpoint,
    encode_heartbeat,
    encode_offset_sync,
)
from jobs.wire.topics.internal_logs import LogKind, kind_of_folder, records_of_batch
from tests.jobs.wire.metadata_values import NO_OP, TIME, data_batch
from tests.jobs.wire.topics.written_records import encode_group_record

SYNC = encode_offset_sync(OffsetSync("orders", 3, 100, 250))
COMMIT = encode_group_record(
    1, 3, {"group": "g", "topic": "t"}, {"offset": 5, "commitTimestamp": 1, "leaderEpoch": -1}
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("__cluster_metadata-0", LogKind.METADATA),
        ("__consumer_offsets-49", LogKind.CONSUMER_OFFSETS),
        ("mm2-offset-syncs.west.internal-0", LogKind.OFFSET_SYNCS),
        ("mm2-offset-syncs-west-internal-0", LogKind.OFFSET_SYNCS),
        ("east.checkpoints.internal-0", LogKind.CHECKPOINTS),
        ("heartbeats-0", LogKind.HEARTBEATS),
        ("east.heartbeats-0", LogKind.HEARTBEATS),
        ("orders-0", None),
        ("my-checkpoints-0", None),
        ("archive", None),
    ],
)
def test_a_folder_says_whose_records_it_holds(name, kind):
    assert kind_of_folder(name) == kind


def read(kind, *records, strict=False, **fields):
    placed = [PlacedRecord(offset, TIME, key, value) for offset, key, value in records]
    content = encode_batch(placed, **fields)
    (batch,) = scan_batches(BytesSource(content))
    return list(records_of_batch(batch, kind, strict=strict))


@pytest.mark.parametrize(
    ("kind", "record", "type_", "data"),
    [
        (
            LogKind.OFFSET_SYNCS,
            SYNC,
            "OFFSET_SYNC",
            {"topic": "orders", "partition": 3, "upstreamOffset": 100, "downstreamOffset": 250},
        ),
        (
            LogKind.HEARTBEATS,
            encode_heartbeat(Heartbeat("east", "west", 12)),
            "HEARTBEAT",
            {"sourceClusterAlias": "east", "targetClusterAlias": "west", "timestamp": 12},
        ),
        (
            LogKind.CHECKPOINTS,
            encode_checkpoint(Checkpoint("g", "orders", 1, 7, 9, "m")),
            "CHECKPOINT",
            {
                "consumerGroupId": "g",
                "topic": "orders",
                "partition": 1,
                "upstreamOffset": 7,
                "downstreamOffset": 9,
                "metadata": "m",
            },
        ),
        (
            LogKind.CONSUMER_OFFSETS,
            COMMIT,
            "OFFSET_COMMIT",
            {
                "key": {"group": "g", "topic": "t", "partition": 0},
                "value": {"offset": 5, "leaderEpoch": -1, "metadata": "", "commitTimestamp": 1},
            },
        ),
        (LogKind.METADATA, (None, NO_OP), "NO_OP_RECORD", {}),
    ],
    ids=lambda value: value if isinstance(value, LogKind) else "",
)
def test_records_of_every_log_are_read(kind, record, type_, data):
    (found,) = read(kind, (8, *record), strict=True)
    assert (found.offset, found.type, found.data, found.timestamp_ms) == (8, type_, data, TIME)


def test_offsets_of_a_compacted_batch_have_gaps():
    found = read(LogKind.OFFSET_SYNCS, (8, *SYNC), (11, *SYNC))
    assert [one.offset for one in found] == [8, 11]


def test_markers_of_transactions_are_reported():
    key, value = encode_control_record("COMMIT", {"coordinatorEpoch": 2})
    (found,) = read(LogKind.OFFSET_SYNCS, (0, key, value), is_control=True)
    assert (found.is_control, found.type) == (True, "COMMIT")


def test_deletions_are_reported():
    (found,) = read(LogKind.CHECKPOINTS, (0, b"key", None))
    assert (found.type, found.data) == ("TOMBSTONE", {"keySizeBytes": 3})


def test_what_is_no_such_record_is_named_and_strictly_refused():
    (found,) = read(LogKind.HEARTBEATS, (0, b"key", b"value"))
    assert (found.type, found.data["sizeBytes"]) == ("UNDECODABLE", 5)
    with pytest.raises(RecordFormatError):
        read(LogKind.HEARTBEATS, (0, b"key", b"value"), strict=True)


def test_a_batch_whose_records_cannot_be_told_apart_is_damage():
    good = data_batch(0, [NO_OP])
    header = BatchHeader.decode(good)._replace(record_count=2, last_offset_delta=1)
    (batch,) = scan_batches(BytesSource(seal(header, good[61:])))
    assert isinstance(list(records_of_batch(batch, LogKind.HEARTBEATS))[-1], LogDamage)

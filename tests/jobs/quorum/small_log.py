"""A small metadata log in which everything happens that partitions depend on."""

from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from tests.jobs.quorum.metadata_stories import uuid

PARTITIONS = 40


def _batch(offset: int, values: list[bytes]) -> bytes:
    records = [PlacedRecord(offset + at, 1000 + offset, None, one) for at, one in enumerate(values)]
    return encode_batch(records, partition_leader_epoch=1)


def small_log() -> dict[int, bytes]:
    """Return segments by their base offset: a topic of 40 partitions, and a broker that is fenced.

    All partitions lose it. At last another topic is made and removed.
    """
    told = {"leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "replicas": [1, 2], "isr": [1, 2]}
    values = [
        encode_metadata_record("REGISTER_BROKER_RECORD", 3, {"brokerId": 1, "brokerEpoch": 0}),
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "orders", "topicId": uuid(7)}),
    ]
    for number in range(PARTITIONS):
        state = {"partitionId": number, "topicId": uuid(7), **told}
        values.append(encode_metadata_record("PARTITION_RECORD", 1, state))
    fenced = [
        encode_metadata_record(
            "PARTITION_CHANGE_RECORD", 1,
            {"partitionId": number, "topicId": uuid(7), "isr": [2], "leader": 2},
        )
        for number in range(PARTITIONS)
    ]  # fmt: skip
    event = {"brokerId": 1, "brokerEpoch": 0, "fenced": 1}
    fenced.append(encode_metadata_record("BROKER_REGISTRATION_CHANGE_RECORD", 1, event))
    short_lived = [
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "clicks", "topicId": uuid(8)}),
        encode_metadata_record(
            "PARTITION_RECORD", 1, {"partitionId": 0, "topicId": uuid(8), **told}
        ),
        encode_metadata_record("REMOVE_TOPIC_RECORD", 0, {"topicId": uuid(8)}),
    ]
    end = len(values) + len(fenced)
    return {
        0: _batch(0, values),
        len(values): _batch(len(values), fenced) + _batch(end, short_lived),
    }

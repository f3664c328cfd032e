"""Metadata logs in which partitions of few topics change and few brokers come and go, made by hypothesis."""

import base64

from hypothesis import strategies as st

from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record

BROKERS = st.integers(1, 4)
LISTS = st.lists(BROKERS, max_size=3, unique=True)
PARTITIONS = st.integers(0, 2)


def uuid(number):
    return base64.urlsafe_b64encode(number.to_bytes(16, "big")).decode().rstrip("=")


TOPICS = st.integers(7, 9).map(uuid)
DIRECTORIES = st.lists(st.integers(0, 2).map(uuid), max_size=3)


def record(kind, version, *, optional=None, **fields):
    told = st.fixed_dictionaries(fields, optional=optional or {})
    return told.map(lambda data: encode_metadata_record(kind, version, data))


CHANGES = record(
    "PARTITION_CHANGE_RECORD",
    2,
    partitionId=PARTITIONS,
    topicId=TOPICS,
    optional={
        "isr": LISTS,
        "leader": st.integers(-2, 4),
        "replicas": LISTS,
        "removingReplicas": LISTS,
        "addingReplicas": LISTS,
        "leaderRecoveryState": st.integers(-1, 1),
        "eligibleLeaderReplicas": LISTS,
        "lastKnownElr": LISTS,
        "directories": DIRECTORIES,
    },
)
SHRINKS = record(
    "PARTITION_CHANGE_RECORD", 0, partitionId=PARTITIONS, topicId=TOPICS, isr=LISTS,
    optional={"leader": st.integers(-1, 4)},
)  # fmt: skip
PLACED = record(
    "PARTITION_RECORD",
    2,
    partitionId=PARTITIONS,
    topicId=TOPICS,
    replicas=LISTS,
    isr=LISTS,
    removingReplicas=st.just([]) | LISTS,
    addingReplicas=st.just([]) | LISTS,
    leader=st.integers(-1, 4),
    leaderEpoch=st.integers(0, 3),
    partitionEpoch=st.integers(0, 3),
    directories=DIRECTORIES,
    optional={"eligibleLeaderReplicas": LISTS, "leaderRecoveryState": st.integers(0, 1)},
)
NAMES = st.sampled_from(["orders", "payments"])
CREATED = record("TOPIC_RECORD", 0, name=NAMES, topicId=TOPICS)
FENCING = st.integers(-1, 1)
BROKER_RECORDS = [
    record(
        "REGISTER_BROKER_RECORD", 3, brokerId=BROKERS, incarnationId=st.integers(1, 2).map(uuid),
        brokerEpoch=st.integers(0, 1), fenced=st.booleans(), inControlledShutdown=st.booleans(),
        logDirs=DIRECTORIES,
    ),
    record("UNREGISTER_BROKER_RECORD", 0, brokerId=BROKERS, brokerEpoch=st.just(0)),
    record("FENCE_BROKER_RECORD", 0, id=BROKERS, epoch=st.just(0)),
    record("UNFENCE_BROKER_RECORD", 0, id=BROKERS, epoch=st.just(0)),
    record(
        "BROKER_REGISTRATION_CHANGE_RECORD", 2, brokerId=BROKERS, brokerEpoch=st.just(0),
        optional={"fenced": FENCING, "inControlledShutdown": st.integers(0, 1), "logDirs": DIRECTORIES},
    ),
]  # fmt: skip
OTHERS = [
    record("REMOVE_TOPIC_RECORD", 0, topicId=TOPICS),
    record("CLEAR_ELR_RECORD", 0, topicName=NAMES | st.just("")),
    record(
        "CONFIG_RECORD", 0, resourceType=st.just(2), resourceName=NAMES, name=st.just("retention.ms"),
        value=st.just("1"),
    ),
    record("FEATURE_LEVEL_RECORD", 0, name=st.just("metadata.version"), featureLevel=st.just(25)),
    record("NO_OP_RECORD", 0),
    record("BEGIN_TRANSACTION_RECORD", 0),
    record("END_TRANSACTION_RECORD", 0),
    record("ABORT_TRANSACTION_RECORD", 0),
]  # fmt: skip
RECORDS = st.one_of(CHANGES, SHRINKS, SHRINKS, PLACED, CREATED, *BROKER_RECORDS, *OTHERS)


@st.composite
def stories(draw):
    """Return the bytes of a log from offset 0: first two topics and four brokers, then anything."""
    begun = [
        encode_metadata_record(
            "REGISTER_BROKER_RECORD", 3, {"brokerId": one, "brokerEpoch": 0, "fenced": False}
        )
        for one in (1, 2, 3, 4)
    ]
    begun += [
        encode_metadata_record("TOPIC_RECORD", 0, {"name": name, "topicId": uuid(number)})
        for name, number in (("orders", 7), ("payments", 8))
    ]
    batches = [begun, *draw(st.lists(st.lists(RECORDS, min_size=1, max_size=8), max_size=8))]
    offset, parts = 0, []
    for number, values in enumerate(batches):
        records = [
            PlacedRecord(offset + index, 1000 + number, None, value)
            for index, value in enumerate(values)
        ]
        codec = draw(st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4]))
        parts.append(encode_batch(records, codec=codec, partition_leader_epoch=number // 3))
        offset += len(values)
    return b"".join(parts)

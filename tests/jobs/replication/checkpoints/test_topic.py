"""A topic of checkpoints: the last one of a key counts, and what is no checkpoint stops nothing."""

import base64
import json
from types import SimpleNamespace

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Refused
from jobs.replication.checkpoints.topic import (
    MISCONFIGURED_CONVERTER,
    MOST_REASONS,
    TOMBSTONE,
    CheckpointTopic,
    GroupPartition,
    KeptCheckpoint,
    refuse_too_many,
)
from jobs.wire.mirror_records import Checkpoint, encode_checkpoint

WHERE = TopicPartition("east.orders", 0)
KEY = GroupPartition("billing", WHERE)


def checkpoint(upstream: int, downstream: int, group: str = "billing") -> Checkpoint:
    return Checkpoint(group, WHERE.topic, WHERE.partition, upstream, downstream)


def read(*records: tuple[bytes | None, bytes | None]) -> CheckpointTopic:
    topic = CheckpointTopic("east.checkpoints.internal")
    for offset, (key, value) in enumerate(records):
        topic.take(key, value, 1000 + offset, offset)
    return topic


def good(upstream: int = 10, downstream: int = 8, group: str = "billing"):
    return encode_checkpoint(checkpoint(upstream, downstream, group))


def test_the_last_checkpoint_of_a_group_and_partition_counts():
    topic = read(good(10, 8), good(20, 18), good(5, 3, "stock"))
    assert topic.checkpoints[KEY] == KeptCheckpoint(checkpoint(20, 18), 1001, 1)
    assert topic.groups == {"billing", "stock"}
    assert topic.of_group("stock") == {WHERE: KeptCheckpoint(checkpoint(5, 3, "stock"), 1002, 2)}
    assert not list(topic.findings())


def test_a_tombstone_takes_its_checkpoint_away_and_is_a_finding():
    topic = read(good(), (good()[0], None))
    assert topic.checkpoints == {}
    assert topic.refused == {TOMBSTONE: 1}
    assert "MirrorMaker 2 and its clients fail" in next(topic.findings())


def json_of(content: bytes, *, schemas: bool) -> bytes:
    text = base64.b64encode(content).decode()
    wrapped = {"schema": {"type": "bytes", "optional": False}, "payload": text} if schemas else text
    return json.dumps(wrapped).encode()


@pytest.mark.parametrize("schemas", [True, False], ids=["with schemas", "without schemas"])
def test_records_of_a_json_converter_are_named_as_what_they_are(schemas):
    key, value = (json_of(content, schemas=schemas) for content in good())
    topic = read((key, value), (key, value))
    assert topic.refused == {MISCONFIGURED_CONVERTER: 2}
    assert "ByteArrayConverter" in next(topic.findings())


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        pytest.param(good()[0], b"\x00\x01" + good()[1][2:], "version 1", id="a later version"),
        pytest.param(good()[0], good()[1][:9], "are left", id="a value cut short"),
        pytest.param(good()[0][:3], good()[1], "are left", id="a key cut short"),
        pytest.param(None, good()[1], "null", id="no key"),
        pytest.param(None, None, "null", id="neither key nor value"),
        pytest.param(*good(-1, 5), "negative", id="a negative offset"),
    ],
)
def test_a_record_that_is_no_checkpoint_is_counted_and_changes_nothing(key, value, reason):
    topic = read(good(), (key, value))
    assert topic.checkpoints == {KEY: KeptCheckpoint(checkpoint(10, 8), 1000, 0)}
    assert topic.refused.total() == 1
    assert reason in next(iter(topic.refused))
    assert topic.topic in next(topic.findings())


def test_garbage_of_many_kinds_is_counted_without_growing_without_end():
    kinds = [(b"\x7f\xff" + b"x" * n, b"?") for n in range(3 * MOST_REASONS)]
    topic = read(*kinds)
    assert topic.refused.total() == len(kinds)
    assert len(topic.refused) <= MOST_REASONS + 1


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(Checkpoint("g" * 1_025, "east.orders", 0, 1, 1), id="long group id"),
        pytest.param(Checkpoint("billing", "t" * 250, 0, 1, 1), id="long name of a topic"),
    ],
)
def test_a_checkpoint_of_what_cannot_be_kept_is_none(one):
    topic = read(encode_checkpoint(one))
    assert topic.checkpoints == {}
    assert topic.refused.total() == 1


def test_a_topic_with_too_many_checkpoints_is_refused_as_a_whole():
    topic = CheckpointTopic("east.checkpoints.internal")
    client = SimpleNamespace(connection=SimpleNamespace(alias="west"))
    kept = KeptCheckpoint(checkpoint(1, 1), 1, 1)
    topic.checkpoints = {GroupPartition("stock", WHERE): kept}
    refuse_too_many(topic, client, 1)
    topic.checkpoints[KEY] = kept
    with pytest.raises(Refused, match="more than 1 groups and partitions"):
        refuse_too_many(topic, client, 1)

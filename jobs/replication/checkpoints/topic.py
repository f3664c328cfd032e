"""The current content of a checkpoints topic: the last checkpoint of each group and partition, and what is
none.

Written by MirrorMaker 2 or by crosslog. Source: Checkpoint, CheckpointStore and MirrorClient of
org.apache.kafka.connect.mirror, which all look at partition 0 only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs import limits
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import Refused
from jobs.cluster.topic_reader import TopicRecord, read_whole_topic
from jobs.wire.errors import RecordFormatError
from jobs.wire.fields import FieldReader
from jobs.wire.mirror_records import Checkpoint, decode_checkpoint
from jobs.wire.topics.connect_records import is_json_wrapped

PARTITION = 0
# The id of the remote topic that a checkpoint of crosslog is about; MirrorMaker 2 does not look at headers.
TOPIC_ID_HEADER = "crosslog.topic-id"
_LONGEST_ID = 32
_URL_SAFE = str.maketrans("+/", "-_")
MISCONFIGURED_CONVERTER = "written through a JSON converter"
TOMBSTONE = "a tombstone"
# Reasons name bytes and lengths: garbage of many kinds is not kept as many reasons.
MOST_REASONS = 50
OTHER_REASONS = "for other reasons"


class GroupPartition(NamedTuple):
    """A group and a partition, which has its name on the target."""

    group: str
    where: TopicPartition


class KeptCheckpoint(NamedTuple):
    """The last checkpoint of a group and partition.

    `timestamp_ms` is that of the record: when the group's offset was requested; None: it has none.
    `offset` is where the record is in the topic. `topic_id` is that of the remote topic, where the writer
    noted it ("": it did not).
    """

    checkpoint: Checkpoint
    timestamp_ms: int | None
    offset: int
    topic_id: str = ""


@dataclass(slots=True)
class CheckpointTopic:
    """What a topic of checkpoints holds.

    `exists` is False while there is no such topic. `refused` counts records that are no checkpoints, by
    reason; tombstones are among them, although they do what they say: they take their checkpoint away.
    `read_to` is the offset up to which it was read.
    """

    topic: str
    checkpoints: dict[GroupPartition, KeptCheckpoint] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    exists: bool = True
    read_to: int = 0

    @property
    def groups(self) -> frozenset[str]:
        """The groups with at least one checkpoint."""
        return frozenset(key.group for key in self.checkpoints)

    def of_group(self, group: str) -> dict[TopicPartition, KeptCheckpoint]:
        """Return a group's checkpoints, by the partition on the target."""
        return {key.where: kept for key, kept in self.checkpoints.items() if key.group == group}

    def findings(self) -> Iterator[str]:
        """Yield a sentence per kind of record that is no checkpoint: what it is, and what to do."""
        for reason, count in self.refused.most_common():
            what = _FINDINGS.get(reason, f"no checkpoints ({reason}): something else writes here.")
            yield f"{self.topic}: {count} of its records are {what}"

    def take(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int | None,
        offset: int,
        headers: object = None,
    ) -> None:
        """Take the next record of the topic."""
        self.read_to = offset + 1
        try:
            if value is None:
                self.checkpoints.pop(_key_of(key), None)
                self._refuse(TOMBSTONE)
                return
            found = _usable(decode_checkpoint(key, value))
        except RecordFormatError as error:
            is_wrapped = is_json_wrapped(key) or is_json_wrapped(value)
            self._refuse(MISCONFIGURED_CONVERTER if is_wrapped else error.problem)
            return
        place = TopicPartition(found.topic, found.partition)
        kept = KeptCheckpoint(found, timestamp_ms, offset, _topic_id(headers))
        self.checkpoints[GroupPartition(found.consumer_group_id, place)] = kept

    def _refuse(self, reason: str) -> None:
        is_new = reason not in self.refused and len(self.refused) >= MOST_REASONS
        self.refused[OTHER_REASONS if is_new else reason] += 1


_FINDINGS = {
    MISCONFIGURED_CONVERTER: (
        "written through a JSON converter, and no reader of checkpoints understands that: set key.converter "
        "and value.converter of the checkpoint connector to "
        "org.apache.kafka.connect.converters.ByteArrayConverter."
    ),
    TOMBSTONE: (
        "deletions, on which MirrorMaker 2 and its clients fail: find out who writes them, and stop that."
    ),
}


def read_checkpoint_topic(
    client: ClusterClient, topic: str, *, wants: Callable[[str], bool] = lambda _group: True
) -> CheckpointTopic:
    """Read a topic of checkpoints to its end, committed records only, keeping the groups that are wanted.

    Raises `ClusterFault`, also when the end was not reached: there are no half answers. Memory: one entry per
    group and partition.
    """
    found = CheckpointTopic(topic)

    def take(record: TopicRecord) -> None:
        if _may_be_wanted(record.key, wants):
            found.take(record.key, record.value, record.timestamp_ms, record.offset)
            refuse_too_many(found, client)

    ends = read_whole_topic(client, topic, take, only_partition=PARTITION)
    found.exists = ends is not None
    found.read_to = (ends or {}).get(PARTITION, 0)
    return found


def refuse_too_many(
    found: CheckpointTopic, client: ClusterClient, most: int = limits.CHECKPOINTS
) -> None:
    """Raise `Refused` beyond the limit: without all checkpoints nothing is known of any."""
    if len(found.checkpoints) > most:
        raise Refused(
            f"{found.topic} holds checkpoints of more than {most:,} groups and partitions.",
            cluster=client.connection.alias,
            hint="Check which principals may write to it: only MirrorMaker 2 and crosslog should.",
        )


def _may_be_wanted(key: bytes | None, wants: Callable[[str], bool]) -> bool:
    """Return False only for what is surely a checkpoint of a group that is not wanted."""
    try:
        return wants(_key_of(key).group)
    except RecordFormatError:
        return True


def _usable(found: Checkpoint) -> Checkpoint:
    if min(found.partition, found.upstream_offset, found.downstream_offset) < 0:
        raise RecordFormatError("Checkpoint", "a partition or an offset is negative")
    if not limits.may_exist(found.topic, found.partition, {}):
        raise RecordFormatError("Checkpoint", "no topic has so long a name")
    if len(found.consumer_group_id) > limits.GROUP_ID:
        raise RecordFormatError(
            "Checkpoint", f"a group id has more than {limits.GROUP_ID} characters"
        )
    return found


def _key_of(key: bytes | None) -> GroupPartition:
    if key is None:
        raise RecordFormatError("Checkpoint", "key and value are never null")
    fields = FieldReader("Checkpoint key", key)
    return GroupPartition(fields.string(), TopicPartition(fields.string(), fields.int32()))


def _topic_id(headers: object) -> str:
    noted = dict(headers) if isinstance(headers, list) else {}
    value = noted.get(TOPIC_ID_HEADER)
    text = ""
    if isinstance(value, bytes) and len(value) <= _LONGEST_ID:
        text = value.decode("ascii", "replace")
    # Up to 0.5.0 ids were written in the standard alphabet of base64.
    return text.translate(_URL_SAFE)

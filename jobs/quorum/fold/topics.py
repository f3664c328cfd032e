"""Topics and partitions: how their records change the image (Kafka's `TopicsDelta` and `TopicDelta`)."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.quorum.fold.fold import Data, FoldRecord, MetadataDelta
from jobs.quorum.history.change_builders import (
    ChangePosition,
    anomaly,
    config_change,
    partition_change,
)
from jobs.quorum.history.changes import AnomalyKind, AnyChange, Cause, TopicChange
from jobs.quorum.history.partition_causes import cause_of_change
from jobs.quorum.image.partition_registration import clear_elr, merge, partition_from_record
from jobs.quorum.image.registrations import Topic


def fold_topic(delta: MetadataDelta, position: ChangePosition, data: Data) -> Iterator[AnyChange]:
    """A TopicRecord: a name that lives already, or an id that does, is what Kafka never writes."""
    topic = Topic(data["name"], data["topicId"])
    tables = delta.tables
    if topic.topic_id in tables.topics or topic.name in tables.topic_ids:
        problem = f"topic {topic.name} ({topic.topic_id}) is created while it is there already"
        yield anomaly(position, AnomalyKind.DUPLICATE_TOPIC, problem, "TOPIC_RECORD")
    known = tables.topics.get(topic.topic_id)
    if known is not None and tables.topic_ids.get(known.name) == topic.topic_id:
        del tables.topic_ids[known.name]
    previous = delta.deleted.get(topic.name)
    tables.topics[topic.topic_id] = topic
    tables.topic_ids[topic.name] = topic.topic_id
    tables.partitions.setdefault(topic.topic_id, {})
    delta.topic_being_created = topic.topic_id
    yield TopicChange(
        **position,
        cause=Cause.TOPIC_CREATED if previous is None else Cause.TOPIC_RECREATED,
        topic_id=topic.topic_id,
        topic=topic.name,
        previous_topic_id=previous,
    )


def fold_remove_topic(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A RemoveTopicRecord takes the topic, all its partitions, and the configs of its name.

    So does Kafka (`MetadataDelta`), also where a bad log has another topic of that name.
    """
    topic_id = data["topicId"]
    topic = delta.tables.topics.pop(topic_id, None)
    if topic is None:
        problem = f"topic id {topic_id} is removed, but there is no such topic"
        yield anomaly(position, AnomalyKind.UNKNOWN_TOPIC, problem, "REMOVE_TOPIC_RECORD")
        return
    delta.remember_deleted(topic.name, topic_id)
    partitions = delta.tables.partitions.pop(topic_id, {})
    yield TopicChange(
        **position,
        cause=Cause.TOPIC_DELETED,
        topic_id=topic_id,
        topic=topic.name,
        is_removed=True,
    )
    for partition, state in sorted(partitions.items()):
        yield partition_change(position, topic, partition, (state, None), Cause.TOPIC_DELETED)
    if delta.tables.topic_ids.get(topic.name) == topic_id:
        del delta.tables.topic_ids[topic.name]
    yield from _without_configs(delta, position, topic)


def _without_configs(
    delta: MetadataDelta, position: ChangePosition, topic: Topic
) -> Iterator[AnyChange]:
    resource = ("TOPIC", topic.name)
    for name, value in delta.tables.configs.pop(resource, {}).items():
        yield config_change(position, resource, name, (value, None), Cause.TOPIC_DELETED)


def fold_partition(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A PartitionRecord replaces what was there."""
    number, topic = data["partitionId"], delta.tables.topics.get(data["topicId"])
    if topic is None:
        yield _no_topic(position, data, "PARTITION_RECORD")
        return
    partitions = delta.tables.partitions[topic.topic_id]
    before, after = partitions.get(number), partition_from_record(data)
    partitions[number] = after
    if before is not None:
        why = Cause.PARTITION_REPLACED
    else:
        is_new = delta.topic_being_created == topic.topic_id
        why = Cause.TOPIC_CREATED if is_new else Cause.PARTITIONS_ADDED
    yield partition_change(position, topic, number, (before, after), why)


def fold_partition_change(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A PartitionChangeRecord changes what it names; nothing is made up for a partition never seen."""
    number, topic = data["partitionId"], delta.tables.topics.get(data["topicId"])
    if topic is None:
        yield _no_topic(position, data, "PARTITION_CHANGE_RECORD")
        return
    partitions = delta.tables.partitions[topic.topic_id]
    before = partitions.get(number)
    if before is None:
        problem = f"{topic.name}-{number} changes, but there is no such partition"
        yield anomaly(position, AnomalyKind.UNKNOWN_PARTITION, problem, "PARTITION_CHANGE_RECORD")
        return
    after = merge(before, data)
    partitions[number] = after
    yield partition_change(position, topic, number, (before, after), cause_of_change(before, after))


def fold_clear_elr(
    delta: MetadataDelta, position: ChangePosition, data: Data
) -> Iterator[AnyChange]:
    """A ClearElrRecord forgets the eligible leader replicas of one topic, or (name "") of all."""
    name = data["topicName"]
    tables = delta.tables
    if name and name not in tables.topic_ids:
        problem = f"the ELR of topic {name} is cleared, but there is no such topic"
        yield anomaly(position, AnomalyKind.UNKNOWN_TOPIC, problem, "CLEAR_ELR_RECORD")
        return
    for topic_id in [tables.topic_ids[name]] if name else list(tables.partitions):
        partitions = tables.partitions[topic_id]
        for number, before in sorted(partitions.items()):
            after = clear_elr(before)
            if after is not before:
                partitions[number] = after
                topic = tables.topics[topic_id]
                yield partition_change(position, topic, number, (before, after), Cause.ELR_CLEARED)


def _no_topic(position: ChangePosition, data: Data, record_type: str) -> AnyChange:
    problem = (
        f"partition {data['partitionId']} belongs to topic id {data['topicId']}, which is not there"
    )
    return anomaly(position, AnomalyKind.UNKNOWN_TOPIC, problem, record_type)


FOLDS: dict[str, FoldRecord] = {
    "TOPIC_RECORD": fold_topic,
    "REMOVE_TOPIC_RECORD": fold_remove_topic,
    "PARTITION_RECORD": fold_partition,
    "PARTITION_CHANGE_RECORD": fold_partition_change,
    "CLEAR_ELR_RECORD": fold_clear_elr,
}

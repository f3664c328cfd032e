"""What differs between two moments, and the same told as changes without a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jobs.quorum.history.change_builders import (
    ChangePosition,
    acl_change,
    broker_change,
    config_change,
    controller_change,
    feature_change,
    partition_change,
    token_change,
)
from jobs.quorum.history.changes import (
    AnyChange,
    Cause,
    ChangeKind,
    ProducerIdsChange,
    QuotaChange,
    ScramChange,
    TopicChange,
)
from jobs.quorum.image.registrations import Topic
from jobs.quorum.image.tables import ImageTables

_K = TypeVar("_K")


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same at two moments.

    `key` is what names it: (topic id, topic, partition); (topic id,); (broker id,); (type, name of the
    resource, setting); (feature,); (entity, quota); (ACL id,); (user, mechanism); (token id,); (). `before`
    or `after` is None where it was not there; else the value of `ImageTables`.
    """

    kind: ChangeKind
    key: tuple[Any, ...]
    before: Any
    after: Any


def diff_images(before: ImageTables, after: ImageTables) -> Iterator[Difference]:
    """Yield what differs, topics and partitions first. A topic of another id is another topic."""
    yield from _of_keys(ChangeKind.BROKER, before.brokers, after.brokers)
    yield from _of_keys(ChangeKind.CONTROLLER, before.controllers, after.controllers)
    yield from _of_keys(ChangeKind.TOPIC, before.topics, after.topics)
    yield from _partitions(before, after)
    yield from _nested(ChangeKind.CONFIG, before.configs, after.configs)
    yield from _of_keys(ChangeKind.FEATURE, before.features, after.features)
    yield from _of_entities(before, after)
    yield from _of_keys(ChangeKind.ACL, before.acls, after.acls)
    if before.producer_ids != after.producer_ids:
        yield Difference(ChangeKind.PRODUCER_IDS, (), before.producer_ids, after.producer_ids)
    for key in sorted(before.scram ^ after.scram):
        yield Difference(
            ChangeKind.SCRAM, key, key in before.scram or None, key in after.scram or None
        )
    yield from _of_keys(ChangeKind.DELEGATION_TOKEN, before.tokens, after.tokens)


def _of_keys(
    kind: ChangeKind, before: Mapping[Any, Any], after: Mapping[Any, Any]
) -> Iterator[Difference]:
    for key in _keys(before, after):
        old, new = before.get(key), after.get(key)
        if old != new:
            yield Difference(kind, (key,), old, new)


def _keys(before: Mapping[_K, Any], after: Mapping[_K, Any]) -> list[_K]:
    return [*before, *(key for key in after if key not in before)]


def _partitions(before: ImageTables, after: ImageTables) -> Iterator[Difference]:
    for topic_id in _keys(before.partitions, after.partitions):
        old, new = before.partitions.get(topic_id, {}), after.partitions.get(topic_id, {})
        if old is new or old == new:
            continue
        topic = after.topics.get(topic_id) or before.topics[topic_id]
        for one in _of_keys(ChangeKind.PARTITION, old, new):
            yield Difference(one.kind, (topic_id, topic.name, *one.key), one.before, one.after)


def _nested(
    kind: ChangeKind,
    before: Mapping[tuple[Any, ...], Mapping[str, Any]],
    after: Mapping[tuple[Any, ...], Mapping[str, Any]],
) -> Iterator[Difference]:
    for key in _keys(before, after):
        for one in _of_keys(kind, before.get(key, {}), after.get(key, {})):
            yield Difference(kind, (*key, *one.key), one.before, one.after)


def _of_entities(before: ImageTables, after: ImageTables) -> Iterator[Difference]:
    for entity in _keys(before.quotas, after.quotas):
        old, new = before.quotas.get(entity, {}), after.quotas.get(entity, {})
        for one in _of_keys(ChangeKind.QUOTA, old, new):
            yield Difference(one.kind, (entity, *one.key), one.before, one.after)


def as_change(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    """Return a difference as a change that has no time of its own."""
    return _MAKERS[found.kind](found, stamp, cause)


def _partition(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    topic_id, name, number = found.key
    return partition_change(
        stamp, Topic(name, topic_id), number, (found.before, found.after), cause
    )


def _topic(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    topic = found.after or found.before
    return TopicChange(
        **stamp,
        cause=cause,
        topic_id=topic.topic_id,
        topic=topic.name,
        is_removed=found.after is None,
    )


def _broker(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    return broker_change(stamp, found.before, found.after, cause)


def _controller(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    controller = found.after or found.before
    return controller_change(stamp, controller, cause, is_removed=found.after is None)


def _config(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    resource_type, resource_name, name = found.key
    resource = (resource_type, resource_name)
    return config_change(stamp, resource, name, (found.before, found.after), cause)


def _feature(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    return feature_change(stamp, found.key[0], found.before, found.after, cause)


def _quota(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    entity, key = found.key
    return QuotaChange(
        **stamp,
        cause=cause,
        entity=entity,
        key=key,
        value=found.after,
        previous_value=found.before,
    )


def _acl(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    acl = found.after or found.before
    return acl_change(stamp, found.key[0], acl, cause, is_removed=found.after is None)


def _producer_ids(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    ids = found.after or found.before
    return ProducerIdsChange(
        **stamp, cause=cause, broker_id=ids.broker_id, next_producer_id=ids.next_producer_id
    )


def _scram(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    user, mechanism = found.key
    is_removed = found.after is None
    return ScramChange(**stamp, cause=cause, user=user, mechanism=mechanism, is_removed=is_removed)


def _token(found: Difference, stamp: ChangePosition, cause: Cause) -> AnyChange:
    token = found.after or found.before
    return token_change(stamp, found.key[0], token, cause, is_removed=found.after is None)


_MAKERS = {
    ChangeKind.PARTITION: _partition,
    ChangeKind.TOPIC: _topic,
    ChangeKind.BROKER: _broker,
    ChangeKind.CONTROLLER: _controller,
    ChangeKind.CONFIG: _config,
    ChangeKind.FEATURE: _feature,
    ChangeKind.QUOTA: _quota,
    ChangeKind.ACL: _acl,
    ChangeKind.PRODUCER_IDS: _producer_ids,
    ChangeKind.SCRAM: _scram,
    ChangeKind.DELEGATION_TOKEN: _token,
}

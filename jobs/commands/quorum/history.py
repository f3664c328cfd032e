"""`crosslog history`: what happened to partitions, brokers and settings, out of a metadata log."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import partial

from jobs.commands import command
from jobs.commands.quorum.log_arguments import telling_tails
from jobs.quorum.history.change_json import change_mapping, iso
from jobs.quorum.history.changes import Anomaly, AnyChange, PartitionChange, TopicChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.history.partition_causes import cause_words, word_of
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.log.folder import BadFolder, read_folder

_FEW = 5
_ALL = "all"
# The fields of other changes that stand in every line anyway, or only in the JSON.
_OWN_COLUMNS = frozenset(
    {
        "kind",
        "offset",
        "epoch",
        "time",
        "timestampMs",
        "batchOffset",
        "cause",
        "sinceOffset",
        "notAfter",
        "appliedOffset",
    }
)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        return _told(arguments)
    except BadFolder as error:
        return command.say(error)


def _told(arguments: argparse.Namespace) -> int:
    image = MetadataImage()
    is_known = arguments.topic is None and arguments.topic_id is None
    anomalies = 0
    items = telling_tails(arguments.path, read_folder(arguments.path).records())
    for change in read_changes(items, image):
        if isinstance(change, Anomaly):
            anomalies += 1
            command.say(f"{arguments.path}: offset {change.offset}: {change.problem}")
        elif not is_known and isinstance(change, TopicChange):
            is_known = arguments.topic in {None, change.topic} and (
                arguments.topic_id in {None, change.topic_id}
            )
        if _is_asked(change, arguments):
            command.print_answer(arguments, partial(change_mapping, change), map(line_of, [change]))
    if not is_known:
        return _unknown_topic(arguments, image)
    return command.FINDING if anomalies else command.OK


def _is_asked(change: AnyChange, arguments: argparse.Namespace) -> bool:
    return (
        arguments.kind in {change.kind.value, _ALL}
        and arguments.topic in {None, _topic_of(change)}
        and arguments.topic_id in {None, getattr(change, "topic_id", None)}
        and arguments.partition in {None, getattr(change, "partition", None)}
        and (arguments.broker is None or arguments.broker in _brokers_of(change))
    )


def _topic_of(change: AnyChange) -> str | None:
    if getattr(change, "resource_type", None) == "TOPIC":
        return getattr(change, "resource_name", None)
    return getattr(change, "topic", None)


def _brokers_of(change: AnyChange) -> Iterator[int]:
    if isinstance(change, PartitionChange):
        if change.cause_broker is not None:
            yield change.cause_broker
        yield from change.left_isr
        yield from change.joined_isr
    broker = getattr(change, "broker_id", None)
    if broker is not None:
        yield broker


def _unknown_topic(arguments: argparse.Namespace, image: MetadataImage) -> int:
    wanted = f"id {arguments.topic_id}" if arguments.topic is None else arguments.topic
    known = sorted(image.topic_ids)
    more = ", ..." if len(known) > _FEW else ""
    there = f"it has {', '.join(known[:_FEW])}{more}" if known else "it has none"
    return command.say(f"{arguments.path}: this log never had a topic {wanted}; now {there}")


def line_of(change: AnyChange) -> str:
    at = iso(change.timestamp_ms) or "time not known          "
    start = f"{at}  offset {change.offset}  epoch {change.epoch}"
    if isinstance(change, PartitionChange):
        return f"{start}  {change.topic}-{change.partition}  {_partition(change)}  {cause_words(change)}"
    told = change_mapping(change)
    rest = "  ".join(
        f"{name}={json.dumps(value)}"
        for name, value in told.items()
        if name not in _OWN_COLUMNS and value not in (None, [], False)
    )
    return f"{start}  {change.kind}  {word_of(change.cause)}  {rest}"


def _partition(change: PartitionChange) -> str:
    if change.is_removed:
        return f"removed (topic id {change.topic_id})"
    parts = [
        f"leader {_leader(change)}",
        f"leader epoch {change.leader_epoch}",
        f"partition epoch {change.partition_epoch}",
        f"isr {_before(change.previous_isr, change.isr)}{_ids(change.isr)}",
        f"elr {_ids(change.elr)}",
        f"replicas {_ids(change.replicas)}",
    ]
    if change.adding or change.removing:
        parts.append(f"adding {_ids(change.adding)} removing {_ids(change.removing)}")
    return "  ".join(parts)


def _leader(change: PartitionChange) -> str:
    now = "none" if change.leader < 0 else str(change.leader)
    if change.previous_leader in {None, change.leader}:
        return now
    before = change.previous_leader
    return f"{'none' if before is None or before < 0 else before} -> {now}"


def _before(before: tuple[int, ...] | None, now: tuple[int, ...]) -> str:
    return "" if before is None or before == now else f"{_ids(before)} -> "


def _ids(brokers: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, brokers))}]"

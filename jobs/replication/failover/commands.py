"""The same by Kafka's own tool: the file for `kafka-consumer-groups.sh --reset-offsets --from-file`. Pure.

Source: kafka.admin.ConsumerGroupCommand (KIP-122). A line is `"group",topic,partition,offset`, or without
the group when the command names one. It has no way to say "no offset": those are deleted by topic.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.model import GroupPlan

_TOOL = "kafka-consumer-groups.sh"


@dataclass(frozen=True, slots=True)
class Commands:
    """The content of a CSV file, and the command lines that use it, in order; `notes` for people."""

    file_name: str
    csv: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def apply_commands(bootstrap_servers: str, groups: Iterable[GroupPlan]) -> Commands:
    """Return how to set the planned offsets by hand."""
    rows = [
        (one.group, item.destination, item.target)
        for one in groups
        for item in one.to_be_set
        if item.destination and item.target is not None
    ]
    return _commands("apply.csv", bootstrap_servers, rows)


def undo_commands(
    bootstrap_servers: str, before: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
) -> Commands:
    """Return how to give groups their offsets back by hand."""
    rows = [
        (group, where, one.offset)
        for group, offsets in before.items()
        for where, one in offsets.items()
        if one.offset is not None
    ]
    found = _commands("undo.csv", bootstrap_servers, rows)
    deleted = tuple(_deletions(bootstrap_servers, before))
    return Commands(found.file_name, found.csv, found.lines + deleted, found.notes)


def planned_undo(groups: Iterable[GroupPlan]) -> dict[str, dict[TopicPartition, CommittedOffset]]:
    """Return what groups have on the destination according to a plan that was not applied yet."""
    return {
        one.group: {
            item.destination: CommittedOffset(item.before)
            for item in one.to_be_set
            if item.destination
        }
        for one in groups
    }


def _commands(
    file_name: str,
    bootstrap_servers: str,
    rows: list[tuple[str, TopicPartition, int]],
) -> Commands:
    lines = "".join(f"{_quoted(group)},{w.topic},{w.partition},{to}\n" for group, w, to in rows)
    names = " ".join(f"--group {shlex.quote(name)}" for name in dict.fromkeys(r[0] for r in rows))
    line = (
        f"{_TOOL} --bootstrap-server {shlex.quote(bootstrap_servers)} --reset-offsets {names} "
        f"--from-file {file_name}"
    )
    notes = (
        "The groups must have no member. --dry-run shows what --execute would do.",
        "Where the cluster wants a login, add --command-config with the client's settings.",
    )
    return Commands(
        file_name, lines, (f"{line} --dry-run", f"{line} --execute") if rows else (), notes
    )


def _deletions(
    bootstrap_servers: str, before: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
) -> Iterator[str]:
    """Yield deletions of offsets that were not there; the tool takes topics with their partitions."""
    for group, offsets in before.items():
        gone = sorted(where for where, one in offsets.items() if one.offset is None)
        topics: dict[str, list[str]] = {}
        for where in gone:
            topics.setdefault(where.topic, []).append(str(where.partition))
        if topics:
            named = " ".join(f"--topic {t}:{','.join(numbers)}" for t, numbers in topics.items())
            yield (
                f"{_TOOL} --bootstrap-server {shlex.quote(bootstrap_servers)} --delete-offsets "
                f"--group {shlex.quote(group)} {named}"
            )


def _quoted(text: str) -> str:
    """Return a field of a CSV line: Kafka reads it by Jackson, which knows quotes."""
    return '"' + text.replace('"', '""') + '"'

"""Partitions whose last stable offset a transaction holds for too long, as trouble of their cluster."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.urls import reverse

from console.clusters.equivalents import tool_of
from console.clusters.models import Partition
from jobs.numbers import format_count
from jobs.severity import Severity


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is wrong with a cluster: `what` is a sentence, `href` the page that has more."""

    severity: Severity
    word: str
    what: str
    href: str
    why: str = ""
    next: str = ""
    since: datetime | None = None


_HANGING, _ENDING = "Hanging transaction", "Prepare"


def trouble_of(row: Partition) -> Trouble:
    """Return what is wrong with a partition of `queries.list_stuck`, with the command that ends it."""
    told, alias = row.open_transaction or {}, row.cluster.alias
    since = datetime.fromtimestamp(told["seen_ms"] / 1000, UTC)
    behind = format_count((row.high_watermark or told["offset"]) - told["offset"])
    what = (
        f"Cluster {alias}: the last stable offset of {row} has been {told['offset']} since "
        f"{since:%Y-%m-%d %H:%M:%S} UTC, {behind} offsets below the high watermark. Groups of read_committed "
        "read no further there."
    )
    href = reverse("clusters:topic", args=[alias, row.topic.name])
    if told.get("error"):
        why = f"Which producer it is is not known: {told['error']}"
        return Trouble(Severity.WARNING, "Stuck offset", what, href, why, _look(row), since)
    name = told["transactional_id"]
    producer = f"producer id {told['producer_id']}, epoch {told['producer_epoch']}"
    if told["is_known"]:
        why = f"A transaction of {name} ({producer}) is {told['state']} and older than its timeout."
        if told["state"].startswith(_ENDING):
            why += " How it ends is decided, its markers do not arrive: see the log of its coordinator."
        todo = _end_of(row, told)
        return Trouble(Severity.CRITICAL, "Overdue transaction", what, href, why, todo, since)
    known = (
        "its coordinator does not have"
        if name
        else "no coordinator lists, or crosslog may not DESCRIBE"
    )
    why = f"A transaction of {name or 'an unknown transactional id'} ({producer}) is open that {known}."
    todo = _tool(row, f"abort {_place(row)} --start-offset {told['start_offset']}")
    return Trouble(Severity.CRITICAL, _HANGING, what, href, why, todo, since)


def _end_of(row: Partition, told: Mapping[str, Any]) -> str:
    """Return the command that ends a transaction; none may abort one whose end is decided."""
    if told.get("is_cut"):
        return _tool(row, "list")  # it prints the whole id, beside the producer id
    # A value that begins like an option must stay with its own.
    name = told["transactional_id"]
    value = f"{'=' if name.startswith('-') else ' '}{shlex.quote(name)}"
    if told["state"].startswith(_ENDING):
        return _tool(row, f"describe --transactional-id{value}")
    return _tool(row, f"forceTerminateTransaction --transactionalId{value}")


def _look(row: Partition) -> str:
    return _tool(row, f"describe-producers {_place(row)}")


def _place(row: Partition) -> str:
    return f"--topic {row.topic.name} --partition {row.partition}"


def _tool(row: Partition, rest: str) -> str:
    return tool_of("kafka-transactions.sh", row.cluster, rest)

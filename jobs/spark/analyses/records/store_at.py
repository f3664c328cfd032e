"""`store-at`: the value of a key, or the size of a store, at a time or an offset of its changelog."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import CLUSTER
from jobs.streams.keys import BadKey, KeyFormat, key_bytes

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.task import AnalysisTask

_SUMS = ("entries", "entries_unknown", "deleted_unknown", "bytes", "tombstones")
_HIT = ("partition", "offset", "at_ms", "value_bytes", "value_hash", "value")
_KNOWN = ("value", "deleted")
_UNBOUNDED = {"from": None, "from_offset": None, "to_offset": None, "isolation": "read_committed"}
Row = Mapping[str, Any]


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the changelog; of a key the expected partition, and the others unless it is there."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import connections_of, notes_of, reduce_records
    from jobs.spark.analyses.records.store_history import reduce_partition
    from jobs.wire.batches.hashes import partition_for_key

    connections, key = connections_of(task, "cluster"), _key(arguments)
    reading = Reading(connections, hash_keys=True)
    works = _works(connections["cluster"], arguments)
    options = {"key": None if key is None else key.hex(), "show": arguments["show"]}
    expected = None
    if key is not None and arguments["at_offset"] is None:
        expected = partition_for_key(key, len(works))
    reduced: list[Any] = []
    rows: list[dict[str, Any]] = []
    for part in (works,) if expected is None else (works[expected : expected + 1], works):
        done = {row["partition"] for row in rows}
        left = [one for one in part if one.spans[0].partition not in done]
        question = {"kind": ANALYSIS.kind, "read": len(reduced), **arguments}
        reduced += reduce_records(task, question, reading, left.copy, reduce_partition, options)
        rows = [row for one in reduced for row in one.tables["partitions"].to_pylist()]
        if any(row["state"] in _KNOWN for row in rows):
            break
    changes = [row for one in reduced for row in one.tables["changes"].to_pylist()]
    hits = still_there(reading, [one.work for one in reduced], rows, changes)
    for name, found in (("partitions", rows), ("changes", changes)):
        task.write(name, arrow_table(ANALYSIS.table(name), found))
    facts = {
        "topic": arguments["topic"],
        "as_of": iso(reduced[0].work.extra["as_of_ms"]),
        "partitions": len(works),
        "partitions_read": len(rows),
        "partitions_unknown": sum(bool(row["reason"]) for row in rows),
    }
    facts |= _sizes(rows) if key is None else _of_key(rows, hits, expected)
    return Answer(facts, (*notes_of(reduced), *_notes(rows, facts)))


def _works(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    """Return whole logs by partition, and of each the offset before which its records count."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import Work, spans_of, topics_named

    at, at_offset, number = (arguments[name] for name in ("at", "at_offset", "partition"))
    until = {**_UNBOUNDED, "to": None if at is None else at + 1}
    with ClusterClient(connection, timeout_s=30) as client:
        topics = topics_named(client, arguments["topic"], "topic")
        if len(topics) > 1:
            raise InvalidFields({"topic": "Enter the name of one topic."})
        spans = sorted(spans_of(client, topics, until), key=lambda span: span.partition)
    if at_offset is not None:
        spans = [one for one in spans if one.partition == number]
        if not spans:
            raise InvalidFields({"partition": "The topic has no such partition."})
        if at_offset >= spans[0].log_end:
            raise InvalidFields({"at_offset": f"The log ends at offset {spans[0].log_end:,}."})
    now_ms = time.time_ns() // 1_000_000
    as_of_ms = now_ms if at is None else min(at, now_ms)
    found = []
    for span in spans:
        moment = span.end if at_offset is None else at_offset + 1
        whole = replace(span, start=span.log_start, end=span.log_end)
        found.append(Work((whole,), {"moment": moment, "as_of_ms": as_of_ms}))
    return found


def still_there(
    reading: Any, works: Sequence[Work], rows: Sequence[dict[str, Any]], changes: Sequence[Row]
) -> list[Row]:
    """Return the records at the moment that the log still has; without it, a partition is unknown.

    Where the log cleaner has removed one since, it may have removed later ones before they were read.
    """
    from jobs.spark.analyses.records.reading import read_span

    at = {row["partition"]: row for row in changes if row["place"] == "at"}
    hits = []
    for row, work in zip(rows, works, strict=True):
        if row["state"] in _KNOWN:
            hit = at[row["partition"]]
            span = replace(work.spans[0], start=hit["offset"], end=hit["offset"] + 1)
            with read_span(reading, span) as again:
                if any(len(chunk.records or ()) for chunk in again):
                    hits.append(hit)
                else:
                    row |= {"state": "unknown", "reason": "Its log was compacted meanwhile."}
    return hits


def _key(arguments: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the key; raises InvalidFields."""
    try:
        text, form = arguments["key"], KeyFormat(arguments["key_format"])
        return None if text is None else key_bytes(text, form)
    except BadKey as error:
        raise InvalidFields({"key": str(error)}) from None


def _checked(arguments: Mapping[str, Any]) -> None:
    _key(arguments)
    if (arguments["at_offset"] is None) != (arguments["partition"] is None):
        raise InvalidFields({"at_offset": "An offset and its partition are required together."})
    if arguments["at_offset"] is not None and arguments["at"] is not None:
        raise InvalidFields({"at_offset": "Either a time or an offset."})


def _sizes(rows: Sequence[Row]) -> dict[str, Any]:
    known = [row for row in rows if not row["reason"]]
    sums: dict[str, Any] = {name: sum(row[name] for row in known) for name in _SUMS}
    most = sums["entries"] + sums["entries_unknown"] + sums["deleted_unknown"]
    sums["entries_most"] = most if len(known) == len(rows) else None
    return {**sums, "complete_since": _complete_since(rows)}


def _complete_since(rows: Sequence[Row]) -> str | None:
    """Return the latest time of partitions; None: one is not known, or all are complete."""
    if any(row["reason"] or row["complete_since"] is None for row in rows):
        return None
    return iso(max((row["complete_since_ms"] or 0 for row in rows), default=0) or None)


def _of_key(rows: Sequence[Row], hits: Sequence[Row], expected: int | None) -> dict[str, Any]:
    """Return the state of a key: of its newest record at the moment, of all partitions."""
    facts: dict[str, Any] = {"state": "absent", "expected_partition": expected}
    states = {row["partition"]: row["state"] for row in rows}
    if hits:
        hit = max(hits, key=lambda one: (one["at_ms"] or -1, one["partition"] == expected))
        facts |= {**{name: hit[name] for name in _HIT}, "at_ms": iso(hit["at_ms"])}
        facts["state"] = states[hit["partition"]]
        rows = [row for row in rows if row["partition"] == hit["partition"]]
    elif "unknown" in states.values():
        facts["state"] = "unknown"
    return {**facts, "complete_since": _complete_since(rows)}


def _notes(rows: Sequence[Row], facts: Mapping[str, Any]) -> Iterator[str]:
    begun = sum(row["log_start"] > 0 for row in rows)
    if begun:
        yield (
            f"The logs of {begun:,} partitions begin after offset 0: retention or DeleteRecords removed "
            "older records. Keys that had only those are unknown at every moment."
        )
    compacted = sum(row["removed"] > row["log_start"] for row in rows)
    if compacted:
        yield (
            f"Compaction removed records of {compacted:,} partitions. A key whose first record left is after "
            "the moment is unknown: it may have had a value, or none. Entries are counted as if the log "
            "cleaner did not run while they were read."
        )
    if any(row["reason"].startswith("It has more") for row in rows):
        yield "Partitions with too many keys are unknown (column Reason)."
    if len(rows) < facts["partitions"]:
        yield f"{facts['partitions'] - len(rows):,} partitions were not read: the key was found before."
    place, expected = facts.get("partition"), facts.get("expected_partition")
    if None not in {place, expected} and place != expected:
        yield (
            f"The key is in partition {place}, by murmur2 it would be in {expected}: its producer has "
            "another partitioner, or the number of partitions was changed."
        )


_TEXT, _INTEGER, _CHOICE = ArgumentType.TEXT, ArgumentType.INTEGER, ArgumentType.CHOICE
_COUNT, _OFFSET, _TIME = ColumnType.INTEGER, ColumnType.OFFSET, ColumnType.MOMENT
_FORMATS = tuple(one.value for one in KeyFormat)
_STATES = (
    "Exact, or a range; of a key: value, deleted, absent. Unknown: removed records would tell."
)
_LATER = "At most: keys whose first record left is after the moment."
_LOST = "At most: keys of which no record is left."
_SINCE = "The state before this offset and later ones is exact; of a key, from this record on."
_PARTITION = Column("partition", "Partition", _COUNT)
ANALYSIS = Analysis(
    kind="store-at",
    title="Store at a time",
    arguments=(
        CLUSTER,
        Argument("topic", _TEXT, "Topic", "A changelog, or any table topic.", is_required=True),
        Argument("at", ArgumentType.MOMENT, "Time", "UTC. Default: now."),
        Argument("at_offset", _INTEGER, "Offset", "After this record.", least=0, most=2**62),
        Argument("partition", _INTEGER, "Partition", "Of the offset.", least=0, most=2**31),
        Argument("key", _TEXT, "Key", "As stored, with the bytes of a window. Default: all keys."),
        Argument("key_format", _CHOICE, "Key format", default="utf-8", choices=_FORMATS),
        Argument(
            "show",
            _CHOICE,
            "Values",
            "Of one key: its values, or only their sizes and hashes.",
            default="sizes",
            choices=("sizes", "values"),
            admin_choices=("values",),
        ),
    ),
    tables=(
        Table(
            "partitions",
            "Partitions",
            (
                _PARTITION,
                Column("moment", "Moment", _OFFSET, "Records before this offset count."),
                Column("state", "State", ColumnType.CODE, _STATES),
                Column("entries", "Entries", _COUNT, "Keys with a value."),
                Column("entries_unknown", "Unknown entries", _COUNT, _LATER),
                Column("deleted_unknown", "Unknown deleted entries", _COUNT, _LOST),
                Column("bytes", "Size", ColumnType.BYTES, "Keys and values of the entries."),
                Column("tombstones", "Tombstones", _COUNT),
                Column("oldest_ms", "Oldest entry", _TIME),
                Column("newest_ms", "Newest entry", _TIME),
                Column("log_start", "Log start", _OFFSET),
                Column("removed", "Removed offsets", _COUNT, "Of the whole log."),
                Column("compacted_to", "Compacted to", _OFFSET, "After the last removed offset."),
                Column("complete_since", "Complete since", _OFFSET, _SINCE),
                Column("complete_since_ms", "Complete since (time)", _TIME),
                Column("reason", "Reason", ColumnType.TEXT, "Why nothing is known."),
            ),
        ),
        Table(
            "changes",
            "Changes of the key",
            (
                _PARTITION,
                Column("offset", "Offset", _OFFSET),
                Column("at_ms", "Time", _TIME),
                Column("place", "Place", ColumnType.CODE, "Before, at or after the moment."),
                Column("is_tombstone", "Tombstone", ColumnType.BOOLEAN),
                Column("value_bytes", "Value size", ColumnType.BYTES),
                Column("value_hash", "SHA-256 of the value", ColumnType.TEXT),
                Column("value", "Value", ColumnType.TEXT, "UTF-8 or hex, if values were chosen."),
            ),
        ),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "partitions", "Entries by partition", "partition", "entries"),),
    checked=_checked,
    definition="The log is replayed, committed records only: the last record of a key before the moment is "
    "its state. Kafka's log cleaner removes a record only with all earlier ones of its key, so a record that "
    "is left at the moment is exact. A time means the place before the first record with a later time. Keys "
    "are the stored bytes, and entries are counted by hashes of 64 bits.",
)

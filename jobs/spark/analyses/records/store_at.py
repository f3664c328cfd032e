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
from jobs.streams.keys import BadKey, KeyFormat, key_bytes

if TYPE_CHECKING:
    from jobs.cluster.connection import Connection
    from jobs.spark.analyses.records.ranges import Work
    from jobs.spark.analyses.records.running import Reduced
    from jobs.spark.analyses.task import AnalysisTask

_SUMS = ("entries", "entries_unknown", "deleted_unknown", "bytes", "tombstones")
_KNOWN = ("value", "deleted")
_HIT = ("offset", "at_ms", "value_bytes", "value_hash", "value")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the changelog; of a key the expected partition, and the others unless it is there."""
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    from jobs.spark.analyses.records.running import connections_of, notes_of
    from jobs.wire.batches.hashes import partition_for_key

    connections = connections_of(task, "cluster")
    works = _works(connections["cluster"], arguments)
    key, count = _key(arguments), len(works)
    expected, rounds = None, [works]
    if arguments["at_offset"] is not None:
        rounds = [[one for one in works if one.spans[0].partition == arguments["partition"]]]
    elif key is not None:
        expected = partition_for_key(key, count)
        rounds = [works[expected : expected + 1], works[:expected] + works[expected + 1 :]]
    reduced: list[Reduced] = []
    rows: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for number, some in enumerate(rounds):
        for one in _reduced(task, connections, arguments, number, some):
            reduced.append(one)
            rows += one.tables["partitions"].to_pylist()
            changes += one.tables["changes"].to_pylist()
        if any(row["state"] in _KNOWN for row in rows):
            break
    for name, found in (("partitions", rows), ("changes", changes)):
        task.write(name, pa.Table.from_pylist(found, _schema(ANALYSIS.table(name))))
    facts = {
        "topic": arguments["topic"],
        "as_of": iso(min(one.work.extra["as_of_ms"] for one in reduced)),
        "partitions_read": len(rows),
        "partitions_unknown": sum(bool(row["reason"]) for row in rows),
    }
    facts |= _sizes(rows) if key is None else _of_key(rows, changes, expected)
    notes = [*notes_of(reduced), *_notes(rows)]
    return Answer(facts, (*notes, *(() if key is None else _key_notes(rows, count))))


def _reduced(
    task: AnalysisTask,
    connections: Mapping[str, Connection],
    arguments: Mapping[str, Any],
    number: int,
    works: Sequence[Work],
) -> Iterator[Reduced]:
    """Read some partitions; `number` tells those that are read in another round apart."""
    from jobs.spark.analyses.records.reading import Reading
    from jobs.spark.analyses.records.running import reduce_records
    from jobs.spark.analyses.records.store_history import reduce_partition

    key = _key(arguments)
    options = {"key": None if key is None else key.hex(), "show": arguments["show"]}
    question = {"kind": ANALYSIS.kind, "round": number, **arguments}
    reading = Reading(connections, hash_keys=True)
    return reduce_records(task, question, reading, lambda: works, reduce_partition, options)


def _works(connection: Connection, arguments: Mapping[str, Any]) -> list[Work]:
    """Return whole logs by partition, and of each the offset before which its records count."""
    from jobs.cluster.client import ClusterClient
    from jobs.spark.analyses.records.ranges import Work, spans_of, topics_named

    at, at_offset = arguments["at"], arguments["at_offset"]
    bounds = dict.fromkeys(("from", "from_offset", "to_offset"))
    until = {"to": None if at is None else at + 1, "isolation": "read_committed", **bounds}
    with ClusterClient(connection, timeout_s=30) as client:
        topics = topics_named(client, arguments["topic"], "topic")
        if len(topics) > 1:
            raise InvalidFields({"topic": "Enter the name of one topic."})
        found = sorted(spans_of(client, topics, until), key=lambda span: span.partition)
    if at_offset is not None:
        number = arguments["partition"]
        end = next((one.log_end for one in found if one.partition == number), None)
        if end is None:
            raise InvalidFields({"partition": f"There are {len(found):,} partitions, from 0."})
        if at_offset >= end:
            raise InvalidFields({"at_offset": f"The log of the partition ends at {end:,}."})
    now_ms = time.time_ns() // 1_000_000
    extra = {"at_ms": at, "as_of_ms": now_ms if at is None else min(at, now_ms)}
    return [
        Work(
            (replace(one, start=one.log_start, end=one.log_end),),
            {**extra, "moment": one.end if at_offset is None else at_offset + 1},
        )
        for one in found
    ]


def _key(arguments: Mapping[str, Any]) -> bytes | None:
    if arguments["key"] is None:
        return None
    try:
        return key_bytes(arguments["key"], KeyFormat(arguments["key_format"]))
    except BadKey as error:
        raise InvalidFields({"key": str(error)}) from None


def _checked(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields for arguments that do not go together."""
    _key(arguments)
    if (arguments["at_offset"] is None) != (arguments["partition"] is None):
        raise InvalidFields({"at_offset": "An offset and its partition are required together."})
    if arguments["at_offset"] is not None and arguments["at"] is not None:
        raise InvalidFields({"at_offset": "Either a time or an offset."})


def _sizes(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    known = [row for row in rows if not row["reason"]]
    sums: dict[str, Any] = {name: sum(row[name] for row in known) for name in _SUMS}
    most = sums["entries"] + sums["entries_unknown"] + sums["deleted_unknown"]
    return {
        **sums,
        "entries_most": most if len(known) == len(rows) else None,
        "complete_since": _latest_since(rows),
    }


def _latest_since(rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the time since when all partitions are complete; None: not known, or from their beginning."""
    if any(row["reason"] or row["complete_since"] is None for row in rows):
        return None
    times = [row["complete_since_ms"] for row in rows if row["complete_since_ms"] is not None]
    return iso(max(times)) if times else None


def _of_key(
    rows: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]], expected: int | None
) -> dict[str, Any]:
    """Return what the key was: by its newest record at the moment, if it has some in several partitions."""
    hits = [one for one in changes if one["place"] == "at"]
    states = {row["partition"]: row["state"] for row in rows}
    hits = [one for one in hits if states[one["partition"]] in _KNOWN]
    facts: dict[str, Any] = {"expected_partition": expected, "partition": None}
    if hits:
        hit = max(hits, key=lambda one: (one["at_ms"] or -1, one["partition"] == expected))
        facts |= {"state": states[hit["partition"]], "partition": hit["partition"]}
        facts |= {name: hit[name] for name in _HIT}
        facts["at_ms"] = None if hit["at_ms"] is None else iso(hit["at_ms"])
        facts["partitions_with_key"] = sorted({one["partition"] for one in hits})
        rows = [row for row in rows if row["partition"] == hit["partition"]]
    else:
        facts["state"] = "unknown" if "unknown" in states.values() else "absent"
    return {**facts, "complete_since": _latest_since(rows)}


def _notes(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["reason"]:
            yield f"Partition {row['partition']} is unknown: {row['reason']}"
    begun = [row for row in rows if row["log_start"]]
    if begun:
        yield (
            f"The logs of {len(begun):,} partitions begin after offset 0: retention or DeleteRecords removed "
            "older records. Keys that had only those are unknown at every moment."
        )
    compacted = sum(row["removed"] > row["log_start"] for row in rows)
    if compacted:
        yield (
            f"Records of {compacted:,} partitions are gone by compaction. A key whose first record left is "
            "after the moment is unknown then: it may have had a value, or none."
        )
        yield (
            "If the log cleaner removed records while they were read, an answer may be older than the moment."
        )
    late = sum(row["late"] for row in rows)
    if late:
        yield (
            f"{late:,} records after the moment have an earlier time: the times of records are not in order. "
            "The moment is before the first record with a later time."
        )


def _key_notes(rows: Sequence[Mapping[str, Any]], partitions: int) -> Iterator[str]:
    if len(rows) < partitions:
        yield f"{partitions - len(rows):,} of {partitions:,} partitions were not read."
    found = [row["partition"] for row in rows if row["state"] in _KNOWN]
    if found and len(rows) == partitions > 1 and rows[0]["partition"] not in found:
        yield (
            f"The key is in partition {found[0]}, murmur2 gives {rows[0]['partition']}: its producer has "
            "another partitioner, or the number of partitions was changed."
        )
    if len(found) > 1:
        yield f"The key is in {len(found):,} partitions: the record with the latest time was taken."


def _schema(table: Table) -> Any:
    """Return the types of a table in Parquet."""
    import pyarrow as pa  # as above

    texts, flags = (ColumnType.TEXT, ColumnType.CODE), (ColumnType.BOOLEAN,)
    return pa.schema(
        (
            one.name,
            pa.string() if one.type in texts else pa.bool_() if one.type in flags else pa.int64(),
        )
        for one in table.columns
    )


_PARTITION = Column("partition", "Partition", ColumnType.INTEGER)
ANALYSIS = Analysis(
    kind="store-at",
    title="Store at a moment",
    question="Which value did a key have, or how large was a store, at a time or an offset of its changelog?",
    arguments=(
        Argument("cluster", ArgumentType.CLUSTER, "Cluster", is_required=True),
        Argument(
            "topic",
            ArgumentType.TEXT,
            "Topic",
            "A changelog, or any topic that is a table.",
            is_required=True,
        ),
        Argument("at", ArgumentType.MOMENT, "Time", "UTC. Default: now."),
        Argument(
            "at_offset",
            ArgumentType.INTEGER,
            "Offset",
            "Instead of a time: after this record of a partition.",
            least=0,
            most=2**62,
        ),
        Argument(
            "partition", ArgumentType.INTEGER, "Partition", "Of the offset.", least=0, most=2**31
        ),
        Argument(
            "key",
            ArgumentType.TEXT,
            "Key",
            "As it is stored: of a window store with the bytes of its window. Default: the size of all.",
        ),
        Argument(
            "key_format",
            ArgumentType.CHOICE,
            "Key format",
            default=KeyFormat.UTF_8.value,
            choices=tuple(one.value for one in KeyFormat),
        ),
        Argument(
            "show",
            ArgumentType.CHOICE,
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
                Column("moment", "Moment", ColumnType.OFFSET, "Records before this offset count."),
                Column(
                    "state",
                    "State",
                    ColumnType.CODE,
                    "Of a store: exact, or a range. Of a key: value, deleted, absent (it has no record). "
                    "Unknown: records that would tell are gone.",
                ),
                Column("entries", "Entries", ColumnType.INTEGER, "Keys with a value."),
                Column(
                    "entries_unknown",
                    "Unknown entries",
                    ColumnType.INTEGER,
                    "At most: keys whose first record left is after the moment, where older ones are gone.",
                ),
                Column(
                    "deleted_unknown",
                    "Unknown deleted entries",
                    ColumnType.INTEGER,
                    "At most: keys of which no record is left. Each takes removed offsets.",
                ),
                Column("bytes", "Size", ColumnType.BYTES, "Keys and values of the entries."),
                Column(
                    "tombstones", "Tombstones", ColumnType.INTEGER, "Deleted keys, still there."
                ),
                Column("oldest_ms", "Oldest entry", ColumnType.MOMENT),
                Column("newest_ms", "Newest entry", ColumnType.MOMENT),
                Column("log_start", "Log start", ColumnType.OFFSET),
                Column("removed", "Removed offsets", ColumnType.INTEGER, "Of the whole log."),
                Column(
                    "compacted_to",
                    "Compacted to",
                    ColumnType.OFFSET,
                    "Behind the last removed offset; empty: all records are there.",
                ),
                Column(
                    "complete_since",
                    "Complete since",
                    ColumnType.OFFSET,
                    "The state before this offset or a later one is exact; of a key, after its first record.",
                ),
                Column("complete_since_ms", "Complete since (time)", ColumnType.MOMENT),
                Column("reason", "Reason", ColumnType.TEXT, "Why nothing is known."),
            ),
        ),
        Table(
            "changes",
            "Changes of the key",
            (
                _PARTITION,
                Column("offset", "Offset", ColumnType.OFFSET),
                Column("at_ms", "Time", ColumnType.MOMENT),
                Column("place", "Place", ColumnType.CODE, "Before, at or after the moment."),
                Column("is_tombstone", "Tombstone", ColumnType.BOOLEAN),
                Column("value_bytes", "Value size", ColumnType.BYTES),
                Column("value_hash", "SHA-256 of the value", ColumnType.TEXT),
                Column("value", "Value", ColumnType.TEXT, "UTF-8 or hex, of admins who chose it."),
            ),
        ),
    ),
    run=run,
    charts=(
        Chart(ChartType.BARS, "partitions", "Entries by partition", "partition", "entries"),
        Chart(ChartType.BARS, "partitions", "Size by partition", "partition", "bytes"),
    ),
    checked=_checked,
    definition="The log is replayed, committed records only: the last record of a key before the moment is "
    "its state. Kafka's log cleaner removes a record only with all earlier ones of its key, so a record that "
    "is left at the moment is exact. A time means the place before the first record with a later time. Keys "
    "are the stored bytes, and entries are counted by hashes of 64 bits.",
)

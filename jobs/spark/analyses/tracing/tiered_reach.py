"""`tiered-reach`: what tiered storage holds of topics, what lags, and which groups read remote records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.analysis import Analysis, Answer, Chart, ChartType, Column, Table
from jobs.spark.analyses.analysis import ColumnType as Type
from jobs.spark.analyses.records.ranges import CLUSTER, TOPICS, topics_named
from jobs.tracing.tiers import (
    KEYS,
    SUMS,
    Reads,
    group_reads,
    partition_row,
    tier_settings,
    topic_row,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

Row = Mapping[str, Any]
_ORDER = list(Reads)
_LIMITS = (
    "Bytes of remote records are estimates: offsets times the mean size of an offset of the local part, "
    "unknown where nothing is local. Remote segments that wait for their deletion are not counted.",
    "The active segment is never copied, and no request tells where it begins: the copy lag contains it.",
    "Groups are judged by committed offsets: a member that runs may be ahead of them. Flows and other "
    "readers that commit to no group of this cluster are not seen.",
)


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read ends, committed offsets, and ends once more: what both readings say of a group was so."""
    from jobs.cluster.admin.configs import read_topic_configs
    from jobs.cluster.client import ClusterClient
    from jobs.cluster.descriptions import TopicPartition
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.running import connections_of
    from jobs.spark.analyses.tracing.tier_reading import measure, read_committed, read_ends

    now_ms = time.time_ns() // 1_000_000
    with ClusterClient(connections_of(task, "cluster")["cluster"], timeout_s=30) as client:
        topics = topics_named(client, arguments["topics"])
        configs = read_topic_configs(client, [one.name for one in topics], KEYS)
        settings = {one.name: tier_settings(configs.get(one.name)) for one in topics}
        places = [TopicPartition(t.name, one.partition) for t in topics for one in t.partitions]
        places.sort()
        task.report("Reading offsets", total=len(places), unit="partitions")
        before = read_ends(client, places, settings)
        committed = read_committed(client)
        known = [where for where, one in before.items() if one.end is not None]
        after = before | read_ends(client, known, settings)
        task.report("Reading sizes and times", total=len(places), unit="partitions")
        measured, faults = measure(client, after, settings, now_ms)
    rows = {
        one: partition_row(settings[one.topic], after[one], measured[one]) | one._asdict()
        for one in places
    }
    readers = [
        {"group": group, "group_state": committed.states[group], "reads": reads.value}
        | _reader(rows[where], offset, reads)
        for group, offsets in committed.offsets.items()
        for where, offset in offsets.items()
        if where in after and offset is not None
        for reads in [group_reads(offset, before[where], after[where])]
    ]
    cold = [row for row in readers if row["reads"] != Reads.TAIL]
    cold.sort(key=lambda row: (_ORDER.index(row["reads"]), -(row["lag"] or 0), row["group"]))
    sums = [
        {"topic": topic, **topic_row(list(own))}
        for topic, own in groupby(rows.values(), key=lambda row: row["topic"])
    ]
    for name, found in (("topics", sums), ("partitions", [*rows.values()]), ("readers", cold)):
        task.write(name, arrow_table(ANALYSIS.table(name), found))
    facts = {
        "as_of": iso(now_ms),
        "topics": len(sums),
        "topics_tiered": sum(one["tiered"] == "yes" for one in sums),
        **{name: sum(row[name] or 0 for row in rows.values()) for name in SUMS},
        "partitions_unknown": sum(bool(row["reason"]) for row in rows.values()),
        **{f"readers_{one}": sum(row["reads"] == one for row in readers) for one in Reads},
    }
    sizes = [f"Sizes or times of partitions are unknown: {one.message}" for one in faults[:1]]
    return Answer(facts, (*_notes([*rows.values()], sums), *sizes, *committed.notes, *_LIMITS))


def _reader(row: Row, offset: int, reads: Reads) -> dict[str, Any]:
    """Return what a group still has to read of a partition; of remote bytes, its share of a whole replay."""
    share = 0 if reads in (Reads.TAIL, Reads.FAR_BEHIND) else None
    if reads is Reads.REMOTE and row["replay_bytes"] is not None:
        left, width = row["local_start"] - offset, row["local_start"] - row["log_start"]
        share = round(row["replay_bytes"] * left / width)
    lag = None if row["end"] is None else max(row["end"] - offset, 0)
    kept = {name: row[name] for name in ("topic", "partition", "local_start")}
    return {**kept, "committed": offset, "lag": lag, "from_remote": share}


def _notes(rows: Sequence[Row], sums: Sequence[Row]) -> Iterator[str]:
    faults = [row["reason"] for row in rows if row["reason"]]
    if faults:
        yield f"Offsets of {len(faults):,} partitions are unknown: {faults[0]}"
    unknown = sum(one["tiered"] == "unknown" for one in sums)
    if unknown:
        yield f"Whether {unknown:,} topics are tiered is unknown: their settings cannot be read."
    missing = sum(row["tiered"] != "no" and None in map(row.get, SUMS) for row in rows)
    if missing:
        yield f"The sums leave out what is unknown of {missing:,} partitions."
    late = sum(bool(row["delete_lag"]) for row in rows)
    if late:
        yield (
            f"{late:,} partitions keep offsets beyond their local retention. So do partitions without fault: "
            "the active segment stays, segments that are not copied, the last segment of which a part is "
            "within the retention, and the others until the next check (log.retention.check.interval.ms)."
        )


_READS = (
    "Remote: before the local log start. Far behind: lags by half of the local offsets or more. "
    "Gone: before the log start. Unknown: an end is unknown, or moved past it meanwhile."
)
_FIRST = "How far a replay can go; of a topic, the latest one of its partitions."
_COLUMNS = {
    one.name: one
    for one in (
        Column("group", "Group", Type.TEXT),
        Column("group_state", "State", Type.TEXT),
        Column("topic", "Topic", Type.TEXT),
        Column("partition", "Partition", Type.INTEGER),
        Column("partitions", "Partitions", Type.INTEGER),
        Column("tiered", "Tiered", Type.CODE, "The setting remote.storage.enable."),
        Column("reads", "Reads", Type.CODE, _READS),
        Column("log_start", "Log start", Type.OFFSET),
        Column("committed", "Committed offset", Type.OFFSET),
        Column("local_start", "Local log start", Type.OFFSET),
        Column("highest_tiered", "Highest tiered", Type.OFFSET, "The last one that is remote."),
        Column("end", "End", Type.OFFSET, "The high watermark."),
        Column("local_bytes", "Local", Type.BYTES, "On the disk of the leader."),
        Column("remote_bytes", "Remote", Type.BYTES, "An estimate, with copies of local records."),
        Column("first_ms", "First record", Type.MOMENT, _FIRST),
        Column("replay_bytes", "Replay from remote", Type.BYTES, "Of all records; an estimate."),
        Column("copy_lag", "Copy lag", Type.INTEGER, "Offsets that are not remote."),
        Column(
            "copy_lag_ms", "Copy lag (time)", Type.DURATION_MS, "Of their first and last record."
        ),
        Column("delete_lag", "Delete lag", Type.INTEGER, "Local beyond the local retention."),
        Column("reason", "Reason", Type.TEXT, "Why an offset is unknown."),
        Column("lag", "Lag", Type.INTEGER),
        Column("from_remote", "From remote", Type.BYTES, "Up to the local log; an estimate."),
    )
}


def _table(name: str, title: str, columns: str) -> Table:
    return Table(name, title, tuple(_COLUMNS[one] for one in columns.split()))


_SUMMED = "local_bytes remote_bytes first_ms replay_bytes copy_lag"
ANALYSIS = Analysis(
    kind="tiered-reach",
    title="Tiered storage",
    arguments=(CLUSTER, TOPICS),
    tables=(
        _table("topics", "Topics", f"topic tiered partitions {_SUMMED} delete_lag"),
        _table(
            "partitions",
            "Partitions",
            f"topic partition tiered log_start local_start highest_tiered end {_SUMMED} copy_lag_ms "
            "delete_lag reason",
        ),
        _table(
            "readers",
            "Cold readers",
            "group group_state topic partition reads committed local_start lag from_remote",
        ),
    ),
    run=run,
    charts=(
        Chart(ChartType.BARS, "topics", "Local bytes by topic", "topic", "local_bytes"),
        Chart(ChartType.BARS, "topics", "Remote bytes by topic", "topic", "remote_bytes"),
    ),
    definition="Leaders tell where a log, its local part and its remote part begin and end (ListOffsets), "
    "and how large the local part is (DescribeLogDirs). Records are read only for the times of a few, the "
    "first ones from remote storage. Groups at the tail are counted and not listed.",
)

"""`tiered-reach`: what tiered storage holds of topics, what lags, and which groups read remote records."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Chart,
    ChartType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.records.ranges import CLUSTER, TOPICS
from jobs.tracing.tiers import (
    EXPLAINED,
    KEYS,
    Ends,
    Explain,
    Reads,
    Tiered,
    group_reads,
    partition_row,
    tier_settings,
    topic_row,
)

if TYPE_CHECKING:
    from jobs.cluster.descriptions import TopicPartition
    from jobs.spark.analyses.task import AnalysisTask
    from jobs.spark.analyses.tracing.tier_reading import Committed

Row = Mapping[str, Any]
_ORDER = [Reads.REMOTE, Reads.FAR_BEHIND, Reads.GONE, Reads.UNKNOWN]
_SUMS = ("local_bytes", "remote_bytes", "replay_remote_bytes", "copy_lag", "delete_lag")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read ends, committed offsets, and ends once more: what both readings say of a group was so."""
    from jobs.cluster.admin.configs import describe_topic_configs
    from jobs.cluster.client import ClusterClient
    from jobs.cluster.descriptions import TopicPartition
    from jobs.cluster.errors import ClusterFault
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.records.ranges import topics_named
    from jobs.spark.analyses.records.running import connections_of
    from jobs.spark.analyses.tracing.tier_reading import measure, read_committed, read_ends

    now_ms = time.time_ns() // 1_000_000
    with ClusterClient(connections_of(task, "cluster")["cluster"], timeout_s=30) as client:
        topics = topics_named(client, arguments["topics"])
        configs = describe_topic_configs(client, [one.name for one in topics], KEYS)
        settings = {}
        for name, answer in configs.items():
            values = None
            if not isinstance(answer, ClusterFault):
                values = {key: one.value for key, one in answer.items() if one.value is not None}
            settings[name] = tier_settings(values)
        places = sorted(
            TopicPartition(one.name, part.partition) for one in topics for part in one.partitions
        )
        task.report("Reading offsets", done=0, total=len(places), unit="partitions")
        before = read_ends(client, places, settings)
        committed = read_committed(client)
        after = read_ends(client, places, settings)
        task.report("Reading sizes and times", done=0, total=len(places), unit="partitions")
        measured, size_notes = measure(client, after, settings, now_ms)
    rows = [
        {**where._asdict(), **partition_row(settings[where.topic], after[where], measured[where])}
        for where in places
    ]
    readers, at_tail = _readers(rows, committed, before, after)
    sums = [
        {"topic": topic, **topic_row(list(own)), "cold_groups": _groups(readers, topic)}
        for topic, own in groupby(rows, key=lambda row: row["topic"])
    ]
    for name, found in (("topics", sums), ("partitions", rows), ("readers", readers)):
        task.write(name, arrow_table(ANALYSIS.table(name), found))
    facts = {
        "as_of": iso(now_ms),
        "topics": len(sums),
        "topics_tiered": sum(one["tiered"] == Tiered.YES for one in sums),
        **{name: sum(row[name] or 0 for row in rows) for name in _SUMS},
        "partitions_unknown": sum(bool(row["reason"]) for row in rows),
        **{f"readers_{one.value}": sum(row["reads"] == one for row in readers) for one in _ORDER},
        "readers_tail": at_tail,
    }
    return Answer(facts, (*_notes(rows, sums), *size_notes, *committed.notes))


def _readers(
    rows: Sequence[Row],
    committed: Committed,
    before: Mapping[TopicPartition, Ends],
    after: Mapping[TopicPartition, Ends],
) -> tuple[list[dict[str, Any]], int]:
    """Return the groups that are not at the tail of a partition, coldest first, and how many are."""
    found, at_tail = [], 0
    sizes = {(row["topic"], row["partition"]): row for row in rows}
    for group, offsets in committed.offsets.items():
        for where, offset in offsets.items():
            if where not in after:
                continue
            ends, row = after[where], sizes[where]
            reads = group_reads(offset, before[where], ends)
            at_tail += reads is Reads.TAIL
            if reads is Reads.TAIL:
                continue
            share = 0 if reads is Reads.FAR_BEHIND else None
            if reads is Reads.REMOTE and row["replay_remote_bytes"] is not None:
                width = row["local_start"] - row["log_start"]
                share = round(row["replay_remote_bytes"] * (row["local_start"] - offset) / width)
            found.append(
                {
                    "group": group,
                    "group_state": committed.states[group],
                    **where._asdict(),
                    "reads": reads.value,
                    "committed": offset,
                    "local_start": ends.local_start,
                    "lag": None if ends.end is None else max(ends.end - offset, 0),
                    "remote_bytes": share,
                }
            )
    found.sort(key=lambda row: (_ORDER.index(row["reads"]), -(row["lag"] or 0), row["group"]))
    return found, at_tail


def _groups(readers: Sequence[Row], topic: str) -> int:
    cold = (Reads.REMOTE, Reads.FAR_BEHIND)
    return len({row["group"] for row in readers if row["topic"] == topic and row["reads"] in cold})


def _notes(rows: Sequence[Row], sums: Sequence[Row]) -> Iterator[str]:
    faults = [row["reason"] for row in rows if row["reason"]]
    if faults:
        yield f"Offsets of {len(faults):,} partitions are unknown, the first one: {faults[0]}"
    unknown = sum(one["tiered"] == Tiered.UNKNOWN for one in sums)
    if unknown:
        yield f"The settings of {unknown:,} topics cannot be read: whether they are tiered is unknown."
    if any(one["tiered"] == Tiered.YES for one in sums):
        yield (
            "Bytes of remote records are estimates: offsets times the mean size of an offset of the local "
            "part. Remote segments that wait for their deletion are not counted."
        )
        yield (
            "The active segment is never copied, and no request tells where it begins: the copy lag "
            "contains it."
        )
    missing = sum(any(row[name] is None for name in _SUMS) for row in rows if _is_tiered(row))
    if missing:
        yield f"Sums of facts leave out what is unknown of {missing:,} partitions."
    for one in Explain:
        count = sum(row["explain"] == one for row in rows)
        if count:
            yield f"{one.value.replace('_', ' ').capitalize()} ({count:,} partitions): {EXPLAINED[one]}"
    yield (
        "A group is judged by its committed offsets: a member that runs may be ahead of them. Flows and "
        "other readers that commit to no group of this cluster are not seen."
    )


def _is_tiered(row: Row) -> bool:
    return bool(row["tiered"] != Tiered.NO)


_COUNT, _OFFSET, _TIME = ColumnType.INTEGER, ColumnType.OFFSET, ColumnType.MOMENT
_TEXT, _CODE, _BYTES = ColumnType.TEXT, ColumnType.CODE, ColumnType.BYTES
_TOPIC, _PARTITION = Column("topic", "Topic", _TEXT), Column("partition", "Partition", _COUNT)
_TIERED = Column("tiered", "Tiered", _CODE, "The setting remote.storage.enable.")
_LOCAL_BYTES = Column("local_bytes", "Local", _BYTES, "On the disk of the leader.")
_REMOTE_BYTES = Column(
    "remote_bytes", "Remote", _BYTES, "An estimate. What is copied and still local, too."
)
_REPLAY_BYTES = Column(
    "replay_remote_bytes", "Replay from remote", _BYTES, "A replay of all records; an estimate."
)
_COPY_LAG = Column(
    "copy_lag",
    "Copy lag",
    _COUNT,
    "Offsets that are not in remote storage, with the active segment.",
)
_DELETE_LAG = Column(
    "delete_lag", "Delete lag", _COUNT, "Local offsets that are beyond the local retention."
)
_LOCAL_START = Column("local_start", "Local log start", _OFFSET)
_READS = (
    "Where it reads next. Remote: before the local log start. Far behind: its lag is half of the local "
    "offsets or more. Gone: before the log start. Unknown: an end is unknown or moved past it meanwhile."
)
ANALYSIS = Analysis(
    kind="tiered-reach",
    title="Tiered storage",
    question="What of topics is local and remote, what lags, how far can a replay go, and who reads cold?",
    arguments=(CLUSTER, TOPICS),
    tables=(
        Table(
            "topics",
            "Topics",
            (
                _TOPIC,
                _TIERED,
                Column("partitions", "Partitions", _COUNT),
                _LOCAL_BYTES,
                _REMOTE_BYTES,
                Column(
                    "complete_from_ms",
                    "Complete from",
                    _TIME,
                    "The latest first record of its partitions.",
                ),
                _REPLAY_BYTES,
                _COPY_LAG,
                _DELETE_LAG,
                Column("cold_groups", "Cold groups", _COUNT, "Remote or far behind."),
            ),
        ),
        Table(
            "partitions",
            "Partitions",
            (
                _TOPIC,
                _PARTITION,
                _TIERED,
                Column("log_start", "Log start", _OFFSET),
                _LOCAL_START,
                Column("highest_tiered", "Highest tiered", _OFFSET, "The last one that is remote."),
                Column("end", "End", _OFFSET, "The high watermark."),
                _LOCAL_BYTES,
                _REMOTE_BYTES,
                Column("first_ms", "First record", _TIME, "How far a replay can go."),
                Column("replay_offsets", "Replay", _COUNT, "Offsets from log start to end."),
                _REPLAY_BYTES,
                _COPY_LAG,
                Column("copy_lag_bytes", "Copy lag (bytes)", _BYTES, "An estimate."),
                Column(
                    "copy_lag_ms",
                    "Copy lag (time)",
                    ColumnType.DURATION_MS,
                    "From the first record that is not copied to the last one.",
                ),
                _DELETE_LAG,
                Column("explain", "Explanation", _CODE, "Of the delete lag; see the notes."),
                Column("reason", "Reason", _TEXT, "Why an offset is unknown."),
            ),
        ),
        Table(
            "readers",
            "Cold readers",
            (
                Column("group", "Group", _TEXT),
                Column("group_state", "State", _TEXT),
                _TOPIC,
                _PARTITION,
                Column("reads", "Reads", _CODE, _READS),
                Column("committed", "Committed offset", _OFFSET),
                _LOCAL_START,
                Column("lag", "Lag", _COUNT),
                Column("remote_bytes", "From remote", _BYTES, "An estimate, up to the local log."),
            ),
        ),
    ),
    run=run,
    charts=(
        Chart(ChartType.BARS, "topics", "Local bytes by topic", "topic", "local_bytes"),
        Chart(ChartType.BARS, "topics", "Remote bytes by topic", "topic", "remote_bytes"),
    ),
    definition="Leaders tell where a log, its local part and its remote part begin and end (ListOffsets), "
    "and how large the local part is (DescribeLogDirs). Records are read only for the times of "
    "a few, the first ones from remote storage. Groups at the tail are counted and not listed.",
)

"""The kind `backfill`: the whole history of a flow's offset syncs into its archive, in ranges over tasks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.offsets.syncs import open_for_writing

if TYPE_CHECKING:
    from jobs.replication.offset_syncs.archive_writer import SyncArchive
    from jobs.replication.offset_syncs.backfill import RangeSyncs, SyncRange
    from jobs.replication.offset_syncs.follower import SyncsPlace
    from jobs.spark.analyses.task import AnalysisTask

KIND = "backfill"
_RANGES = Table(
    "ranges",
    "Ranges and gaps",
    (
        Column("what", "Kind", ColumnType.CODE, "Range: read by this run. Gap: missing in the archive."),
        Column("from_offset", "From offset", ColumnType.OFFSET, "Of the offset sync topic."),
        Column("to_offset", "To offset", ColumnType.OFFSET, "Exclusive; empty: not known."),
        Column("syncs", "Offset syncs", ColumnType.INTEGER),
        Column("detail", "Detail", ColumnType.TEXT, "Reason of a gap."),
        Column("seen_ms", "Gap seen", ColumnType.MOMENT),
    ),
)  # fmt: skip


def _run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    from jobs.replication.flow.spec import FlowSpec
    from jobs.replication.offset_syncs.follower import place_of

    known = task.resources["flow"]
    flow = FlowSpec.from_mapping(known["flow"])
    place = place_of(flow)
    if place is None:
        raise InvalidFields({"flow": f"The flow {flow.name} writes no offset syncs."})
    if known["archive"] is None:
        raise InvalidFields({"archive": "--archive DIR is required."})
    with open_for_writing(task, Path(known["archive"])) as archive:
        return _answer(task, place, archive, flow.tasks)


def _answer(task: AnalysisTask, place: SyncsPlace, archive: SyncArchive, tasks: int) -> Answer:
    from jobs.spark.analyses.document import arrow_table

    before, began = archive.manifest, time.monotonic()
    rows, end = fill(task, place, archive, tasks)
    after = archive.manifest
    gaps = [
        {
            "what": "gap",
            "from_offset": gap.from_offset,
            "to_offset": gap.to_offset,
            "syncs": None,
            "detail": f"{gap.kind.value}: {gap.reason}",
            "seen_ms": gap.at_ms,
        }
        for gap in after.gaps
    ]
    task.write(_RANGES.name, arrow_table(_RANGES, rows + gaps))
    facts = {
        "syncs_read": after.sync_count - before.sync_count,
        "syncs_in_archive": after.sync_count,
        "topic": place.topic,
        "topic_end_offset": end,
        "refused_records": sum(after.refused.values()),
        "gaps": len(gaps),
        "seconds": round(time.monotonic() - began, 2),
    }
    news = [gap for gap in after.gaps if gap not in before.gaps]
    return Answer(facts, tuple(f"Missing from the archive: {gap.reason}." for gap in news))


def fill(
    task: AnalysisTask, place: SyncsPlace, archive: SyncArchive, tasks: int
) -> tuple[list[dict[str, Any]], int]:
    """Append what an archive does not have; return a row of each range, and where the topic ends.

    What is appended stays, whatever comes after it. Raises `ClusterFault`.
    """
    from jobs.replication.offset_syncs.backfill import (
        append_ranges,
        begin_backfill,
        ranges_of,
    )

    task.report(f"Querying the end offset of {place.topic}")
    before = archive.manifest
    start, end = begin_backfill(place, archive)
    source = archive.manifest.source
    assert source is not None  # noqa: S101  the beginning told it
    ranges = ranges_of(start, end, tasks)
    rows: list[dict[str, Any]] = []
    if brought := archive.manifest.sync_count - before.sync_count:
        # What the broker answered while the end was looked for.
        is_same = before.source == source
        refused = Counter(archive.manifest.refused) - Counter(before.refused)
        known = before.next_offset if is_same else None
        rows.append(_row(known, start, brought, "; ".join(_refused(refused))))
    for first in range(0, len(ranges), 2 * tasks):
        some = ranges[first : first + 2 * tasks]
        done = {"done": some[0].start - start, "total": end - start}
        task.report(f"Reading {place.topic}", **done, unit="offsets")
        read = _read(task, place, source.topic_id, some)
        for span, found in zip(some, read, strict=True):
            brought = sum(append_ranges(archive, source, [found]))
            rows.append(_row(span.start, span.end, brought, _detail(found)))
    task.report("Indexing the archive", done=end - start, total=end - start, unit="offsets")
    archive.tidy(now=True)
    return rows, end


def _read(
    task: AnalysisTask, place: SyncsPlace, topic_id: str | None, ranges: list[SyncRange]
) -> list[RangeSyncs]:
    """Read some ranges at once, each by a task."""
    from jobs.replication.offset_syncs.backfill import read_range

    told = task.spark.sparkContext.parallelize(ranges, len(ranges))
    return list(told.map(lambda one: read_range(place, topic_id, one)).collect())


def _row(start: int | None, end: int, syncs: int, detail: str = "") -> dict[str, Any]:
    return {
        "what": "range",
        "from_offset": start,
        "to_offset": end,
        "syncs": syncs,
        "detail": detail or None,
        "seen_ms": None,
    }


def _detail(found: RangeSyncs) -> str:
    """Return what of a range was not there, or was no offset sync."""
    told = []
    if found.first_offset is None:
        told.append("no batch begins here: removed, or part of an earlier batch")
    if found.missing is not None:
        told.append(f"removed by compaction or retention: {found.missing[0]} to {found.missing[1]}")
    return "; ".join([*told, *_refused(found.refused)])


def _refused(counts: Mapping[str, int]) -> list[str]:
    return [f"{count} records refused: {reason}" for reason, count in counts.items()]


ANALYSIS = Analysis(
    kind=KIND,
    title="Backfill of the offset sync archive",
    arguments=(
        Argument(
            "flow",
            ArgumentType.FLOW,
            "Flow",
            "Offset syncs that the archive already has are not read again.",
            is_required=True,
            needs_archive=True,
        ),
    ),
    tables=(_RANGES,),
    run=_run,
    definition="Reads the offset sync topic with as many tasks as the flow has, and appends it to the "
    "archive. The archive's follower waits meanwhile. A stopped run keeps what it appended, and the next run "
    "resumes there.",
)

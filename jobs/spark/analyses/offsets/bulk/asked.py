"""Input of a bulk translation: a list, or the offsets of a flow's groups; and all answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # it has no types
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # as above

from jobs.cluster.admin.groups import list_groups, read_committed_or_why
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.quorum.history.change_json import iso
from jobs.replication.flow.selection import group_filter_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive_manifest import Gap, Manifest, read_manifest
from jobs.replication.translation.questions import NO_LIMITS, Limits
from jobs.spark.analyses.offsets.bulk.answering import (
    KEPT_REFUSED,
    MOST_UNKNOWN,
    AnswerPart,
    Asking,
    Tally,
    list_parts,
    remote_of,
)
from jobs.spark.analyses.offsets.bulk.question_files import FIELD, MOST_ROWS, Part, refusal
from jobs.spark.analyses.offsets.bulk.question_rows import QUESTIONS, REFUSED
from jobs.spark.analyses.offsets.syncs import Syncs
from jobs.spark.analyses.task import AnalysisTask

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
MOST_GAPS = 5
# As Spark says it.
_CRASHED = "Python worker exited unexpectedly"
UNTIMED = (
    "Of some offset syncs it is not known when they were written: they count as known already."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions in parts, their archive, and what is not known of both."""

    asking: Asking
    parts: Sequence[Part]
    notes: tuple[str, ...]

    def answer(self, task: AnalysisTask, answers: Path) -> Tally:
        """Answer all of them, into the folder `answers` and the table `refused`; parts at once, as Spark can.

        Few questions are one part, and one Spark task. Raises InvalidFields when the list is given up.
        """
        refused = task.tables / "refused"
        for folder in (answers, refused):
            folder.mkdir(parents=True, exist_ok=True)
        task.write("refused", REFUSED.empty_table())
        task.report(f"Translates in {len(self.parts):,} parts")
        work = AnswerPart(self.asking, self.parts, answers, refused)
        if not self.parts:
            return work.write_nothing()
        tally = Tally()
        for one in _in_tasks(task, work, range(len(self.parts))):
            tally.add(one)
        if tally.refusal:
            raise refusal(tally.refusal)
        _keep_first(refused, KEPT_REFUSED)
        return tally

    def notes_of(self, tally: Tally) -> tuple[str, ...]:
        """Return what is not known, and which answers are not listed one by one."""
        notes = list(self.notes)
        if tally.counts["refused"] > KEPT_REFUSED:
            notes.append(f"Of the refused rows the first {KEPT_REFUSED:,} are listed.")
        if len(tally.unknown) >= MOST_UNKNOWN:
            notes.append(
                f"Unknown partitions are counted up to {MOST_UNKNOWN:,}: there may be more."
            )
        return tuple(notes)

    def facts(self, tally: Tally) -> dict[str, Any]:
        """Return what is to be said of all answers."""
        manifest = read_manifest(self.asking.folder) or Manifest()
        counts = tally.counts
        return {
            "questions": counts["questions"],
            "answered": counts["answered"],
            "exact": counts["exact"],
            "exact_share": share(counts["exact"], counts["answered"]),
            "unknown_partitions": len(tally.unknown),
            "not_there": counts["wrong"],
            "refused": counts["refused"],
            "known_until": iso(self.asking.at_ms or manifest.read_at_ms),
            "syncs": manifest.sync_count,
            "gaps": len(manifest.gaps),
        }


def share(count: int, of: int) -> float | None:
    """Return which part of some a count is; None of none."""
    return round(count / of, 4) if of else None


def ask(task: AnalysisTask, arguments: Mapping[str, Any], syncs: Syncs) -> Asked:
    """Return what a question of the kinds `translate` and `refine` asks for.

    Raises `ClusterFault` where groups are requested, InvalidFields for a list that is none, and `BadArchive`.
    """
    asking = Asking(
        syncs.folder,
        syncs.flow,
        arguments.get("at"),
        arguments.get("direction") == "reverse",
        arguments["group"],
    )
    notes = _notes_of_archive(asking)
    if arguments[FIELD] is not None:
        parts = _parts(task, **task.resources[FIELD])
        ends, more = _ends_for_a_list(asking)
        return Asked(replace(asking, ends=ends), parts, (*notes, *more))
    return _groups(task, asking, notes)


def _groups(task: AnalysisTask, asking: Asking, notes: Sequence[str]) -> Asked:
    flow = asking.flow
    assert flow is not None  # noqa: S101  `check_asked` said so
    side = flow.target if asking.is_reverse else flow.source
    task.report(f"Asks for committed offsets on {side.alias}")

    def wants(topic: str) -> bool:
        return topic in asking.source_of if asking.is_reverse else should_replicate(flow, topic)

    with ClusterClient(side) as client:
        found = read_group_questions(client, flow, asking.group, wants)
    if asking.at_ms is not None:
        notes = [*notes, "The committed offsets are those of now: Kafka keeps no earlier ones."]
    path = task.run_dir / "questions.parquet"
    pq.write_table(found.questions, path)
    parts = _parts(task, str(path)) if len(found.questions) else []
    asking = replace(asking, has_lines=False, ends=found.ends)
    return Asked(asking, parts, (*notes, *found.notes))


def _parts(task: AnalysisTask, path: str, most_rows: int = MOST_ROWS) -> Sequence[Part]:
    """Return the parts of a list, which a task looks at: what breaks there ends this question only."""
    task.report("Looks at the list")
    tasks = task.spark.sparkContext.defaultParallelism
    [found] = _in_tasks(task, partial(list_parts, tasks=tasks, most_rows=most_rows), [Path(path)])
    if found.refusal:
        raise refusal(found.refusal)
    return found.parts


def _in_tasks(
    task: AnalysisTask, work: Callable[[_Item], _Result], items: Sequence[_Item]
) -> Iterable[_Result]:
    """Do some work for each item in a Spark task; raises InvalidFields when the process of one ended."""
    try:
        return task.spark.sparkContext.parallelize(items, len(items)).map(work).collect()
    except Py4JJavaError as error:
        task.check_stop()
        if _CRASHED in str(error):
            raise refusal(
                "The process that read it ended: it is damaged, or takes too much memory. Write it again, "
                "as CSV or with smaller row groups."
            ) from error
        raise


def _keep_first(folder: Path, most: int) -> None:
    """Leave the first rows of a table."""
    left = most
    for path in sorted(folder.glob("*.parquet")):
        rows = pq.read_metadata(path).num_rows
        if rows > left:
            pq.write_table(pq.read_table(path).slice(0, left), path, compression="zstd")
        left -= min(rows, left)


def _ends_for_a_list(asking: Asking) -> tuple[Limits, list[str]]:
    """Return the ends of all partitions that the archive knows, where a cluster is known and answers."""
    flow, unchecked = asking.flow, "Whether offsets are beyond the end of their log was not checked"
    if flow is None:
        return NO_LIMITS, [f"{unchecked}: without a flow no cluster is known to ask."]
    topics = {where.topic for where in asking.translator.partitions}
    if asking.is_reverse:
        side, topics = flow.target, {remote_of(flow, topic) for topic in topics}
    else:
        side = flow.source
    try:
        with ClusterClient(side) as client:
            return read_ends(client, topics), []
    except ClusterFault as fault:
        return NO_LIMITS, [f"{unchecked}: {fault}"]


def _notes_of_archive(asking: Asking) -> list[str]:
    manifest = read_manifest(asking.folder)
    if manifest is None or not manifest.sync_count:
        return ["There is no offset sync in the archive (yet): nothing is known of any offset."]
    gaps = [_gap_text(gap, manifest) for gap in manifest.gaps[-MOST_GAPS:]]
    if len(manifest.gaps) > MOST_GAPS:
        gaps.insert(0, f"The archive has {len(manifest.gaps):,} gaps; of the last {MOST_GAPS}:")
    if asking.at_ms is not None and _has_untimed(asking.folder, manifest):
        gaps.append(UNTIMED)
    return gaps


def _has_untimed(folder: Path, manifest: Manifest) -> bool:
    """Return whether there are offset syncs whose time is not known."""
    for part in manifest.parts:
        try:
            file = pq.read_metadata(folder / part.file)
        except FileNotFoundError:
            # It was merged with others.
            continue
        if "at_ms" not in file.schema.names:
            return True
        column = file.schema.names.index("at_ms")
        for group in range(file.num_row_groups):
            known = file.row_group(group).column(column).statistics
            if known is None or not known.has_min_max or known.min < 0:
                return True
    return False


def _gap_text(gap: Gap, manifest: Manifest) -> str:
    topic = manifest.source.topic if manifest.source else "the topic"
    until = "its end" if gap.to_offset is None else f"offset {gap.to_offset}"
    span = f"from offset {gap.from_offset} to {until} of {topic}"
    return f"Offset syncs are missing {span}, seen {iso(gap.at_ms)}: {gap.reason}"


MOST_NAMED = 10


class GroupQuestions(NamedTuple):
    """Committed offsets, the ends of their partitions (read afterwards), and what is not known."""

    questions: pa.Table
    ends: Limits
    notes: tuple[str, ...]


def read_group_questions(
    client: ClusterClient, flow: FlowSpec, group: str | None, wants: Callable[[str], bool]
) -> GroupQuestions:
    """Return all committed offsets of the flow's groups, or of one group, on topics that are wanted.

    Raises `ClusterFault`.
    """
    notes: list[str] = []
    if group is None:
        listed, accepts = list_groups(client), group_filter_of(flow).accepts
        names = [one.group_id for one in listed.groups if accepts(one.group_id)]
        notes += [f"Groups may be missing: {error}" for error in listed.errors]
    else:
        names = [group]
    committed, errors = read_committed_or_why(client, names) if names else ({}, {})
    rows = [
        (name, *where, one.offset)
        for name in sorted(committed)
        for where, one in sorted(committed[name].items())
        if one.offset is not None and one.offset >= 0 and wants(where.topic)
    ]
    failed = sorted(errors.items())
    notes += [
        f"The offsets of group {name} could not be read: {why}" for name, why in failed[:MOST_NAMED]
    ]
    if len(failed) > MOST_NAMED:
        notes.append(f"So it is with {len(failed) - MOST_NAMED:,} more groups.")
    if not rows:
        whose = f"The group {group} has" if group else "No group of the flow has"
        notes.append(
            f"{whose} a committed offset on a topic of the flow on {client.connection.alias}."
        )
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    table = pa.table([range(1, len(rows) + 1), *columns], QUESTIONS)
    return GroupQuestions(table, read_ends(client, {row[1] for row in rows}), tuple(notes))


def read_ends(client: ClusterClient, topics: Collection[str]) -> Limits:
    """Ask a cluster for all partitions of topics; raises `ClusterFault`.

    The end is the high watermark: some groups read what is not committed, too.
    """
    described = describe_topics(client, sorted(topics)) if topics else []
    counts = {one.name: len(one.partitions) for one in described if not one.error}
    wanted = [
        TopicPartition(name, number) for name, size in counts.items() for number in range(size)
    ]
    ranges = read_offset_ranges(client, wanted, with_timestamps=False) if wanted else {}
    ends = {w: one.high_watermark for w, one in ranges.items() if one.high_watermark is not None}
    missing = {one.name: 0 for one in described if is_missing(one)}
    return Limits(client.connection.alias, counts | missing, ends)

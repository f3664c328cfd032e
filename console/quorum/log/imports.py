"""The history of imported logs: all but partitions at once, the changes of partitions as Spark made them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from uuid import UUID

from django.conf import settings

from console.accounts.asked_rights import acting, refuse_ended
from console.frame.errors import ActionRefused
from console.frame.processes import liveness
from console.quorum.log.archives import archive_of
from console.quorum.log.log_fold import LogFold, Portion
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataChange, MetadataLog
from console.quorum.voters.evaluation import judge_log
from console.runs.analyses.actions import ask
from console.runs.analyses.questions import Question
from console.runs.analyses.results import has_answer, tables_in
from console.runs.models import Run
from jobs.archives import BadArchive
from jobs.logs import own_fault
from jobs.quorum.history.changes import Cause, PartitionChange
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.folder import BadFolder

logger = logging.getLogger(__name__)

# More changes of partitions than these stay in Parquet: rows are written at 3,000 a second.
MOST_ROWS = 50_000
_PORTION = 5_000
# Of one offset, the changes of partitions are counted from here on, behind all others.
_NUMBER = 1_000_000
KIND = "metadata-history"
WAITING = "Import queued: waiting for a free worker."
READING = "Spark is reading the partition changes."
_NEW = {
    Cause.TOPIC_CREATED,
    Cause.TOPIC_RECREATED,
    Cause.PARTITIONS_ADDED,
    Cause.PARTITION_REPLACED,
}


def fold_import(log_id: int, now: datetime) -> None:
    """Read an imported log into rows, except its partitions, which Spark reads.

    Its page shows errors.
    """
    log = MetadataLog.objects.filter(pk=log_id, cluster=None).first()
    if log is None:
        return
    try:
        refuse_ended(log.asked_by, log.asked_with, "operate")
        manifest = read_manifest(archive_of(log))
        end = manifest.next_offset if manifest else None
        _tell_progress(log, end)
        fold = LogFold(log.next_offset)
        for portion in fold.begin_beside_partitions(archive_of(log)):
            save_portion(log, portion, now)
            _tell_progress(log, end)
            liveness.sign()
        last, timeline = fold.finish(log.high_watermark)
        save_portion(log, last, now)
        judge_log(log, timeline, log.last_at or now)
    except ActionRefused as refusal:
        log.error, log.failing_since, log.lost = f"Import refused: {refusal.message}", now, ""
    except (BadArchive, BadFolder, OSError) as error:
        log.error, log.failing_since, log.lost = f"Import failed: {_told(log, error)}", now, ""
        logger.warning("imported log not read log=%s error=%s", log.name, error)
    except Exception:  # the task ends here, and its log would wait for ever
        text = own_fault("reading it")
        log.error, log.failing_since, log.lost = text, now, ""
        logger.exception("imported log broke log=%s", log.name)
    else:
        log.error, log.failing_since, log.heard_at, log.lost = "", None, now, READING
    log.save(update_fields=["error", "failing_since", "heard_at", "lost"])
    if log.failing_since is None:
        _ask_spark(log, now)


def _told(log: MetadataLog, error: Exception | str) -> str:
    """Return what an error says, without where the archive is on this machine."""
    text = str(error)
    for folder in (archive_of(log), Path(settings.CROSSLOG_ARCHIVE)):
        text = text.replace(str(folder), "the archive")
    return text


def _tell_progress(log: MetadataLog, end: int | None) -> None:
    """Show the progress on the log's page; `end` None: the archive does not say where it ends."""
    of = "" if end is None else f" of {end:,}"
    log.lost = f"Import running: offset {log.next_offset:,}{of}. The partitions follow."
    log.save(update_fields=["lost"])


def is_reading(run_id: UUID) -> bool:
    """Say whether a run reads the partitions of an imported log whose pages wait for them."""
    run = Run.objects.filter(pk=run_id, kind=KIND).only("arguments").first()
    name = run.arguments.get("log", "") if run else ""
    return MetadataLog.objects.filter(name=name, cluster=None, lost=READING).exists()


def take_run(run_id: UUID, now: datetime) -> None:
    """Take the changes of partitions out of the answer of a run; without one, its log says why."""
    run = Run.objects.filter(pk=run_id, kind=KIND).first()
    name = run.arguments.get("log", "") if run else ""
    log = MetadataLog.objects.filter(name=name, cluster=None).first()
    if run is None or log is None:
        return
    if not has_answer(run):
        tell_failure(log, run.error or "the run was cancelled.")
        return
    table = tables_in(run)["partition_changes"]
    take_partitions(log, table.folder / table.table.name, table.rows, now)


def _ask_spark(log: MetadataLog, now: datetime) -> None:
    question = Question(KIND, {"log": log.name}, f"log:{log.pk}", f"Read {log.label}"[:200])
    is_asked = log.asked_by is not None
    try:
        person = acting(log.asked_by, log.asked_with, "operate") if is_asked else None
        ask(question, person, now)
    except ActionRefused as refusal:
        tell_failure(log, refusal.message)


def take_partitions(log: MetadataLog, table: Path, rows: int, now: datetime) -> None:
    """Write the changes of partitions of a log into rows, from Spark's table; too many are only counted."""
    log.lost = ""
    if rows > MOST_ROWS:
        log.lost = (
            f"The log has {rows:,} partition changes, too many for these pages. Use New analysis, or "
            "download them as Parquet."
        )
    else:
        for portion in _portions(log, table):
            save_portion(log, portion, now)
            liveness.sign()
    log.save(update_fields=["lost"])


def tell_failure(log: MetadataLog, sentence: str) -> None:
    """Say on the log's page why its partitions are not known."""
    log.lost = f"The partition changes were not read: {_told(log, sentence)}"
    log.save(update_fields=["lost"])


def _portions(log: MetadataLog, table: Path) -> Iterator[Portion]:
    from jobs.quorum.log_tables.reading import partition_changes

    numbers, offset, latest_ms = count(_NUMBER), -1, None
    found = partition_changes(table)
    while changes := list(islice(found, _PORTION)):
        told = Portion()
        for change in changes:
            if change.offset != offset:
                numbers, offset = count(_NUMBER), change.offset
                latest_ms = None if change.is_dated else _snapshot_ms(log, offset)
            placed = change if change.is_dated else replace(change, not_after_ms=latest_ms)
            told.changes.append((placed, next(numbers), _record_type(change)))
        yield told


def _snapshot_ms(log: MetadataLog, offset: int) -> int | None:
    """Return the time of a snapshot, which its other changes have; the table of partitions has it not."""
    told = MetadataChange.objects.filter(log=log, offset=offset, is_dated=False).first()
    return None if told is None else round(told.at.timestamp() * 1000)


def _record_type(change: PartitionChange) -> str | None:
    """Return the type of the record that made a change; None where a snapshot tells."""
    if not change.is_dated:
        return None
    if change.is_removed:
        return "REMOVE_TOPIC_RECORD"
    return "PARTITION_RECORD" if change.cause in _NEW else "PARTITION_CHANGE_RECORD"

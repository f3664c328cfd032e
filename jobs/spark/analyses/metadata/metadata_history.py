"""`metadata-history`: a metadata log as tables, each change with its offset, epoch, time and cause."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

_PLACE = "offset effective_offset epoch timestamp_ms not_after_ms cause"
# The columns of `log_tables.schemas`, which cannot be imported here: forms and commands need no pyarrow.
_TABLES = {
    "partition_changes": (
        "Partition changes",
        "offset applied_offset epoch timestamp_ms batch_offset topic_id topic partition leader leader_epoch "
        "partition_epoch recovery_state isr elr last_known_elr replicas adding removing previous_leader "
        "previous_isr cause cause_broker election leader_was_outside began_recovering is_removed",
    ),
    "broker_changes": (
        "Broker changes",
        f"{_PLACE} broker_id rack incarnation_id broker_epoch is_fenced in_controlled_shutdown is_removed "
        "previous_is_fenced previous_rack endpoints",
    ),
    "voter_sets": (
        "Voter sets",
        "offset epoch timestamp_ms voter_ids voters added removed source is_static is_after_gap",
    ),
    "elections": (
        "Elections",
        "offset epoch timestamp_ms leader_id previous_leader_id voter_ids granting_ids gap_ms "
        "skipped_epochs ended_ms",
    ),
    "silences": (
        "Times without a controller",
        "from_offset to_offset from_ms to_ms is_election",
    ),
    "config_changes": (
        "Config changes",
        f"{_PLACE} resource_type resource_name name value previous_value",
    ),
    "features": ("Feature changes", f"{_PLACE} name level previous_level"),
    "topic_changes": ("Topics created and deleted", f"{_PLACE} topic_id topic is_removed"),
}
_LISTS = {
    "isr",
    "elr",
    "last_known_elr",
    "replicas",
    "adding",
    "removing",
    "previous_isr",
    "endpoints",
    "voter_ids",
    "voters",
    "added",
    "removed",
    "granting_ids",
}
_TEXTS = {
    "topic_id",
    "topic",
    "rack",
    "incarnation_id",
    "previous_rack",
    "resource_name",
    "name",
    "value",
    "previous_value",
}
_CODES = {"cause", "election", "resource_type", "source"}
_FLAGS = ("is_", "in_", "leader_was_", "began_", "previous_is_")


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Make the tables of a log, or take those that are there."""
    from jobs.spark.analyses.metadata.log_history import open_history

    history = open_history(task, arguments["log"])
    for name in _TABLES:
        _take(history.folder / name, task.tables / name)
    facts = {
        "records": history.records,
        "first_offset": history.first_offset,
        "end_offset": history.end_offset,
        "from": iso(history.first_ms),
        "to": iso(history.last_ms),
    }
    return Answer(facts, history.notes)


def _take(source: Path, target: Path) -> None:
    """Give the answer the same files: they are never changed."""
    target.mkdir()
    for part in sorted(source.glob("*.parquet")):
        try:
            os.link(part, target / part.name)
        except OSError:
            _copy(part, target)


def _copy(part: Path, target: Path) -> None:
    try:
        shutil.copyfile(part, target / part.name)
    except OSError as error:
        # It names the file that is copied, but the room is missing where it goes.
        raise OSError(error.errno, error.strerror, str(target)) from None


def _column(name: str) -> Column:
    return Column(name, _title(name), _type_of(name))


def _title(name: str) -> str:
    title = name.replace("_", " ").capitalize()
    return re.sub(r"(?i)\b(?:isr|elr)\b", lambda found: found[0].upper(), title)


def _type_of(name: str) -> ColumnType:
    if name.endswith("_ms"):
        return ColumnType.DURATION_MS if name == "gap_ms" else ColumnType.MOMENT
    if name.endswith("offset"):
        return ColumnType.OFFSET
    if name in _LISTS:
        return ColumnType.LIST
    if name in _CODES:
        return ColumnType.CODE
    if name in _TEXTS:
        return ColumnType.TEXT
    return ColumnType.BOOLEAN if name.startswith(_FLAGS) else ColumnType.INTEGER


ANALYSIS = Analysis(
    kind="metadata-history",
    title="History of a metadata log",
    arguments=(Argument("log", ArgumentType.LOG, "Metadata log", is_required=True),),
    tables=tuple(
        Table(name, title, tuple(map(_column, columns.split())))
        for name, (title, columns) in _TABLES.items()
    ),
    run=run,
    definition="Every record of the log, folded in the order of offsets: each change with its cause. "
    "Times are the clock of the active controller; changes known only from a snapshot have none.",
)

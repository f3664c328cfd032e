"""Where offsets are on the other side, a million at once: of a list, or of all groups of a flow."""

from __future__ import annotations

from collections.abc import Mapping
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
from jobs.spark.analyses.offsets.syncs import WHOSE, check_whose, open_syncs

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

OFFSETS = Argument(
    "offsets",
    ArgumentType.FILE,
    "Offsets",
    "CSV or Parquet with topic, partition, offset and optionally group. Default: all committed offsets of the"
    " flow's groups.",
)
GROUP = Argument("group", ArgumentType.TEXT, "Group", "Only this one. Default: all.")
ASKED = (
    Column("line", "Line", ColumnType.INTEGER, "Of the list; of Parquet its row, from 1 on."),
    Column("group", "Group", ColumnType.TEXT),
    Column("topic", "Topic", ColumnType.TEXT, "Its name on the side of the given offset."),
    Column("partition", "Partition", ColumnType.INTEGER),
    Column("offset", "Offset", ColumnType.OFFSET),
)
REASON = Column("reason", "Reason", ColumnType.TEXT)
REFUSED = Table(
    "refused",
    "Refused rows",
    (
        Column("line", "Line", ColumnType.INTEGER),
        Column("text", "Row", ColumnType.TEXT),
        Column("reason", "Error", ColumnType.TEXT),
    ),
)


def check_asked(arguments: Mapping[str, Any]) -> None:
    """Raise InvalidFields where flow and offsets are both missing."""
    check_whose(arguments)
    if not arguments["flow"] and not arguments["offsets"]:
        text = "A list of offsets is required: without a flow no groups are known."
        raise InvalidFields({"offsets": text})


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Translate all offsets."""
    from jobs.spark.analyses.offsets.bulk.asked import ask

    asked = ask(task, arguments, open_syncs(task, arguments))
    tally = asked.answer(task, task.tables / "answers")
    return Answer(asked.facts(tally), asked.notes_of(tally))


ANALYSIS = Analysis(
    kind="translate",
    title="Bulk offset translation",
    arguments=(
        *WHOSE,
        OFFSETS,
        GROUP,
        Argument(
            "at",
            ArgumentType.MOMENT,
            "As known at",
            "Only offset syncs that were written until then. Default: all.",
        ),
        Argument(
            "direction",
            ArgumentType.CHOICE,
            "Direction",
            "forward: from the source to the target; reverse: from the target to the source.",
            default="forward",
            choices=("forward", "reverse"),
        ),
    ),
    tables=(
        Table(
            "answers",
            "Answers",
            (
                *ASKED,
                Column("to_topic", "Translated topic", ColumnType.TEXT, "Empty without a flow."),
                Column("lo", "Lowest", ColumnType.OFFSET, "Resuming there skips no record."),
                Column(
                    "hi",
                    "Highest",
                    ColumnType.OFFSET,
                    "The exact offset is not after it. Empty: no upper bound.",
                ),
                Column("exact", "Exact", ColumnType.BOOLEAN, "Both bounds are the same."),
                Column(
                    "mm2",
                    "MirrorMaker 2",
                    ColumnType.OFFSET,
                    "MirrorMaker 2's answer. -1: older than its offset syncs; empty: none, as for reverse.",
                ),
                Column("width", "Width", ColumnType.INTEGER, "Highest minus lowest."),
                REASON,
            ),
        ),
        REFUSED,
    ),
    run=run,
    definition=(
        "Bounds are proved by offset syncs: the exact offset is between lowest and highest, both included. An"
        " answer without bounds has a reason. The share of exact answers is of all answers with bounds."
    ),
    checked=check_asked,
)

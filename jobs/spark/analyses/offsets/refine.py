"""Offsets whose place is not exactly known, found by comparing the records of both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
    Table,
)
from jobs.spark.analyses.offsets.syncs import FLOW, open_flow_syncs
from jobs.spark.analyses.offsets.translate import ASKED, GROUP, OFFSETS, REASON, REFUSED

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Translate all offsets, then refine those that are not exact."""
    from jobs.spark.analyses.offsets.bulk.asked import ask
    from jobs.spark.analyses.offsets.bulk.refined import refine_all

    asked = ask(task, arguments, open_flow_syncs(task, "flow"))
    return refine_all(task, asked, arguments["most_records"])


ANALYSIS = Analysis(
    kind="refine",
    title="Refined offsets",
    arguments=(
        replace(FLOW, is_required=True),
        OFFSETS,
        GROUP,
        Argument(
            "most_records",
            ArgumentType.INTEGER,
            "Max records",
            "Read of each side between two offset syncs, at most.",
            default=10_000,
            least=1,
            most=100_000,
        ),
    ),
    tables=(
        Table(
            "refined",
            "Refined offsets",
            (
                *ASKED,
                Column("lo", "Lowest", ColumnType.OFFSET, "Resuming there skips no record."),
                Column("hi", "Highest", ColumnType.OFFSET, "Empty: no upper bound."),
                Column("exact", "Exact", ColumnType.BOOLEAN),
                Column("lo_before", "Lowest before", ColumnType.OFFSET, "By offset syncs alone."),
                Column("hi_before", "Highest before", ColumnType.OFFSET, "By offset syncs alone."),
                Column("exact_before", "Exact before", ColumnType.BOOLEAN),
                Column(
                    "compared",
                    "Compared",
                    ColumnType.INTEGER,
                    "Records of the target between the two offset syncs. Empty: none were read.",
                ),
                Column("to_topic", "On the target", ColumnType.TEXT),
                REASON,
            ),
        ),
        REFUSED,
    ),
    run=run,
    definition=(
        "Both sides hold the same records in the same order. Where every record between two offset syncs has"
        " the same key and value on both sides and none occurs twice, the offset is exact; else the bounds"
        " remain, with the reason. Records are compared by hashes and not stored."
    ),
)

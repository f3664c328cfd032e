"""`dead-letters`: records that services could not process, by step and exception."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

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
from jobs.spark.analyses.records.ranges import CLUSTER, RANGE, TOPICS, check_range
from jobs.spark.analyses.tracing.outbox import IDS

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

_MOST_LISTED = 1_000


def run(task: AnalysisTask, arguments: Mapping[str, Any]) -> Answer:
    """Read the dead letter topics once."""
    from jobs.spark.analyses.document import arrow_table
    from jobs.spark.analyses.tracing.replaying.letters import read_letters

    found = read_letters(task, ANALYSIS.kind, arguments, _MOST_LISTED)
    task.write("groups", arrow_table(ANALYSIS.table("groups"), found.groups))
    task.write("letters", arrow_table(ANALYSIS.table("letters"), found.letters))
    facts = {"records": found.records, "letters": found.chosen, "groups": len(found.groups)}
    return Answer(facts, found.notes)


_INTEGER, _TEXT, _OFFSET = ColumnType.INTEGER, ColumnType.TEXT, ColumnType.OFFSET
_CHOICE, _MOMENT = ArgumentType.CHOICE, ColumnType.MOMENT
PLACE = (
    Column("topic", "Topic", _TEXT),
    Column("partition", "Partition", _INTEGER),
    Column("offset", "Offset", _OFFSET),
)
STEP, ERROR = Column("step", "Step", _TEXT), Column("error", "Error", _TEXT, "Exception class.")
AT, _ATTEMPTS = Column("at_ms", "Time", _MOMENT), Column("attempts", "Attempts", _INTEGER)
_COUNTED = "By the header crosslog-replay-count, or the extractor; empty: it cannot be read."
REPLAYS = Column("replays", "Replays", _INTEGER, _COUNTED)
# Which dead letters: their extractor, their topics, and what they have.
SELECTION = (
    CLUSTER,
    Argument(
        "extractor", ArgumentType.EXTRACTOR, "Extractor",
        "Where error and original place are: spring-dlt, streams-dlq, connect-dlq, or a stored one.",
        is_required=True,
    ),
    *(TOPICS, *RANGE),
    Argument("step", ArgumentType.TEXT, "Step", "Of the dead letters, exact. Default: all."),
    Argument("error", ArgumentType.TEXT, "Error", "Exact. Default: all."),
    Argument("original_topic", ArgumentType.TEXT, "Original topic", "Exact. Default: all."),
)  # fmt: skip
_MESSAGES = Argument(
    "messages", _CHOICE, "Error messages", "They may have content of records.",
    default="hidden", choices=("hidden", "shown"), admin_choices=("shown",),
)  # fmt: skip
_GROUPS = (
    *(STEP, ERROR, Column("letters", "Dead letters", _INTEGER)),
    *(Column("first_ms", "First", _MOMENT), Column("last_ms", "Last", _MOMENT)),
    Column("attempts", "Attempts, max", _INTEGER),
    Column("replays", "Replays, max", _INTEGER),
)
_LETTERS = (
    *(*PLACE, AT, STEP, ERROR, Column("id", "ID", _TEXT)),
    *(Column(f"original_{one.name}", f"Original {one.title.lower()}", one.type) for one in PLACE),
    *(_ATTEMPTS, REPLAYS, Column("message", "Message", _TEXT)),
)
ANALYSIS = Analysis(
    kind="dead-letters",
    title="Dead letters",
    arguments=(*SELECTION, IDS, _MESSAGES),
    tables=(
        Table("groups", "Dead letters by step and error", _GROUPS),
        Table("letters", "Newest dead letters", _LETTERS),
    ),
    run=run,
    charts=(Chart(ChartType.BARS, "groups", "Dead letters by error", "error", "letters"),),
    definition="A record with an error or an original topic is a dead letter. Times are those of the dead "
    "letters. The newest 1,000 are listed; all are counted, also those that were replayed since.",
    checked=check_range,
)

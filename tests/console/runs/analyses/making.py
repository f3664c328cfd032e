"""An analysis of every type of argument, column and chart, and answers of it with real Parquet files."""

import uuid
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from console.runs.analyses.questions import Question
from console.runs.analyses.results import own_document
from console.runs.analyses.spec import tables_of
from console.runs.models import Run, RunState
from jobs.cluster.errors import InvalidFields
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
    checked_arguments,
)
from jobs.spark.analyses.document import document_of
from tests.console.making import NOW, make_cluster, make_run
from tests.console.quorum.making import make_log

KIND = "test-leaders"
NOW_MS = int(NOW.timestamp() * 1000)
HOUR_MS = 3_600_000


def _check_window(arguments):
    if arguments["from"] and arguments["to"] and arguments["from"] >= arguments["to"]:
        raise InvalidFields({"to": "It has to be after the beginning."})


LEADERS = Table(
    "leaders",
    "Leaders in office",
    (
        Column("elected_ms", "Elected", ColumnType.MOMENT),
        Column("ended_ms", "Last record", ColumnType.MOMENT),
        Column("leader_id", "Leader", ColumnType.INTEGER),
        Column("duration_ms", "In office", ColumnType.DURATION_MS, "From the election on."),
        Column("share", "Share of time", ColumnType.RATIO),
        Column("offset", "Offset", ColumnType.OFFSET),
        Column("is_clean", "Clean", ColumnType.BOOLEAN),
        Column("voters", "Voters", ColumnType.LIST),
        Column("reason", "Reason", ColumnType.TEXT),
    ),
)
HOURS = Table(
    "hours",
    "Elections by hour",
    (
        Column("hour_ms", "Hour", ColumnType.MOMENT),
        Column("topic", "Topic", ColumnType.TEXT),
        Column("elections", "Elections", ColumnType.INTEGER),
    ),
)
ANALYSIS = Analysis(
    kind=KIND,
    title="Leaders",
    question="Who led when, and for how long?",
    arguments=(
        Argument("log", ArgumentType.LOG, "Metadata log", is_required=True),
        Argument("from", ArgumentType.MOMENT, "From", "UTC. Default: the beginning of the log."),
        Argument("to", ArgumentType.MOMENT, "To"),
        Argument("by", ArgumentType.CHOICE, "Group by", default="leader", choices=("leader", "epoch")),
        Argument("most", ArgumentType.INTEGER, "At most", default=10, least=1, most=100),
        Argument("topic", ArgumentType.TEXT, "Topic"),
    ),
    tables=(LEADERS, HOURS),
    run=lambda task, arguments: Answer(),
    charts=(
        Chart(ChartType.LANES, "leaders", "Leaders over time", "elected_ms", "reason", "leader_id", "ended_ms"),
        Chart(ChartType.HEAT_MAP, "hours", "Elections by topic and hour", "hour_ms", "elections", "topic"),
        Chart(ChartType.BARS, "hours", "Elections by topic", "topic", "elections"),
        Chart(ChartType.BARS, "hours", "Elections by the hour", "hour_ms", "elections"),
    ),
    definition="A leader is in office until the next one is elected.",
    keep_days=30,
    checked=_check_window,
)  # fmt: skip


def leader(number: int) -> dict:
    """A row of the leaders' table."""
    return {
        "elected_ms": NOW_MS - (120 - number) * HOUR_MS,
        "ended_ms": NOW_MS - (119 - number) * HOUR_MS,
        "leader_id": 1000 + number % 3,
        "duration_ms": HOUR_MS + number,
        "share": 0.123,
        "offset": 1_234_567 + number,
        "is_clean": number % 2 == 0,
        "voters": [1, 2, 3],
        "reason": "=broken" if number == 0 else None if number == 1 else "failing",
    }


def hour(number: int) -> dict:
    """A row of the hours' table."""
    topic = f"topic-{number % 4}"
    return {"hour_ms": NOW_MS - number * HOUR_MS, "topic": topic, "elections": number % 7}


def put(folder: Path, table: str, rows: list[dict]) -> None:
    """Write a table as a job does."""
    (folder / table).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / table / "part-0.parquet")


def make_source(alias: str = "east"):
    """Make the metadata log of a cluster."""
    cluster = make_cluster(alias)
    found = getattr(cluster, "metadata_log", None)
    return found or make_log(cluster)


def question(alias: str = "east", **arguments) -> Question:
    """The question about a log; all other arguments have their defaults."""
    log = make_source(alias)
    checked = checked_arguments(ANALYSIS, {**arguments, "log": alias})
    return Question(KIND, checked, f"log:{log.pk}", f"Leaders: {alias}")


def make_analysis(alias: str = "east", **fields) -> Run:
    """Make the run of a question; it is running where nothing else is said."""
    asked = question(alias, **fields.pop("arguments", {}))
    number = uuid.uuid4()
    values = {
        "id": number,
        "kind": KIND,
        "title": asked.title,
        "subject": asked.subject,
        "question_key": asked.key,
        "arguments": asked.arguments,
        "attempts": 1,
        "folder": f"/runs/{number}",
    } | fields
    return make_run(**values)


def make_queued(alias: str = "east", **fields) -> Run:
    values = {
        "state": RunState.QUEUED, "started_at": None, "heartbeat_at": None, "host": "", "folder": "",
        "attempts": 0,
    }  # fmt: skip
    return make_analysis(alias, **values | fields)


def document(run: Run, folder: Path, facts: dict | None = None) -> dict:
    """Return the document of an answer whose tables stand in a folder, as its job writes it."""
    told = facts or {"elections": 1234, "longest_gap_ms": 90_000, "availability": 0.9999}
    arguments = {**run.arguments, "log": "/archive/metadata/1"}
    return document_of(
        ANALYSIS, arguments, Answer(told, ("It begins in the middle.",)), folder, 1.25
    )


def make_answer(alias: str = "east", *, rows: int = 120, **fields) -> Run:
    """Make a run that was answered, with its tables in the archive."""
    run = make_analysis(
        alias, state=RunState.SUCCEEDED, finished_at=NOW + timedelta(seconds=2), **fields
    )
    folder = tables_of(run)
    put(folder, "leaders", [leader(number) for number in range(rows)])
    put(folder, "hours", [hour(number) for number in range(rows)])
    run.summary = own_document(run, document(run, folder))
    run.save(update_fields=["summary"])
    return run

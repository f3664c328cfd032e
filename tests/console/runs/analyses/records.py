"""A kind about records: it reads a cluster, one choice shows content of records, it wants events."""

from console.runs.analyses.results import own_document
from console.runs.analyses.spec import tables_of
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
from jobs.spark.analyses.document import document_of
from tests.console.making import make_cluster, make_run
from tests.console.runs.analyses.making import HOUR_MS, NOW_MS, put

KIND = "test-keys"
RATES = Table(
    "rates",
    "Rates",
    (
        Column("hour_ms", "Hour", ColumnType.MOMENT),
        Column("topic", "Topic", ColumnType.TEXT),
        Column("per_s", "Records/s", ColumnType.NUMBER),
        Column("size", "Size", ColumnType.BYTES),
    ),
)
LINES = Chart(ChartType.LINES, "rates", "Rate by topic", "hour_ms", "per_s", "topic")
ANALYSIS = Analysis(
    kind=KIND,
    title="Keys",
    question="Which keys have the most records?",
    arguments=(
        Argument("cluster", ArgumentType.CLUSTER, "Cluster", is_required=True),
        Argument("topics", ArgumentType.TEXT, "Topics"),
        Argument("from", ArgumentType.MOMENT, "From"),
        Argument("to", ArgumentType.MOMENT, "To"),
        Argument(
            "keys",
            ArgumentType.CHOICE,
            "Keys",
            default="hashed",
            choices=("hashed", "shown"),
            admin_choices=("shown",),
        ),
    ),
    tables=(RATES,),
    run=lambda task, arguments: Answer(),
    charts=(LINES,),
    wants_events=True,
)


def rate(hour, topic, per_s, size=2048):
    return {
        "hour_ms": NOW_MS + hour * HOUR_MS, "topic": topic, "per_s": per_s, "size": size
    }  # fmt: skip


def make_answer(tmp_path, keys, rows=None):
    """Make a run that was answered: of the cluster east, as its job writes it."""
    cluster = make_cluster("east")
    arguments = {"cluster": "east", "topics": None, "from": None, "to": None, "keys": keys}
    run = make_run(
        kind=KIND, title="Keys: east", subject=f"cluster:{cluster.pk}", question_key=keys,
        arguments=arguments, state="SUCCEEDED", folder=str(tmp_path / "run"),
    )  # fmt: skip
    folder = tables_of(run)
    put(folder, "rates", rows or [rate(0, "secret-key", 12.3456)])
    document = document_of(ANALYSIS, arguments, Answer({"largest_bytes": 2048}), folder, 1.0)
    run.summary = own_document(run, document)
    run.save()
    return run

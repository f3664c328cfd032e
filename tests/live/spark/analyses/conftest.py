"""One Spark session for all questions, and logs told by a few rows."""

import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.spark.analyses.analysis import ColumnType, checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.metadata.log_history import LogHistory
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.contract import JobSpec
from jobs.spark.settings import spark_settings
from tests.live.shared_labs import SHARED
from tests.live.spark.analyses.stories import NEEDED

FOLDER = Path(__file__).parent
ARROW_TYPES = {
    ColumnType.TEXT: pa.types.is_string,
    ColumnType.CODE: pa.types.is_string,
    ColumnType.NUMBER: pa.types.is_float64,
    ColumnType.BYTES: pa.types.is_int64,
    ColumnType.INTEGER: pa.types.is_int64,
    ColumnType.OFFSET: pa.types.is_int64,
    ColumnType.MOMENT: pa.types.is_int64,
    ColumnType.DURATION_MS: pa.types.is_int64,
    ColumnType.RATIO: pa.types.is_float64,
    ColumnType.BOOLEAN: pa.types.is_boolean,
    ColumnType.LIST: pa.types.is_list,
}


@pytest.fixture(scope="session")
def spark():
    """A session of one core; it ends with the last test of this folder."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]")
    for name, value in spark_settings(JobSpec("questions", "test", {}), sys.executable).items():
        builder = builder.config(name, value)
    session = (
        builder.config("spark.sql.shuffle.partitions", "1")
        # To compile a query takes longer than a story of ten rows.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.adaptive.enabled", "false")
        # As in the engine: a task does not begin with a process that knows nothing.
        .config("spark.python.worker.reuse", "true")
        # A question may not depend on the zone of the machine.
        .config("spark.sql.session.timeZone", "America/New_York")
        .getOrCreate()
    )
    session.sparkContext.pythonExec = sys.executable
    logging.getLogger("py4j").setLevel(logging.WARNING)
    SHARED.append((FOLDER, lambda: end(session)))
    return session


def end(session):
    """Stop a session, and its JVM, which otherwise waits for the end of this process."""
    gateway = session.sparkContext._gateway
    session.stop()
    gateway.proc.stdin.close()


@dataclass
class Found:
    """An answer with its tables, as lists of rows."""

    facts: dict
    notes: tuple
    tables: dict

    def __getitem__(self, name):
        return self.tables[name]


@pytest.fixture(scope="session")
def ask(spark, tmp_path_factory):
    """Ask a kind about a log that is told by rows of its tables, and look at the types of what it writes."""

    def ask(kind, tables, *, first_ms=0, last_ms=None, notes=(), **arguments):
        for name, schema in SCHEMAS.items():
            rows = [NEEDED[name] | row for row in tables.get(name, ())]
            found = pa.Table.from_pylist(rows, plain(schema))
            spark.createDataFrame(found).createOrReplaceTempView(name)
        folder = tmp_path_factory.mktemp("answer")
        history = LogHistory(1, 0, 1, first_ms, last_ms, notes, folder)
        write_partitions(folder / "partition_changes", tables.get("partition_changes", ()))
        task = AnalysisTask(spark, folder, folder / "tables", folder / "histories")
        given = checked_arguments(kind.ANALYSIS, {"log": "a folder", **arguments})
        answer = kind.answer(task, history, given)
        document_of(kind.ANALYSIS, given, answer, task.tables, 0.0)
        return Found(
            dict(answer.facts), answer.notes, {t.name: read(t, task) for t in kind.ANALYSIS.tables}
        )

    return ask


def write_partitions(folder, changes):
    """Write the changes of partitions as they are kept: whole partitions in each file, offsets in order."""
    folder.mkdir()
    rows = sorted((NEEDED[folder.name] | row for row in changes), key=lambda row: row["offset"])
    for part in range(2):
        mine = [row for row in rows if row["partition"] % 2 == part]
        table = pa.Table.from_pylist(mine, SCHEMAS[folder.name])
        pq.write_table(table, folder / f"part-{part}.parquet")


def read(table, task):
    """Return the rows of a written table, after a look at its types."""
    found = pq.read_table(task.tables / table.name)
    assert found.column_names == [one.name for one in table.columns]
    for column in table.columns:
        assert ARROW_TYPES[column.type](found.schema.field(column.name).type), column.name
    return found.to_pylist()


def plain(schema):
    """Return a schema without dictionaries, which only files have."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return pa.schema(fields)

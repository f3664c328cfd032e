"""Kinds about offsets asked as the engine asks them, with what their names stand for."""

from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.job import answer
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec
from tests.live.spark.analyses.conftest import Found, read


def result_of(spark, kind, folder, resources, **arguments):
    """Return the result; its tables are in the folder `tables`."""
    values = {
        "arguments": checked_arguments(ANALYSES[kind], dict.fromkeys(resources, "it") | arguments),
        "tables": str(folder / "tables"),
        "histories": str(folder / "histories"),
        "resources": resources,
    }
    return answer(ANALYSES[kind], JobSpec("asked", kind, values), folder, spark)


def found_by(spark, kind, folder, resources, **arguments):
    """Return the answer with the rows of its tables, whose types were looked at."""
    result = result_of(spark, kind, folder, resources, **arguments)
    assert not result.error, result.error

    class Written:
        tables = folder / "tables"

    tables = {table.name: read(table, Written) for table in ANALYSES[kind].tables}
    return Found(result.summary["facts"], tuple(result.summary["notes"]), tables)

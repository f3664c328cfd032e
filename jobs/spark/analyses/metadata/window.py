"""What questions about a metadata log share: log and window, days and months, bounded tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields
from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.analysis import (
    Analysis,
    Answer,
    Argument,
    ArgumentType,
    Column,
    ColumnType,
)

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types

    from jobs.spark.analyses.metadata.log_history import LogHistory
    from jobs.spark.analyses.task import AnalysisTask

    Question = Callable[[AnalysisTask, LogHistory, "Arguments"], Answer]

Arguments = Mapping[str, Any]
# So many rows of a table are written at most.
MOST_ROWS = 100_000
LOG = Argument("log", ArgumentType.LOG, "Metadata log", is_required=True)
FROM = Argument("from", ArgumentType.MOMENT, "From", "UTC. Default: the beginning of the log.")
TO = Argument("to", ArgumentType.MOMENT, "To", "UTC, exclusive. Default: the end of the log.")
WINDOW = (LOG, FROM, TO)
_EARLIEST, _LATEST = -(2**63), 2**63 - 1
_SQL_TYPES = {
    ColumnType.TEXT: "string",
    ColumnType.CODE: "string",
    ColumnType.INTEGER: "bigint",
    ColumnType.OFFSET: "bigint",
    ColumnType.MOMENT: "bigint",
    ColumnType.DURATION_MS: "bigint",
    ColumnType.RATIO: "double",
    ColumnType.NUMBER: "double",
    ColumnType.BYTES: "bigint",
    ColumnType.BOOLEAN: "boolean",
}


def on_history(question: Question) -> Callable[[AnalysisTask, Arguments], Answer]:
    """Return the `run` of an analysis: it opens the history of the log, then answers."""

    def run(task: AnalysisTask, arguments: Arguments) -> Answer:
        from jobs.spark.analyses.metadata.log_history import open_history

        return question(task, open_history(task, arguments["log"]), arguments)

    return run


def check_window(arguments: Arguments) -> None:
    """Raise InvalidFields unless `from` is before `to`."""
    from_ms, to_ms = arguments["from"], arguments["to"]
    if from_ms is not None and to_ms is not None and from_ms >= to_ms:
        raise InvalidFields({"to": "The end must be after the beginning of the window (from)."})


@dataclass(frozen=True, slots=True)
class Window:
    """The time window of a question.

    An event belongs to it from `since_ms` until before `before_ms`. Durations are measured from `from_ms` to
    `to_ms`: both lie in the log; they are equal where the window holds no time of the log.
    """

    since_ms: int
    before_ms: int
    from_ms: int
    to_ms: int
    notes: tuple[str, ...]

    @property
    def span_ms(self) -> int:
        """How long it is, as far as the log reaches."""
        return self.to_ms - self.from_ms

    @property
    def args(self) -> dict[str, Any]:
        """The window as arguments of SQL."""
        return {
            "since_ms": self.since_ms,
            "before_ms": self.before_ms,
            "from_ms": self.from_ms,
            "to_ms": self.to_ms,
        }

    @property
    def facts(self) -> dict[str, Any]:
        """The window as facts of an answer."""
        return {"from": iso(self.from_ms), "to": iso(self.to_ms)}


def window_of(arguments: Arguments, history: LogHistory) -> Window:
    """Return the window of arguments, cut to the times of the log."""
    since, before = arguments["from"], arguments["to"]
    first, last = history.first_ms, history.last_ms
    notes = list(history.notes)
    if first is None or last is None:
        notes.append("The log holds no record with a time: no time range can be analysed.")
        first = last = 0
    from_ms = first if since is None else max(since, first)
    to_ms = last if before is None else min(before, last)
    if since is not None and since < first:
        notes.append(f"The log begins at {iso(first)}: earlier changes are not known.")
    if before is not None and before > last:
        notes.append(f"The log ends at {iso(last)}: later changes are not known.")
    return Window(
        _EARLIEST if since is None else since,
        _LATEST if before is None else before,
        min(from_ms, last),
        max(to_ms, min(from_ms, last)),
        tuple(notes),
    )


class Sql:
    """Asks one question in SQL, with arguments by name, and writes the tables of its answer.

    `args` are the arguments, `notes` collects a sentence for each table that was cut.
    """

    def __init__(self, task: AnalysisTask, analysis: Analysis, args: Arguments) -> None:
        self.notes: list[str] = []
        self._task = task
        self._analysis = analysis
        self.args = dict(args)

    def write(
        self, name: str, text: str, then: Callable[[pa.Table], pa.Table] = lambda found: found
    ) -> None:
        """Write a table of the answer, in the order of the query and with the types of its columns.

        `then` gets the rows that are to be written, and returns them.
        """
        table = self._analysis.table(name)
        self._task.report(f"Querying: {table.title}")
        frame = self._task.spark.sql(text, args=self.args)
        columns = [_cast(one) for one in table.columns]
        found = frame.selectExpr(*columns).limit(MOST_ROWS + 1).toArrow()
        if len(found) > MOST_ROWS:
            self.notes.append(f"{table.title}: cut to the first {MOST_ROWS:,} rows.")
        self._task.write(name, then(found.slice(0, MOST_ROWS)))

    def row(self, text: str) -> dict[str, Any]:
        """Return the only row of a query."""
        found: list[dict[str, Any]] = self.table(text).to_pylist()
        return found[0]

    def table(self, text: str) -> pa.Table:
        """Return all rows of a query."""
        self._task.check_stop()
        return self._task.spark.sql(text, args=self.args).toArrow()

    @contextmanager
    def kept(self, name: str, text: str) -> Iterator[None]:
        """Keep on disk what a query finds, as a view for the queries inside of the block.

        Their plans begin with what is kept, so that they are short; Spark removes it with its collector.
        """
        from pyspark import StorageLevel

        self._task.check_stop()
        frame = self._task.spark.sql(text, args=self.args)
        frame.localCheckpoint(storageLevel=StorageLevel.DISK_ONLY).createOrReplaceTempView(name)
        try:
            yield
        finally:
            self._task.spark.catalog.dropTempView(name)

    def periods(self, window: Window, per: str) -> None:
        """Make the view `periods`: the days or months (UTC) of a window, each cut to it."""
        rows = list(_periods(window, per))
        columns = "period STRING, from_ms BIGINT, to_ms BIGINT"
        self._task.spark.createDataFrame(rows, columns).createOrReplaceTempView("periods")


def _cast(column: Column) -> str:
    type_ = _SQL_TYPES.get(column.type)
    return (
        f"`{column.name}`" if type_ is None else f"CAST(`{column.name}` AS {type_}) `{column.name}`"
    )


def _periods(window: Window, per: str) -> Iterator[tuple[str, int, int]]:
    begin = datetime.fromtimestamp(window.from_ms / 1000, UTC).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    if per == "month":
        begin = begin.replace(day=1)
    while (begin_ms := round(begin.timestamp() * 1000)) < window.to_ms:
        after = (begin + timedelta(days=1 if per == "day" else 32)).replace(hour=0)
        after = after if per == "day" else after.replace(day=1)
        end_ms = round(after.timestamp() * 1000)
        name = f"{begin:%Y-%m-%d}" if per == "day" else f"{begin:%Y-%m}"
        yield name, max(begin_ms, window.from_ms), min(end_ms, window.to_ms)
        begin = after

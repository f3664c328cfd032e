"""Definition of a kind of analysis: its question, its arguments with bounds, the tables of its answer.

Nothing here or in `kinds` imports pyspark: forms, routes and commands are made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from jobs.cluster.errors import InvalidFields

if TYPE_CHECKING:
    from jobs.spark.analyses.task import AnalysisTask

LONGEST_TEXT = 249


class ArgumentType(StrEnum):
    """How an argument is written; the job gets an int for MOMENT (Unix ms), a folder's path for LOG.

    For FLOW, CLUSTER, EXTRACTOR and FILE it gets the name that was given, and its value from
    `AnalysisTask.resources`.
    """

    TEXT = "text"
    INTEGER = "integer"
    MOMENT = "moment"
    CHOICE = "choice"
    # A metadata log: in the console its name, in a shell a folder of segments and snapshots.
    LOG = "log"
    # A replication flow: in the console its name, in a shell a file FLOW.yaml. Its resource has `flow` (a
    # FlowSpec mapping) and `archive` (the folder of its archived offset syncs; null: there is none).
    FLOW = "flow"
    # A cluster: in the console its alias, in a shell a file CLUSTER.yaml. Its resource has `connection`.
    CLUSTER = "cluster"
    # Where ids, steps and errors of records are, see `jobs.tracing.extractors`: in the console the name of an
    # extractor or preset, in a shell a file EXTRACTOR.yaml or a preset. Its resource has `extractor` (a
    # mapping) and `registry` (a mapping of its schema registry; null: none).
    EXTRACTOR = "extractor"
    # A list that somebody uploads: in a shell a path. Its resource has `path`, and `most_rows` where they are
    # bounded.
    FILE = "file"


class ColumnType(StrEnum):
    """How a value of a table is shown, and its type in Parquet."""

    TEXT = "text"
    # A word of a closed vocabulary in snake_case, as `topic_created`.
    CODE = "code"
    INTEGER = "integer"
    # An offset of a log.
    OFFSET = "offset"
    # Unix ms in Parquet (int64).
    MOMENT = "moment"
    DURATION_MS = "duration_ms"
    # 0 to 1.
    RATIO = "ratio"
    # A number with a fraction, as records per second.
    NUMBER = "number"
    BYTES = "bytes"
    BOOLEAN = "boolean"
    # Lists of broker ids, or of words.
    LIST = "list"


class ChartType(StrEnum):
    """What a table is drawn as."""

    BARS = "bars"
    HEAT_MAP = "heat_map"
    LANES = "lanes"
    LINES = "lines"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument; `least` and `most` bound an INTEGER, `choices` are the words of a CHOICE.

    `needs_archive`: a FLOW of which a shell has to name the folder of its archive, too; `has_archive`: it may
    name it. `admin_choices` need
    the role admin on the clusters of the question: they show content of records.
    """

    name: str
    type: ArgumentType
    label: str
    help: str = ""
    is_required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    needs_archive: bool = False
    has_archive: bool = True
    admin_choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table that is answered; `definition` says what it counts where the title cannot."""

    name: str
    title: str
    type: ColumnType
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that is answered, in the order in which it is to be read."""

    name: str
    title: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing of a table: BARS of `value` by `x`; HEAT_MAP of `value` by `x` and `y`; LANES of `value`
    from `x` to `x_end` (moments) in a lane for each `y`; LINES of `value` over `x` (moments), one for
    each `y`. `blank` is shown where no value is above 0.
    """

    type: ChartType
    table: str
    title: str
    x: str
    value: str
    y: str = ""
    x_end: str = ""
    blank: str = "All values are 0."


@dataclass(frozen=True, slots=True)
class Answer:
    """What an analysis came to beside its tables: `facts` by name (JSON values), `notes` in sentences.

    Notes say what the answer does not know: gaps, damage, a log that begins in the middle.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Analysis:
    """A kind of analysis. `run` does it in the driver of a Spark application; it imports pyspark itself.

    `keep_days` is how long its results are kept. `checked` (optional) looks at arguments together: it gets
    them checked one by one and raises InvalidFields. `command` is its name in a shell, empty: the kind;
    `kinds` fills it in, and `question`. With `wants_events` the console gives recorded events of its clusters
    as the resource `events`: its list `events` has `at_ms`, `kind`, `text` and `where`, oldest first; there
    is none in a shell. With `is_action` it changes a cluster: in the console only the page that plans it
    starts it, see `kinds.QUESTIONS`.
    """

    kind: str
    title: str
    arguments: tuple[Argument, ...]
    tables: tuple[Table, ...]
    run: Callable[[AnalysisTask, Mapping[str, Any]], Answer]
    charts: tuple[Chart, ...] = ()
    question: str = ""
    definition: str = ""
    keep_days: int = 90
    checked: Callable[[Mapping[str, Any]], None] | None = None
    command: str = ""
    wants_events: bool = False
    is_action: bool = False

    @property
    def positional(self) -> Argument | None:
        """The argument that a shell takes without its name: the log, else `flow`, else `cluster`.

        One that is required comes before the others.
        """
        wanted = (
            (ArgumentType.LOG, ""),
            (ArgumentType.FLOW, "flow"),
            (ArgumentType.CLUSTER, "cluster"),
        )
        found = [
            one
            for type_, name in wanted
            for one in self.arguments
            if one.type is type_ and (not name or one.name == name)
        ]
        return next((one for one in found if one.is_required), next(iter(found), None))

    def table(self, name: str) -> Table:
        """Return a table by its name; raises KeyError."""
        return {table.name: table for table in self.tables}[name]


def checked_arguments(analysis: Analysis, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a run, all of them, as its job gets them; raises InvalidFields.

    Values may be of JSON or of a form: "12" for 12; "" and null stand for an argument left out, which gets
    its default. A MOMENT is ISO 8601 with its offset (without one: UTC) or Unix ms.
    """
    known = {one.name: one for one in analysis.arguments}
    errors = {
        name: f"{analysis.kind} has no argument of this name: it has {', '.join(known) or 'none'}."
        for name in given
        if name not in known
    }
    found: dict[str, Any] = {}
    for name, argument in known.items():
        try:
            found[name] = _value(argument, given.get(name))
        except ValueError as refusal:
            errors[name] = str(refusal)
    if errors:
        raise InvalidFields(errors)
    if analysis.checked is not None:
        analysis.checked(found)
    return found


def _value(argument: Argument, given: Any) -> Any:
    if given is None or given == "":
        if argument.is_required:
            raise ValueError("It is required.")
        return argument.default
    return _READ[argument.type](argument, given)


def _text(_argument: Argument, given: Any) -> str:
    if not isinstance(given, str):
        raise ValueError("A text is required.")  # noqa: TRY004  as all that is wrong with a value
    if len(given) > LONGEST_TEXT or not given.isprintable():
        raise ValueError(f"At most {LONGEST_TEXT} printable characters.")
    return given


def _integer(argument: Argument, given: Any) -> int:
    try:
        number = given if isinstance(given, int) else int(str(given).strip())
    except ValueError:
        number = None
    if number is None or isinstance(given, bool):
        raise ValueError("A whole number is required.")
    is_low = argument.least is not None and number < argument.least
    is_high = argument.most is not None and number > argument.most
    if is_low or is_high:
        raise ValueError(f"From {argument.least} to {argument.most}.")
    return number


def _moment(_argument: Argument, given: Any) -> int:
    wanted = "A time is required: 2026-03-31T12:00:00Z."
    if isinstance(given, bool) or not isinstance(given, int | str | datetime):
        raise ValueError(wanted)  # noqa: TRY004  as above
    try:
        if isinstance(given, int):
            moment = datetime.fromtimestamp(given / 1000, UTC)
        else:
            moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    except (ValueError, OverflowError, OSError):
        raise ValueError(wanted) from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(zoned.timestamp() * 1000)


def _choice(argument: Argument, given: Any) -> str:
    if given not in argument.choices:
        raise ValueError(f"One of {', '.join(argument.choices)}.")
    return str(given)


def _log(_argument: Argument, given: Any) -> str:
    if not isinstance(given, str) or "\0" in given:
        raise ValueError("A metadata log is required.")
    return given


def _name(_argument: Argument, given: Any) -> str:
    if not isinstance(given, str) or not given.isprintable():
        raise ValueError("A name is required.")
    return given


_READ: Mapping[ArgumentType, Callable[[Argument, Any], Any]] = {
    ArgumentType.TEXT: _text,
    ArgumentType.INTEGER: _integer,
    ArgumentType.MOMENT: _moment,
    ArgumentType.CHOICE: _choice,
    ArgumentType.LOG: _log,
    ArgumentType.FLOW: _name,
    ArgumentType.CLUSTER: _name,
    ArgumentType.EXTRACTOR: _name,
    ArgumentType.FILE: _name,
}

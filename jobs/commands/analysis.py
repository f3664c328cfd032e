"""`crosslog KIND`: an analysis for each kind of the registry, on Spark, without the console."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from jobs.cluster.errors import InvalidFields
from jobs.commands import command
from jobs.commands.arguments import option_of
from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java
from jobs.quorum.log.folder import BadFolder, read_folder
from jobs.quorum.log.source import read_source_file
from jobs.replication.flow.file import read_flow_file
from jobs.spark import contract, submit
from jobs.spark.analyses.analysis import (
    Analysis,
    ArgumentType,
    ColumnType,
    checked_arguments,
)
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.tracing.extractors.extractor import read_extractor

LOOK_S = 0.1
TASKS = 2
_FILES = {ArgumentType.FLOW, ArgumentType.CLUSTER, ArgumentType.FILE}
_ARCHIVE = "archive"
_Read = TypeVar("_Read")


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    analysis: Analysis = arguments.analysis
    try:
        given = checked_arguments(analysis, given_of(analysis, arguments))
        resources = resources_of(analysis, given, arguments)
        output = _output(arguments.output)
        find_java()
    except InvalidFields as refusal:
        sys.stderr.writelines(f"{option_of(one)}: {text}\n" for one, text in refusal.errors.items())
        return command.BAD_INPUT
    except JavaMissing as error:
        return command.say(error)
    folder = Path(tempfile.mkdtemp(prefix="crosslog-run-"))
    values = {
        "arguments": given,
        "resources": resources,
        "tables": str(output or folder / "tables"),
        "histories": str((arguments.histories or folder / "histories").absolute()),
        "tasks": TASKS,
    }
    try:
        result = _result(JobSpec(f"{analysis.kind} {folder.name}", analysis.kind, values), folder)
        return _tell(result, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def given_of(analysis: Analysis, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what was written, by argument; a log as the driver finds it, which works in another folder."""
    found = {}
    for one in analysis.arguments:
        value = getattr(arguments, f"given_{one.name}")
        if one == analysis.positional:
            value = value or arguments.path
        if one.type is ArgumentType.LOG and value:
            value = _folder_of_a_log(one.name, value)
        found[one.name] = value
    return found


def resources_of(
    analysis: Analysis, given: Mapping[str, Any], arguments: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Read the files of flows and clusters, and find lists; raises InvalidFields by argument."""
    found: dict[str, dict[str, Any]] = {}
    for one in analysis.arguments:
        if given[one.name] is None:
            continue
        path = Path(given[one.name]) if one.type in _FILES else Path()
        if one.type is ArgumentType.FLOW:
            folder = getattr(arguments, _ARCHIVE, None) if one == analysis.positional else None
            if folder is None and one.needs_archive:
                raise InvalidFields({_ARCHIVE: "--archive DIR is required."})
            flow = _read(one.name, path, read_flow_file).to_mapping()
            found[one.name] = {"flow": flow, "archive": folder and str(folder.absolute())}
        elif one.type is ArgumentType.CLUSTER:
            cluster = _read(one.name, path, read_source_file).connection
            found[one.name] = {"connection": cluster.to_mapping()}
        elif one.type is ArgumentType.EXTRACTOR:
            found[one.name] = _extractor(one.name, given[one.name])
        elif one.type is ArgumentType.FILE:
            found[one.name] = {"path": _list(one.name, path)}
    return found


def _read(name: str, path: Path, read: Callable[[Path], _Read]) -> _Read:
    try:
        return read(path)
    except InvalidFields as wrong:
        texts = (f"{path}: {field}: {text}" for field, text in wrong.errors.items())
        raise InvalidFields({name: "\n".join(texts)}) from None


def _extractor(name: str, given: str) -> dict[str, Any]:
    found = _read(name, Path(given), lambda path: read_extractor(str(path)))
    return {"extractor": found.to_mapping(), "registry": None}


def _list(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            is_empty = not file.read(1)
    except OSError as error:
        raise InvalidFields({name: f"{path}: It cannot be read: {error.strerror}."}) from None
    if is_empty:
        raise InvalidFields({name: f"{path}: It is empty."})
    return str(path.absolute())


def _folder_of_a_log(name: str, given: str) -> str:
    try:
        read_folder(Path(given))
    except BadFolder as refusal:
        raise InvalidFields({name: str(refusal)}) from None
    return str(Path(given).absolute())


def _output(folder: Path | None) -> Path | None:
    if folder is not None and folder.exists():
        raise InvalidFields({"output": f"{folder} is there already: name a new folder."})
    return folder.absolute() if folder else None


def _result(spec: JobSpec, folder: Path) -> JobResult:
    """Run to the end, whatever it is; when this returns no process is left."""
    with _stopped_by_signals(folder) as was_asked:
        submit.start_run(spec, folder)
        while submit.is_alive(folder):
            if len(was_asked) > 1:
                submit.kill_run(folder)
            time.sleep(LOOK_S)
    tail = submit.read_log_tail(folder, 2_000)
    lost = JobResult(Outcome.CRASHED, f"The run ended without a result. Last lines:\n{tail}")
    return contract.read_result(folder) or (JobResult(Outcome.STOPPED) if was_asked else lost)


@contextmanager
def _stopped_by_signals(folder: Path) -> Iterator[list[int]]:
    """Ask the run to stop at Ctrl-C; yields the signals that came."""
    came: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        submit.request_stop(folder)

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _tell(result: JobResult, arguments: argparse.Namespace) -> int:
    if result.outcome is Outcome.STOPPED:
        return command.say("crosslog: interrupted", command.INTERRUPTED)
    if result.outcome is not Outcome.SUCCEEDED:
        return command.say(f"{result.outcome.lower()}: {result.error}", command.FINDING)
    document: Mapping[str, Any] = result.summary
    command.print_answer(arguments, lambda: document, lines_of(document))
    return command.FINDING if document["notes"] else command.OK


_ABSENT = "-"
_NUMBERS = frozenset(
    {ColumnType.INTEGER, ColumnType.OFFSET, ColumnType.DURATION_MS, ColumnType.RATIO}
)
_TEXTS: Mapping[ColumnType, Callable[[Any], str]] = {
    ColumnType.INTEGER: "{:,}".format,
    ColumnType.DURATION_MS: "{:,} ms".format,
    ColumnType.RATIO: "{:.1%}".format,
    ColumnType.BOOLEAN: lambda value: "yes" if value else "no",
    ColumnType.LIST: lambda value: f"[{','.join(map(str, value))}]",
}


def lines_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines for a person; of long tables, the rows that the document has."""
    yield document["question"]
    yield from (f"{name.replace('_', ' ')}: {_value(it)}" for name, it in document["facts"].items())
    yield from (f"Note: {note}" for note in document["notes"])
    for table in document["tables"]:
        yield ""
        yield f"{table['title']} ({table['rows']:,})"
        yield from _rows(table)
    yield ""
    yield f"Answered in {document['seconds']} s."


def text_of(value: Any, type_: ColumnType) -> str:
    """Return a value of a table as a person reads it; what is absent is a dash."""
    return _ABSENT if value is None else _TEXTS.get(type_, str)(value)


def _rows(table: Mapping[str, Any]) -> Iterator[str]:
    columns = [(one["name"], one["title"], ColumnType(one["type"])) for one in table["columns"]]
    texts = [[text_of(row[name], type_) for name, _, type_ in columns] for row in table["preview"]]
    cells = [[title for _, title, _ in columns], *texts]
    right = {index for index, (_, _, type_) in enumerate(columns) if type_ in _NUMBERS}
    yield from (f"  {line}".rstrip() for line in command.aligned(cells, right))
    more = table["rows"] - len(table["preview"])
    if more > 0:
        yield f"  and {more:,} more: --output FOLDER keeps all of them."


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return text_of(value, ColumnType.BOOLEAN)
    return f"{value:,}" if isinstance(value, int) else str(value)

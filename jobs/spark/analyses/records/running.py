"""Works of records done by the tasks of Spark: each reduces its spans to small tables.

What is done is kept until the whole analysis is: the same question, when it is repeated after a stop or a
fault, reads what is left. No record leaves a task but in the tables that its kind makes.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.files import write_whole
from jobs.spark.analyses.records.chunks import Outcome
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.settings import record_read_bytes_per_s

# What was read before is used when the same question is repeated so soon.
KEEP_S = 24 * 3600
_SMALL_WORKS = 200
# So many sentences about partitions are in the notes.
_MOST_FAULTS = 10

Tables = Mapping[str, pa.Table]
# Gets a reader for each span of a work, and the options of its kind; a function of a module.
Reduce = Callable[[Sequence[SpanReader], Work, Mapping[str, Any]], Tables]


class Reduced(NamedTuple):
    """A work that was done: its tables, and what came of each of its spans."""

    work: Work
    tables: Tables
    outcomes: tuple[Outcome, ...]


class _Fault(NamedTuple):
    """A `ClusterFault` on its way from a task to the driver."""

    code: str
    message: str
    cluster: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Unit:
    """Works of one task, one after the other."""

    works: tuple[Work, ...]

    @property
    def offsets(self) -> int:
        return sum(one.offsets for one in self.works)


def connections_of(task: AnalysisTask, *names: str) -> dict[str, Connection]:
    """Return the connections of the clusters that arguments name."""
    return {name: Connection.from_mapping(task.resources[name]["connection"]) for name in names}


def reduce_records(
    task: AnalysisTask,
    question: Mapping[str, Any],
    reading: Reading,
    plan: Callable[[], Sequence[Work]],
    reduce: Reduce,
    options: Mapping[str, Any],
) -> Iterator[Reduced]:
    """Yield the works of a plan in their order, as soon as they are done.

    `question` is what makes it the same one (its kind and arguments). `plan` is called unless the same
    question was begun within `KEEP_S` and did not end. `reading.bytes_per_s` is set here. Raises
    `ClusterFault` where a cluster does not answer. The last work yielded, what was kept is removed. Another
    run with the same question at the same time reads everything for itself.
    """
    with _taken(_folder(task, question, reading)) as folder:
        yield from _reduced(task, folder, reading, _plan(folder, plan), (reduce, options))


def _reduced(
    task: AnalysisTask,
    folder: Path,
    reading: Reading,
    works: Sequence[Work],
    how: tuple[Reduce, Mapping[str, Any]],
) -> Iterator[Reduced]:
    units = list(_units(works, reading.unit_offsets))
    tasks = max(1, min(len(units), task.spark.sparkContext.defaultParallelism))
    share = record_read_bytes_per_s() / tasks
    paced = Reading(**{**_fields(reading), "bytes_per_s": share})
    total, done = sum(one.offsets for one in works), 0
    missing = dict.fromkeys(n for n in range(len(units)) if not (folder / f"{n}.arrow").exists())
    answers = _answers(task, [units[n] for n in missing], paced, *how)
    for number, unit in enumerate(units):
        task.report("Reading records", done=done, total=total, unit="offsets")
        file = folder / f"{number}.arrow"
        if number in missing:
            told = next(answers)
            if isinstance(told, _Fault):
                _raise(told)
            write_whole(file, lambda out, told=told: out.write(told))  # type: ignore[misc]
        yield from _read(unit, file)
        done += unit.offsets
    task.report("Reading records", done=done, total=total, unit="offsets")
    shutil.rmtree(folder, ignore_errors=True)


def notes_of(reduced: Sequence[Reduced]) -> list[str]:
    """Return sentences about what of the spans was not read."""
    spans = [(s, o) for one in reduced for s, o in zip(one.work.spans, one.outcomes, strict=True)]
    notes = []
    cut = {span.where for span, _ in spans if span.is_cut}
    if cut:
        notes.append(
            f"{len(cut):,} partitions have more records than were read (argument most_records): the newest "
            "were read."
        )
    aborted = sum(one.aborted for _, one in spans)
    if aborted:
        notes.append(f"{aborted:,} records of aborted transactions were left out.")
    faults = [f"{span.where}: {text}" for span, one in spans for text in _faults_of(one)]
    more = len(faults) - _MOST_FAULTS
    return [*notes, *faults[:_MOST_FAULTS], *([f"And {more:,} more."] if more > 0 else [])]


def _faults_of(outcome: Outcome) -> Iterator[str]:
    if outcome.fault:
        yield outcome.fault
    if outcome.removed:
        yield f"{outcome.removed:,} offsets were removed before they were read."
    if outcome.unreadable_count:
        offset, why = outcome.unreadable[0]
        count = outcome.unreadable_count
        yield f"{count:,} batches cannot be read, the first one at offset {offset:,}: it {why}."


def _answers(
    task: AnalysisTask,
    units: list[_Unit],
    reading: Reading,
    reduce: Reduce,
    options: Mapping[str, Any],
) -> Iterator[bytes | _Fault]:
    if not units:
        return iter(())
    given = task.spark.sparkContext.parallelize(units, len(units))
    do = partial(_do, reading, reduce, dict(options))
    answers: Iterator[bytes | _Fault] = given.map(do).toLocalIterator(prefetchPartitions=True)
    return answers


def _do(
    reading: Reading, reduce: Reduce, options: Mapping[str, Any], unit: _Unit
) -> bytes | _Fault:
    """Do the works of a unit, in a task; returns the tables of each as one stream of Arrow files."""
    found = []
    try:
        with Clusters(reading) as clusters:
            for work in unit.works:
                readers = [SpanReader(clusters, span) for span in work.spans]
                tables = reduce(readers, work, options)
                found.append((tables, [asdict(one.outcome) for one in readers]))
    except ClusterFault as fault:
        return _Fault(fault.code, fault.message, fault.cluster, fault.hint)
    return _packed(found)


def _packed(found: list[tuple[Tables, list[dict[str, Any]]]]) -> bytes:
    """Return tables as bytes: the outcomes of spans in JSON, then each table with its size."""
    head, parts = [], []
    for tables, outcomes in found:
        sizes = {}
        for name, table in tables.items():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            parts.append(sink.getvalue().to_pybytes())
            sizes[name] = len(parts[-1])
        head.append({"tables": sizes, "outcomes": outcomes})
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "big"), text, *parts])


def _read(unit: _Unit, file: Path) -> Iterator[Reduced]:
    content = memoryview(file.read_bytes())
    size = int.from_bytes(content[:8], "big")
    at = 8 + size
    for work, told in zip(unit.works, json.loads(bytes(content[8:at])), strict=True):
        tables = {}
        for name, length in told["tables"].items():
            with pa.ipc.open_stream(pa.py_buffer(content[at : at + length])) as stream:
                tables[name] = stream.read_all()
            at += length
        yield Reduced(work, tables, tuple(Outcome(**one) for one in told["outcomes"]))


def _units(works: Sequence[Work], most: int) -> Iterator[_Unit]:
    """Put works together that are small: a task for each of thousands of partitions costs more than they."""
    kept: list[Work] = []
    for work in works:
        full = sum(one.offsets for one in kept) + work.offsets > most
        if kept and (full or len(kept) >= _SMALL_WORKS):
            yield _Unit(tuple(kept))
            kept = []
        kept.append(work)
    if kept:
        yield _Unit(tuple(kept))


def _plan(folder: Path, plan: Callable[[], Sequence[Work]]) -> list[Work]:
    file = folder / "plan.json"
    try:
        kept = json.loads(file.read_text())
        if time.time() - kept["at_s"] < KEEP_S:
            return [Work.from_mapping(one) for one in kept["works"]]
    except (OSError, ValueError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    works = list(plan())
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"at_s": time.time(), "works": [one.to_mapping() for one in works]})
    write_whole(file, lambda out: out.write(text.encode()))
    return works


def _folder(task: AnalysisTask, question: Mapping[str, Any], reading: Reading) -> Path:
    clusters = {
        name: one.cluster_id or one.bootstrap_servers for name, one in reading.connections.items()
    }
    text = json.dumps([question, clusters], sort_keys=True, default=str)
    kept = task.histories / "records"
    kept.mkdir(parents=True, exist_ok=True)
    for old in kept.iterdir():
        if time.time() - old.stat().st_mtime > 2 * KEEP_S:
            old.unlink() if old.is_file() else shutil.rmtree(old, ignore_errors=True)
    return kept / sha256(text.encode()).hexdigest()[:32]


@contextmanager
def _taken(folder: Path) -> Iterator[Path]:
    """Yield the folder of a question, or one that does not stay while another run has that."""
    with folder.with_suffix(".lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with tempfile.TemporaryDirectory(dir=folder.parent) as own:
                yield Path(own)
        else:
            yield folder


def _fields(reading: Reading) -> dict[str, Any]:
    return {name: getattr(reading, name) for name in Reading.__slots__}


def _raise(told: _Fault) -> None:
    fault = ClusterFault(
        f"{told.message} What was read is kept: the same analysis, run within a day, reads what is left.",
        cluster=told.cluster,
        hint=told.hint,
    )
    fault.code = told.code
    raise fault

"""The tables of a metadata log as views of a Spark session, made when they are not there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial as partial_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.files import cache_folder
from jobs.quorum.log.folder import BadFolder, LogFolder, read_folder
from jobs.quorum.log.ranges import Dealt, LogRange, read_ranges
from jobs.quorum.log_tables.schemas import SCHEMAS
from jobs.spark import contract
from jobs.spark.analyses.task import Stopped

if TYPE_CHECKING:
    from pyspark import SparkContext

    from jobs.spark.analyses.task import AnalysisTask

LOG = "log.json"
# Tables of a log that were not used for so long are removed; of one log the newest are kept.
KEEP_UNUSED_S = 14 * 86_400.0
MOST_TASKS = 32
# Below so many rows, compiling a query and planning it again take longer than the query.
SMALL_BELOW_ROWS = 100_000
_FOR_A_SMALL_LOG = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
_EVERY_S = 0.5
_PARTIAL = ".partial"
_DEALT, _DONE = "dealt", "done-"
# A smaller log is read by one task before others would have begun.
_BY_ONE_TASK_BYTES = 16 << 20
_LARGEST_RANGE_BYTES = 32 << 20
# So many that no core waits long for the last.
_RANGES_PER_CORE = _TASKS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class LogHistory:
    """What is known of the log as a whole; its tables are views of the task's session, by their names.

    `folder` holds a folder of Parquet files for each table, `rows` says how many rows. `first_ms` and
    `last_ms` are the times of its first and last record in a segment (None: there is none). `notes` are
    sentences about what is missing: gaps, damage, a beginning that only a snapshot tells.
    """

    records: int
    first_offset: int
    end_offset: int
    first_ms: int | None
    last_ms: int | None
    notes: tuple[str, ...]
    folder: Path = Path()
    rows: dict[str, int] | None = None


def open_history(task: AnalysisTask, log: str) -> LogHistory:
    """Make the views `partition_changes`, `voter_sets` ... (see `log_tables.schemas`) of the log in a folder.

    Its tables are kept in the task's `histories` for as long as the log stays as it is. Raises BadFolder when
    it holds no log, or was removed or cut off while it was read.
    """
    return read_history(task, read_folder(Path(log)))


def read_history(task: AnalysisTask, folder: LogFolder) -> LogHistory:
    """Do the same for a folder as it was listed."""
    kept = task.histories / _key(folder.path) / _fingerprint(folder)
    if not (kept / LOG).exists():
        _make(task, folder, kept)
        _remove_unused(task.histories, kept)
    os.utime(kept)
    known = contract.read_json(kept / LOG) or {}
    if known["rows"]["partition_changes"] < SMALL_BELOW_ROWS:
        for setting, value in _FOR_A_SMALL_LOG.items():
            task.spark.conf.set(setting, value)
    for name, schema in SCHEMAS.items():
        frame = task.spark.read.schema(_spark_schema(schema)).parquet(str(kept / name))
        frame.createOrReplaceTempView(name)
    return LogHistory(
        known["records"],
        known["first_offset"],
        known["end_offset"],
        known["first_ms"],
        known["last_ms"],
        tuple(_notes(known)),
        kept,
        known["rows"],
    )


def forget_history(histories: Path, log: Path) -> None:
    """Remove what is kept of the log in a folder, which may be gone already."""
    shutil.rmtree(histories / _key(log), ignore_errors=True)


def _make(task: AnalysisTask, folder: LogFolder, kept: Path) -> None:
    """Write the tables of a log; what does not become whole does not stay."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_name(f"{kept.name}.{os.getpid()}.{threading.get_ident()}{_PARTIAL}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        told = _written(task, folder, partial)
        _check_still_there(folder)
        (partial / LOG).write_text(json.dumps(told), encoding="utf-8")
        try:
            partial.rename(kept)
        except OSError:
            # Somebody else made the same meanwhile.
            if not (kept / LOG).exists():
                raise
    except Stopped:
        raise
    except Exception:  # whatever broke: a log that is gone is the reason that counts
        _check_still_there(folder)
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _written(task: AnalysisTask, folder: LogFolder, partial: Path) -> dict[str, Any]:
    """Write the tables: first ranges of the log are read, each once, then shares of its partitions folded."""
    context = task.spark.sparkContext
    cores = context.defaultParallelism
    size_bytes = sum(one.size_bytes for one in folder.segments)
    if cores == 1 or size_bytes < _BY_ONE_TASK_BYTES:
        with _told_progress(task, partial, "Reading the log", 0):
            return _together(_tasks(context, [(folder, partial)], _write_all))
    shares = min(MOST_TASKS, _TASKS_PER_CORE * cores) - 1
    each = min(_LARGEST_RANGE_BYTES, size_bytes // (_RANGES_PER_CORE * cores))
    dealt = partial / _DEALT
    dealt.mkdir(mode=0o700)

    def plan(uncut: Container[int]) -> list[LogRange]:
        (found,) = _tasks(context, [(folder, each, uncut)], _plan)
        ranges: list[LogRange] = found["ranges"]
        return ranges

    def deal(ranges: list[LogRange]) -> list[Dealt]:
        reads = [(folder, one, number, partial, shares) for number, one in enumerate(ranges)]
        return [one["dealt"] for one in _tasks(context, reads, _read_range)]

    with _told_progress(task, partial, "Reading the log", size_bytes):
        last_resets = read_ranges(plan, deal)
    with _told_progress(task, partial, "Writing the tables", size_bytes):
        writes = [(folder, last_resets, partial, share, shares) for share in range(-1, shares)]
        told = _tasks(context, writes, _write_share)
    shutil.rmtree(dealt)
    return _together(told)


def _tasks(
    context: SparkContext, inputs: list[tuple[Any, ...]], function: Callable[..., dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return what a function says of each input, each in a task of its own; raises OSError."""
    told = context.parallelize(inputs, len(inputs)).map(partial_of(_on_worker, function)).collect()
    for one in told:
        if "problem" in one:
            raise OSError(one["errno"], one["problem"])
    return told


def _on_worker(function: Callable[..., dict[str, Any]], given: tuple[Any, ...]) -> dict[str, Any]:
    # Where compiled code is kept must be said before it is made.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    try:
        return function(*given)
    except OSError as error:
        return {"errno": error.errno, "problem": error.strerror or str(error)}


def _write_all(folder: LogFolder, target: Path) -> dict[str, Any]:
    """Write all tables of a log in one task; returns JSON values."""
    from jobs.quorum.log_tables.writing import write_beside_partitions, write_partitions

    beside = write_beside_partitions(folder, target)
    return {**write_partitions(folder, target, 0, 1), "beside": beside}


def _plan(folder: LogFolder, size_bytes: int, uncut: Container[int]) -> dict[str, Any]:
    from jobs.quorum.replay.ranges import ranges_of

    return {"ranges": list(ranges_of(folder, size_bytes, uncut))}


def _read_range(
    folder: LogFolder, one: LogRange, number: int, target: Path, shares: int
) -> dict[str, Any]:
    """Read a range of the log and deal it out to the shares."""
    from jobs.quorum.replay.ranges import deal_range

    dealt = deal_range(folder, one, number, target / _DEALT, shares)
    _note_done(target, f"range-{number}", one.size_bytes)
    return {"dealt": dealt}


def _write_share(
    folder: LogFolder, last_resets: list[int], target: Path, share: int, shares: int
) -> dict[str, Any]:
    """Write a share of the partitions, as share -1 everything else; returns JSON values."""
    from jobs.quorum.log_tables.writing import write_beside_partitions, write_partitions
    from jobs.quorum.replay.dealing import dealt_columns
    from jobs.quorum.replay.ranges import dealt_runs

    dealt = target / _DEALT
    if share < 0:
        beside = write_beside_partitions(folder, target, dealt_runs(dealt, len(last_resets)))
        return {"rows": 0, "anomalies": {}, "beside": beside}
    pieces = dealt_columns(dealt, last_resets, share)
    told = write_partitions(folder, target, share, shares, pieces)
    _note_done(target, f"share-{share}", sum(one.size_bytes for one in folder.segments) // shares)
    return told


def _together(told: list[dict[str, Any]]) -> dict[str, Any]:
    beside = next(one["beside"] for one in told if "beside" in one)
    rows = {**beside["rows"], "partition_changes": sum(one["rows"] for one in told)}
    counts = [beside["anomalies"], *(one["anomalies"] for one in told)]
    kinds = sorted({kind for one in counts for kind in one})
    # What is about topics, every task meets.
    anomalies = {kind: max(one.get(kind, 0) for one in counts) for kind in kinds}
    return {**beside, "rows": rows, "anomalies": anomalies}


def _note_done(target: Path, name: str, size_bytes: int) -> None:
    # Where the folder is gone the run was stopped, and so is this.
    (target / f"{_DONE}{name}").write_text(str(size_bytes), encoding="utf-8")


@contextmanager
def _told_progress(task: AnalysisTask, partial: Path, message: str, total: int) -> Iterator[None]:
    """Say how many bytes of the log are done while tasks are at work; `total` 0: it is not known."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_EVERY_S):
            done = sum(map(_count, partial.glob(f"{_DONE}*")))
            try:
                task.report(message, done=done, total=total or None, unit="bytes")
            except Stopped:
                return

    teller = threading.Thread(target=tell, daemon=True)
    task.report(message)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        for one in partial.glob(f"{_DONE}*"):
            one.unlink(missing_ok=True)


def _count(path: Path) -> int:
    try:
        return int(path.read_text(encoding="utf-8") or 0)
    except OSError:
        return 0


def _check_still_there(folder: LogFolder) -> None:
    for segment in folder.segments:
        try:
            size = segment.path.stat().st_size
        except OSError:
            size = -1
        if size < segment.size_bytes:
            what = "removed" if size < 0 else "cut off"
            raise BadFolder(
                f"{folder.path}: {segment.path.name} was {what} while it was read: run the analysis again."
            )


def _remove_unused(histories: Path, kept: Path) -> None:
    """Remove what is left of other states of the log, and of logs that are not used any more."""
    now = time.time()
    for path in histories.glob("*/*"):
        try:
            unused_s = now - path.stat().st_mtime
        except OSError:
            continue
        is_older = path.parent == kept.parent and path != kept
        # Another question may be reading what is older.
        if unused_s > (3600 if is_older or path.name.endswith(_PARTIAL) else KEEP_UNUSED_S):
            shutil.rmtree(path, ignore_errors=True)


def _key(folder: Path) -> str:
    return hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:24]


def _fingerprint(folder: LogFolder) -> str:
    """Return a word for the log as it is: its files, how large they are, and when they were written."""
    files = [*(one.path for one in folder.segments), *(one.path for one in folder.snapshots)]
    try:
        found = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    except OSError as error:
        raise BadFolder(f"{folder.path}: {error.filename} was removed meanwhile.") from None
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:24]


def _notes(known: dict[str, Any]) -> Iterator[str]:
    if known["first_offset"] > 0:
        before = "earlier changes are known only from a snapshot, without their times"
        if not known["begins_with_snapshot"]:
            before = "earlier changes are not known, there is no snapshot"
        yield f"The log begins at offset {known['first_offset']}: {before}."
    for start, end in known["gaps"]:
        yield (
            f"The records from offset {start} to {end - 1} are missing: their changes are not known, nor the "
            "state of partitions until the next snapshot."
        )
    yield from (f"Damaged: {sentence}." for sentence in known["damage"])
    # Tables of earlier releases do not say these two.
    if known.get("is_cut_short"):
        yield f"The log cannot be read from offset {known['end_offset']} on: later changes are not known."
    if known.get("tail"):
        yield known["tail"]
    if known["anomalies"]:
        counted = ", ".join(
            f"{kind.replace('_', ' ')} {n}" for kind, n in known["anomalies"].items()
        )
        yield f"Records that Kafka itself would refuse: {counted}."


def _spark_schema(schema: pa.Schema) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    plain = [
        pa.field(one.name, one.type.value_type if pa.types.is_dictionary(one.type) else one.type)
        for one in schema
    ]
    return from_arrow_schema(pa.schema(plain))

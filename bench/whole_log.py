#!/usr/bin/env python3
"""A whole metadata log by all cores, and how fast commands start: `bench/whole_log.py [PART...] [--quick]`.

`tables`: a log of ten million records to all tables in a warm engine, all of whose processes are bound to
one core, then not. `large`: ten times as many records. `cluster`: the same log on a standalone cluster of one
and two workers, each bound to a core of its own; driver and master are not bound. `questions`: two questions
about tables that exist, each in an engine of its own. `start`: see `command_start`. The least of several
times counts.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import command_start
import metadata
from metadata import REPLAYED, Asking, Say, a_log
from reporting import say as print_line
from reporting import write

from jobs.quorum.replay.ahead import small_log
from jobs.spark.processes import children_of

KIND = "metadata-history"
QUESTIONS = ("partition-availability", "isr-churn")
LARGE_TIMES = 10
NEEDED_BYTES = 20_000_000_000
TIMES = 3
Found = dict[str, object]


def measure(say: Say, *, quick: bool, parts: Iterable[str] = ()) -> Found:
    """Measure the parts named, by default all and what `metadata` measures; returns JSON values."""
    found: Found = {} if parts else metadata.measure(say, quick=quick)
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as name:
        folder, count = Path(name), REPLAYED // (10 if quick else 1)
        log, small = a_log(folder / "log", count), folder / "small"
        small.mkdir()
        for offset, segment in small_log().items():
            (small / f"{offset:020}.log").write_bytes(segment)
        for part in parts or PARTS:
            (folder / part).mkdir()
            if part == "large":
                found[part] = {"left_out": "--quick"} if quick else large(folder / part, small)
            else:
                found[part] = PARTS[part](folder / part, log, small)
            say(f"{part}: {json.dumps(found[part])}")
    return found


def tables(folder: Path, log: Path, small: Path) -> Found:
    """Make the tables on one core and on two."""
    first = min(os.sched_getaffinity(0))
    found = {
        "one_core": to_tables(Asking(folder / "one", {first}), log, small),
        "two_cores": to_tables(Asking(folder / "two"), log, small),
    }
    return {**found, "times_as_fast": ratio(found["one_core"], found["two_cores"])}


def large(folder: Path, small: Path) -> Found:
    """Make the tables of a log ten times as large."""
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        return {"left_out": f"{free // 10**9} GB of the disk are free, 20 GB are needed"}
    return to_tables(Asking(folder / "runs"), a_log(folder, LARGE_TIMES * REPLAYED), small, 1)


def cluster(folder: Path, log: Path, small: Path) -> Found:
    """Make the tables on a standalone cluster, which comes from the tests."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.live.spark.standalone_cluster import StandaloneCluster

    cores = sorted(os.sched_getaffinity(0))
    found = {}
    for count in (1, 2):
        with StandaloneCluster(folder / f"spark-{count}", count, cores=1) as spark:
            for worker, core in zip(spark.workers, cores, strict=False):
                bind(worker.pid, core)
            asking = Asking(folder / f"runs-{count}", environment=spark.settings_of_runs())
            found[f"workers_{count}"] = to_tables(asking, log, small)
    return {**found, "times_as_fast": ratio(found["workers_1"], found["workers_2"])}


def questions(folder: Path, log: Path, small: Path) -> Found:
    """Answer questions about tables that were made before."""
    made = Asking(folder / "made", histories=folder / "histories")
    made.ask(KIND, log)
    made.end()
    found: Found = {}
    for kind in QUESTIONS:
        asking = Asking(folder / kind, histories=folder / "histories")
        asking.ask("quorum-history", small)
        asking.settle()
        answer = asking.ask(kind, log)
        found[kind] = {**asking.end(), **answer}
    return found


def to_tables(asking: Asking, log: Path, small: Path, times: int = TIMES) -> Found:
    """Make the tables so many times, in the engine that has answered a small question."""
    asking.ask(KIND, small)
    took = []
    for _ in range(times):
        shutil.rmtree(asking.histories)
        asking.settle()
        took.append(asking.ask(KIND, log))
    best = min(took, key=lambda one: float(str(one["wall_s"])))
    return {**asking.end(), **best, "all_wall_s": [one["wall_s"] for one in took]}


def ratio(slower: Mapping[str, object], faster: Mapping[str, object]) -> Found:
    """Return how many times as fast: all of it, and reading and writing alone."""
    steps = [
        sum(seconds for stage, seconds in dict(one["stages_s"]).items() if stage in STEPS)
        for one in (slower, faster)
    ]
    wall = float(str(slower["wall_s"])) / float(str(faster["wall_s"]))
    return {"wall": round(wall, 2), "reading_and_writing": round(steps[0] / steps[1], 2)}


STEPS = ("Reading the log", "Writing the tables")


def bind(root: int, core: int) -> None:
    """Keep a process and what it starts from now on, on one core."""
    for pid in (root, *children_of(root)):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), {core})


PARTS: Mapping[str, Callable[[Path, Path, Path], Found]] = {
    "tables": tables,
    "questions": questions,
    "cluster": cluster,
    "start": command_start.measure,
    "large": large,
}

if __name__ == "__main__":
    wanted = [one for one in sys.argv[1:] if one in PARTS]
    is_quick = "--quick" in sys.argv
    write("metadata", measure(print_line, quick=is_quick, parts=wanted or PARTS), quick=is_quick)

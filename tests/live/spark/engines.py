"""Analyses that a test hands over to an engine, and the engine's processes."""

import os
import signal
import uuid
from pathlib import Path

from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobResult, JobSpec
from jobs.spark.engine import door
from tests.jobs.quorum.small_log import small_log
from tests.waiting import eventually

STARTS_WITHIN_S = 120
KIND = "metadata-records"
# As /proc/net/tcp has it.
ESTABLISHED = "01"


def write_small_log(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for offset, segment in small_log().items():
        (folder / f"{offset:020}.log").write_bytes(segment)
    return folder


def spec_of(log: Path, tables: Path, lease_s: float = 600.0) -> JobSpec:
    """A question about what a log consists of."""
    values = {"arguments": {"log": str(log)}, "tables": str(tables), "tasks": 2}
    values["histories"] = str(tables.parent / "histories")
    return JobSpec(uuid.uuid4().hex, KIND, values, lease_s)


def ask(runs: Path, log: Path, *, environment=None, **changes) -> Path:
    """Hand a question over and return the folder of its run."""
    run_dir = runs / uuid.uuid4().hex[:8]
    door.start_run(spec_of(log, run_dir / "tables", **changes), run_dir, environment)
    return run_dir


def answer_of(run_dir: Path) -> JobResult:
    """Wait for the end of a run and return its result; None where its engine died."""
    eventually(lambda: not door.is_alive(run_dir), STARTS_WITHIN_S)
    return contract.read_result(run_dir)


def engine_of(run_dir: Path) -> Path:
    return run_dir.parent / contract.read_json(run_dir / contract.KEEPER)["engine"]


def family_of(engine: Path) -> list[int]:
    """The supervisor of an engine and everything below it."""
    keeper = contract.read_json(engine / contract.KEEPER)["pid"]
    return [keeper, *processes.children_of(keeper)]


def with_word(pids: list[int], word: str) -> list[int]:
    """Those that have a word in their command line."""
    found = []
    for pid in pids:
        try:
            if word in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def workers_of(engine: Path) -> list[int]:
    """The Python processes that do tasks: those that Spark's daemon forked."""
    daemons = with_word(family_of(engine), "pyspark.daemon")
    return [pid for pid in daemons if not processes.children_of(pid)]


def freeze_workers(engine: Path) -> list[int]:
    """Let the workers of an engine stand still: what is asked next does not end."""
    found = workers_of(engine)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    return found


def holding_work(pids: list[int]) -> set[int]:
    """Those that stand still with something to do: bytes wait in a socket of theirs."""
    rows = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    unread = {
        f"socket:[{inode}]"
        for _, _, _, state, queues, *_, inode in (row[:10] for row in rows)
        if state == ESTABLISHED and int(queues.split(":")[1], 16)
    }
    return {
        pid
        for pid in pids
        if unread & {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    }


def end_engines(runs: Path) -> None:
    for one in runs.glob("engine-*"):
        submit.kill_run(one)
        eventually(lambda one=one: not submit.is_alive(one))

"""`crosslog backfill FLOW.yaml --archive DIR`: the history of a flow's offset syncs into its archive."""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path
from types import FrameType

from jobs.cluster.errors import InvalidFields
from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java
from jobs.replication.flow.file import read_flow_file
from jobs.spark import contract, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome

OK, FINDING, BAD_INPUT = 0, 1, 2
LOOK_S = 0.2


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of `crosslog`."""
    parser = commands.add_parser(
        "backfill",
        help="read the whole history of a flow's offset syncs into its archive",
        description="Read a long topic of offset syncs by as many tasks as the flow has, on Spark. What the "
        "archive has already is not read again; the follower goes on from there. Exit codes: 0 done, "
        "1 it could not be done, 2 the file is wrong.",
    )
    parser.add_argument("flow", metavar="FLOW.yaml", type=Path)
    parser.add_argument("--archive", metavar="DIR", type=Path, required=True)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        flow = read_flow_file(arguments.flow)
    except InvalidFields as error:
        for field, text in error.errors.items():
            sys.stderr.write(f"{arguments.flow}: {field}: {text}\n")
        return BAD_INPUT
    try:
        find_java()
    except JavaMissing as error:
        sys.stderr.write(f"{error}\n")
        return BAD_INPUT
    values = {"flow": flow.to_mapping(), "archive": str(arguments.archive.absolute())}
    spec = JobSpec(f"backfill {uuid.uuid4().hex[:8]}", "backfill", values)
    folder = Path(tempfile.mkdtemp(prefix="crosslog-backfill-"))
    submit.start_run(spec, folder)

    def end(_number: int, _frame: FrameType | None) -> None:
        sys.stderr.write("stopping: what is read stays in the archive\n")
        submit.request_stop(folder)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    code = _tell(_wait(folder), folder, as_json=arguments.json)
    if code == OK:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def _wait(folder: Path) -> JobResult:
    while (result := contract.read_result(folder)) is None:
        if not submit.is_alive(folder):
            text = f"The run ended without a result; see {folder / contract.LOG}."
            return contract.read_result(folder) or JobResult(Outcome.ERRORED, text)
        time.sleep(LOOK_S)
    while submit.is_alive(folder):
        time.sleep(LOOK_S)
    return result


def _tell(result: JobResult, folder: Path, *, as_json: bool) -> int:
    summary = dict(result.summary)
    if as_json:
        told = {"outcome": result.outcome, "error": result.error, **summary}
        sys.stdout.write(json.dumps(told) + "\n")
    elif result.outcome is Outcome.SUCCEEDED:
        sys.stdout.write(f"{summary['syncs']:,} offset syncs in {summary['seconds']} s\n")
    if result.outcome is not Outcome.SUCCEEDED:
        log = folder / contract.LOG
        sys.stderr.write(f"{result.outcome.lower()}: {result.error or 'stopped'} (log: {log})\n")
    return OK if result.outcome is Outcome.SUCCEEDED else FINDING

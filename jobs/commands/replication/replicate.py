"""`crosslog replicate FLOW.yaml...`: flows in the foreground, without the console.

One flow is an application of its own, several share an engine.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands import command
from jobs.lab.errors import JavaMissing
from jobs.lab.install.java import find_java
from jobs.replication.copy.contract import CopyState
from jobs.replication.flow.file import read_confirmed, read_flow_file
from jobs.replication.flow.lacking import find_lacking
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.preview import (
    find_cautions,
    preview_topics,
    read_known,
    refuse_unconfirmed,
)
from jobs.spark import contract, submit
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.engine import door
from jobs.spark.engine.folder import ENGINE_KEY
from jobs.visible import print_lines, visible_line

LOOK_S = 0.3
LINE_EVERY_S = 5.0
# For how long flows of an engine continue when the command was killed.
LEASE_S = 30.0
_WATCHED = "MirrorMaker 2 replicates this flow: it is only watched. Stop MirrorMaker 2 first."

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
_UNITS = ("B", "kB", "MB", "GB", "TB")
_THOUSAND = 1000


@dataclass(frozen=True, slots=True)
class _Run:
    """A flow and the folder of its run; `label` begins its lines where there are several flows."""

    flow: FlowSpec
    folder: Path
    label: str = ""


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        find_java()
    except JavaMissing as error:
        return command.say(error)
    flows = _read_flows(arguments.flows)
    if flows is None:
        return command.BAD_INPUT
    folder = arguments.run_dir or Path(tempfile.mkdtemp(prefix="crosslog-run-"))
    if len(flows) == 1:
        runs = [_Run(flows[0], folder)]
    else:
        runs = [_Run(one, folder / f"run-{one.name}", one.name) for one in flows]
    code = _follow(runs, arguments)
    if arguments.run_dir is None and code == command.OK:
        shutil.rmtree(folder, ignore_errors=True)
    return code


def _read_flows(paths: Sequence[Path]) -> list[FlowSpec] | None:
    """Read and check all files; None where one cannot be run, and every problem is printed."""
    found: dict[str, Path] = {}
    flows = []
    for path in paths:
        try:
            flow = _read(path, found)
        except InvalidFields as error:
            command.refuse(error, path)
        else:
            found[flow.name] = path
            flows.append(flow)
    return flows if len(flows) == len(paths) else None


def _read(path: Path, others: Mapping[str, Path]) -> FlowSpec:
    """Read and check a file; raises `InvalidFields`."""
    flow = read_flow_file(path)
    if flow.is_watched:
        raise InvalidFields({"copied_by": _WATCHED})
    if flow.name in others:
        raise InvalidFields({"name": f"The flow of {others[flow.name]} has this name, too."})
    _check(flow, read_confirmed(path))
    return flow


def _check(flow: FlowSpec, confirmed: str) -> None:
    """Raise `InvalidFields` for what is hardly wanted; the run tells of a cluster that does not answer."""
    with (
        suppress(ClusterFault),
        ClusterClient(flow.source) as source,
        ClusterClient(flow.target) as target,
    ):
        lacking = find_lacking(flow, read_versions(source), read_versions(target))
        sys.stderr.writelines(f"{visible_line(str(one))}\n" for one in lacking)
        known = read_known(source, target, flow)
        refuse_unconfirmed(flow, find_cautions(flow, known, preview_topics(flow, known)), confirmed)


def exit_code(result: JobResult, *, until_caught_up: bool) -> int:
    """Return 0 when the request was fulfilled: everything up to the ends, or copying until a stop."""
    done = {Outcome.SUCCEEDED} if until_caught_up else {Outcome.SUCCEEDED, Outcome.STOPPED}
    return command.OK if result.outcome in done else command.FINDING


def _follow(runs: Sequence[_Run], arguments: argparse.Namespace) -> int:
    """Start all runs and follow them to their ends; returns the worst exit code."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        command.say("stopping: flushing and committing positions")
        stop.set()

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    for one in runs:
        _start(one, until_caught_up=arguments.until_caught_up)
    code, left, next_line = command.OK, list(runs), 0.0
    while left:
        results = {one.folder: _look(one, is_stopping=stop.is_set()) for one in left}
        is_due = time.monotonic() >= next_line
        for one in left:
            result, progress = results[one.folder], submit.read_progress(one.folder)
            if progress and (is_due or result is not None):
                _print_progress(one, progress, as_json=arguments.json)
                next_line = time.monotonic() + LINE_EVERY_S
            if result is not None:
                _print_result(one, result, as_json=arguments.json)
                code = max(code, exit_code(result, until_caught_up=arguments.until_caught_up))
        left = [one for one in left if results[one.folder] is None]
        time.sleep(LOOK_S if left else 0)
    _end_engines(runs)
    return code


def _start(one: _Run, *, until_caught_up: bool) -> None:
    """Start one flow as an application of its own, and several in an engine."""
    values = {"flow": one.flow.to_mapping(), "until_caught_up": until_caught_up}
    run_id = f"{one.flow.name} {uuid.uuid4().hex[:8]}"
    if one.label:
        door.start_run(JobSpec(run_id, "replicate", values, lease_s=LEASE_S), one.folder)
    else:
        submit.start_run(JobSpec(run_id, "replicate", values), one.folder)


def _look(one: _Run, *, is_stopping: bool) -> JobResult | None:
    """Say that a run is wanted, or not any more, and return its result once it has ended."""
    if is_stopping:
        submit.request_stop(one.folder)
    if one.label:
        door.touch_lease(one.folder)
    if door.is_alive(one.folder):
        return None
    return contract.read_result(one.folder) or JobResult(
        Outcome.CRASHED, f"The run ended without a result; see {one.folder / contract.LOG}."
    )


def _end_engines(runs: Sequence[_Run]) -> None:
    """End what hosted the runs, and wait until it has ended."""
    keepers = [contract.read_json(one.folder / contract.KEEPER) or {} for one in runs]
    names = {one[ENGINE_KEY] for one in keepers if ENGINE_KEY in one}
    engines = [runs[0].folder.parent / str(name) for name in names]
    for engine in engines:
        submit.request_stop(engine)
    while any(submit.is_alive(engine) for engine in engines):
        time.sleep(LOOK_S)


def _print_progress(one: _Run, progress: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        command.print_json({**_named(one), **progress})
    else:
        print_lines([f"{_prefix(one)}{summary_line(progress)}"])
        for row in progress.get("partitions", ()):
            if row["state"] in (CopyState.FAILED, CopyState.STOPPED):
                where = f"{row['topic']}-{row['partition']}"
                print_lines([f"{_prefix(one)}  {where} {row['state']}: {row['reason']}"])
    sys.stdout.flush()


def _prefix(one: _Run) -> str:
    return f"{one.label}: " if one.label else ""


def _named(one: _Run) -> dict[str, str]:
    return {"flow": one.label} if one.label else {}


def summary_line(progress: dict[str, Any]) -> str:
    """Return one line for a person: what was copied, how fast, for how long still, and what is where."""
    # A run that waits for its engine has none.
    rows = progress.get("partitions", ())
    states = [row["state"] for row in rows]
    counts = ", ".join(f"{states.count(s)} {s.replace('_', ' ')}" for s in dict.fromkeys(states))
    records = sum(row["records"] for row in rows)
    rate = sum(row["rate_per_s"] for row in rows)
    size = sum(row["bytes_per_s"] for row in rows)
    left = f", about {duration(progress['eta_s'])} left" if progress["eta_s"] else ""
    return (
        f"{records:,} records copied, {rate:,.0f} records/s, {size_of(size)}/s{left}; "
        f"{counts or progress['message']}"
    )


def result_line(result: JobResult) -> str:
    """Return the last line for a person: how it ended, and what was copied in which time."""
    found = result.summary
    seconds = float(found.get("seconds") or 0.0)
    line = f"{result.outcome.lower()}: {found.get('records', 0):,} records"
    line += f", {size_of(found.get('bytes', 0))} in {seconds:,.1f} s"
    return f"{line} ({found['records'] / seconds:,.0f} records/s)" if seconds else line


def duration(seconds: float) -> str:
    """Return a duration as a person says it: two units at most."""
    whole = round(seconds)
    if whole < MINUTE_S:
        return f"{max(whole, 1)} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S} s"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S} min"
    return f"{whole // DAY_S} d {whole % DAY_S // HOUR_S} h"


def size_of(count: float) -> str:
    """Return a number of bytes with a unit of a thousand."""
    unit = 0
    while count >= _THOUSAND and unit < len(_UNITS) - 1:
        count, unit = count / _THOUSAND, unit + 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{count:.0f} {_UNITS[0]}"


def _print_result(one: _Run, result: JobResult, *, as_json: bool) -> None:
    if as_json:
        told = {"outcome": result.outcome.value, "error": result.error, **result.summary}
        command.print_json({**_named(one), **told})
    elif result.error:
        log = one.folder / contract.LOG
        command.say(f"{_prefix(one)}{result.outcome.lower()}: {result.error}\nlog: {log}")
    else:
        print_lines([f"{_prefix(one)}{result_line(result)}"])

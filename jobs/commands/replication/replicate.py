"""`crosslog replicate FLOW.yaml`: a flow in the foreground, without the console."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import uuid
from contextlib import suppress
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
from jobs.visible import print_lines, visible_line

LOOK_S = 0.3
LINE_EVERY_S = 5.0

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
_UNITS = ("B", "kB", "MB", "GB", "TB")
_THOUSAND = 1000


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        flow = read_flow_file(arguments.flow)
        if flow.is_watched:
            text = (
                "MirrorMaker 2 replicates this flow: it is only watched. Stop MirrorMaker 2 first."
            )
            return command.say(f"{arguments.flow}: copied_by: {text}")
        find_java()
        _check(flow, read_confirmed(arguments.flow))
    except JavaMissing as error:
        return command.say(error)
    except InvalidFields as error:
        return command.refuse(error, arguments.flow)
    folder = arguments.run_dir or Path(tempfile.mkdtemp(prefix="crosslog-run-"))
    result = _follow(flow, folder, arguments)
    _print_result(result, folder, arguments)
    code = exit_code(result, until_caught_up=arguments.until_caught_up)
    if arguments.run_dir is None and code == command.OK:
        shutil.rmtree(folder, ignore_errors=True)
    return code


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


def _follow(flow: FlowSpec, folder: Path, arguments: argparse.Namespace) -> JobResult:
    spec = JobSpec(
        run_id=f"{flow.name} {uuid.uuid4().hex[:8]}",
        kind="replicate",
        arguments={"flow": flow.to_mapping(), "until_caught_up": arguments.until_caught_up},
    )
    submit.start_run(spec, folder)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        command.say("stopping: flushing and committing positions")
        submit.request_stop(folder)

    signal.signal(signal.SIGINT, on_signal)
    signal.signal(signal.SIGTERM, on_signal)
    return _wait(folder, as_json=arguments.json)


def _wait(folder: Path, *, as_json: bool) -> JobResult:
    next_line = 0.0
    while (result := contract.read_result(folder)) is None:
        if not submit.is_alive(folder):
            return contract.read_result(folder) or JobResult(
                Outcome.CRASHED, f"The run ended without a result; see {folder / contract.LOG}."
            )
        progress = submit.read_progress(folder)
        if progress and time.monotonic() >= next_line:
            _print_progress(progress, as_json=as_json)
            next_line = time.monotonic() + LINE_EVERY_S
        time.sleep(LOOK_S)
    while submit.is_alive(folder):
        time.sleep(LOOK_S)
    progress = submit.read_progress(folder)
    if progress:
        _print_progress(progress, as_json=as_json)
    return result


def _print_progress(progress: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        command.print_json(progress)
    else:
        sys.stdout.write(summary_line(progress) + "\n")
        for row in progress["partitions"]:
            if row["state"] in (CopyState.FAILED, CopyState.STOPPED):
                where = f"{row['topic']}-{row['partition']}"
                print_lines([f"  {where} {row['state']}: {row['reason']}"])
    sys.stdout.flush()


def summary_line(progress: dict[str, Any]) -> str:
    """Return one line for a person: what was copied, how fast, for how long still, and what is where."""
    rows = progress["partitions"]
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


def _print_result(result: JobResult, folder: Path, arguments: argparse.Namespace) -> None:
    if arguments.json:
        command.print_json(
            {"outcome": result.outcome.value, "error": result.error, **result.summary}
        )
    elif result.error:
        command.say(f"{result.outcome.lower()}: {result.error}\nlog: {folder / contract.LOG}")
    else:
        sys.stdout.write(f"{result_line(result)}\n")

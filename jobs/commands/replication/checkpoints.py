"""`crosslog checkpoints FLOW.yaml`: write the checkpoints of a flow that something else copies."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import InvalidFields
from jobs.commands import command
from jobs.replication.checkpoints.clusters import FlowClusters
from jobs.replication.checkpoints.rounds import CheckpointReport
from jobs.replication.checkpoints.rules import Why
from jobs.replication.checkpoints.thread import TIMEOUT_S, TimedRounds
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.spec import FlowSpec, SyncsLocation


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        flow = _checked(read_flow_file(arguments.flow))
    except InvalidFields as error:
        return command.refuse(error, arguments.flow)
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.set())
    with (
        ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
        ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
    ):
        rounds = TimedRounds(flow, FlowClusters(flow, source, target))
        try:
            while True:
                pause_s = rounds.run()
                report = rounds.report
                command.print_answer(arguments, report.to_mapping, lines(report, flow))
                sys.stdout.flush()
                if arguments.once or over.wait(pause_s):
                    break
        except KeyboardInterrupt:
            command.say("stopped")
    return exit_code(rounds.report)


def exit_code(report: CheckpointReport) -> int:
    """Return 1 when the last round failed, or could not tell of every group."""
    is_beyond = report.without.get(Why.BEYOND_SOURCE.value)
    is_bad = report.fault or report.errors or report.sync.errors or report.sync.ahead or is_beyond
    return command.FINDING if is_bad else command.OK


def lines(report: CheckpointReport, flow: FlowSpec) -> Iterator[str]:
    """Yield what came of a round for a person."""
    if report.fault:
        yield f"{flow.name}: {report.fault}"
        return
    yield (
        f"{flow.name}: {report.groups} groups, {report.told} current checkpoints, {report.exact} of them "
        f"exact; {report.written} written in this round."
    )
    if report.corrected:
        yield f"  {report.corrected} wrong checkpoints of other writers were replaced in the first round."
    yield from (f"  without a checkpoint: {n} ({why})" for why, n in report.without.items())
    yield from (f"  {group}: {error}" for group, error in report.errors.items())
    yield from (f"  {finding}" for finding in report.findings)
    if report.synced_at_ms is not None:
        sync = report.sync
        yield f"  groups synced: {sync.written} offsets written, {sync.active} active groups skipped."
        yield from (f"  {group}: {error}" for group, error in sync.errors.items())
        yield from (f"  {text}" for text in sync.ahead.values())


def _checked(flow: FlowSpec) -> FlowSpec:
    errors = {}
    if not flow.emit_checkpoints_interval_s:
        errors["emit_checkpoints_interval_s"] = "It is 0: the flow writes no checkpoints."
    if flow.offset_syncs is SyncsLocation.NONE:
        errors["offset_syncs"] = "It is none: without offset syncs nothing can be translated."
    if errors:
        raise InvalidFields(errors)
    return flow

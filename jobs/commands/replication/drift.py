"""`crosslog drift FLOW.yaml`: in what remote topics differ from their source topics. Changes nothing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.replication.findings.drift import drift_findings
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.drift import ConfigDrift, DriftReport, TopicDrift, read_drift
from jobs.visible import print_lines

NO_DRIFT, DRIFT, ERROR = 0, 1, 2


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "drift",
        help="compare remote topics with their source topics",
        description="Compare partitions, configs and ACLs of a flow's topics on both clusters. "
        "Changes nothing. Exit codes: 0 no drift, 1 drift, 2 the comparison failed.",
    )
    parser.add_argument(
        "flow", metavar="FLOW.yaml", type=Path, help="the flow; see docs/automation.md"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def ask_clusters(flow: FlowSpec) -> DriftReport:
    """Ask both clusters; raises `ClusterFault`."""
    with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
        return read_drift(source, target, flow)


def run(
    arguments: argparse.Namespace, ask: Callable[[FlowSpec], DriftReport] = ask_clusters
) -> int:
    """Run the command; returns its exit code."""
    try:
        flow = read_flow_file(arguments.flow)
        report = ask(flow)
    except InvalidFields as error:
        for field, text in error.errors.items():
            sys.stderr.write(f"{arguments.flow}: {field}: {text}\n")
        return ERROR
    except ClusterFault as fault:
        sys.stderr.write(f"{fault}\n{fault.hint}\n".rstrip("\n") + "\n")
        return ERROR
    found = [one.to_mapping() for one in drift_findings(flow, report)]
    document = {**report.to_mapping(), "findings": found}
    print_lines([json.dumps(document)] if arguments.json else lines(report))
    return DRIFT if report.has_findings else NO_DRIFT


def lines(report: DriftReport) -> Iterator[str]:
    """Yield the report for a person: what differs, what is surprising, what the next sync does."""
    drifted = [topic for topic in report.topics if topic.is_drifted]
    yield f"{report.flow}: {len(drifted)} of {len(report.topics)} topics differ."
    for topic in drifted:
        yield f"{topic.topic} -> {topic.remote_topic}"
        yield from (f"  {text}" for text in _differences(topic))
    listed = {
        "Surprising": [f"{one.topic}: {one.text}" for one in report.surprises],
        "The next sync": list(report.next_changes),
        "Never synced": list(report.never_synced),
        "Worth knowing": [str(note) for note in report.notes],
    }
    for title, texts in listed.items():
        yield from [f"{title}:", *(f"  {text}" for text in texts)] if texts else []


def _differences(topic: TopicDrift) -> Iterator[str]:
    if topic.problem:
        yield topic.problem
        return
    if topic.partitions != topic.remote_partitions:
        yield f"partitions: {topic.partitions} on the source, {topic.remote_partitions} on the target"
    yield from (_setting(config) for config in topic.configs if config.is_drift)
    if topic.acls is not None:
        yield from (f"ACL missing on the target: {acl}" for acl in topic.acls.missing)
        yield from (f"ACL only on the target: {acl}" for acl in topic.acls.only_on_target)


def _setting(config: ConfigDrift) -> str:
    sides = f"{_shown(config.source)} on the source, {_shown(config.target)} on the target"
    deletes = "; MirrorMaker 2 would delete it" if config.mm2_deletes else ""
    return f"{config.key}: {sides} ({config.why}; the next sync: {config.next_sync}{deletes})"


def _shown(value: str | None) -> str:
    return "not set" if value is None else value or '""'

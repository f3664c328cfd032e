"""`crosslog drift FLOW.yaml`: in what remote topics differ from their source topics. Changes nothing."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.commands import command
from jobs.replication.findings.drift import drift_findings
from jobs.replication.flow.file import read_flow_file
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.drift import ConfigDrift, DriftReport, TopicDrift, read_drift


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
    except (InvalidFields, ClusterFault) as error:
        return command.refuse(error, arguments.flow)
    found = [one.to_mapping() for one in drift_findings(flow, report)]
    command.print_answer(
        arguments, lambda: report.to_mapping() | {"findings": found}, lines(report)
    )
    return command.FINDING if report.has_findings else command.OK


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

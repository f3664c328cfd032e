"""`crosslog mirror-config FILE...`: what MirrorMaker 2's configuration means, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from jobs.commands import command
from jobs.replication.mirror_config.export.forms import export
from jobs.replication.mirror_config.facts import Facts
from jobs.replication.mirror_config.lint.rules import lint
from jobs.replication.mirror_config.read.configuration import MirrorConfig, read_config
from jobs.replication.mirror_config.read.text_input import MOST_BYTES, BadInput, InputFile
from jobs.replication.mirror_config.report import report
from jobs.replication.mirror_config.values import (
    Config,
    ExportForm,
    Finding,
    Kind,
    MirrorFlow,
    Pair,
)


def run(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    try:
        facts = _facts(arguments)
        files = [_read(path) for path in arguments.files]
        config, only = _config(files, arguments.flow)
    except BadInput as error:
        return command.say(f"{error.file}: {error}")
    if arguments.export:
        return _export(config, ExportForm(arguments.export), only)
    findings = lint(config, facts, only)
    if arguments.json:
        text = json.dumps(report(config, findings, only))
    else:
        text = "\n".join(lines(config, findings, only, arguments))
    sys.stdout.write(f"{text}\n")
    return command.FINDING if any(finding.is_bad for finding in findings) else command.OK


def _export(config: MirrorConfig, form: ExportForm, only: Pair | None) -> int:
    exported = export(config, form, only)
    sys.stdout.write(exported.text)
    sys.stderr.writelines(f"{note}\n" for note in exported.notes)
    return command.OK if exported.text else command.FINDING


def _read(path: Path) -> InputFile:
    try:
        with path.open("rb") as file:
            return InputFile(str(path), file.read(MOST_BYTES + 1))
    except OSError as error:
        raise BadInput(str(path), f"It cannot be read: {error.strerror}.") from None


def _config(files: Sequence[InputFile], flow: str | None) -> tuple[MirrorConfig, Pair | None]:
    config = read_config(files)
    if flow is None:
        return config, None
    pair = config.find_pair(flow)
    if pair is None:
        known = ", ".join(f"{source}->{target}" for source, target in config.known_pairs()[:10])
        raise BadInput("--flow", f"There is no flow {flow}; there is {known}.")
    return read_config(files, pair), pair


def _facts(arguments: argparse.Namespace) -> Facts:
    brokers = {}
    for alias, text in (_named(one, "--brokers") for one in arguments.brokers):
        if not text.isdecimal() or len(text) > 5 or not int(text):  # noqa: PLR2004  more brokers than any cluster has
            raise BadInput("--brokers", f"{alias}={text}: a number of brokers is wanted.")
        brokers[alias] = int(text)
    topics = {}
    for alias, name in (_named(one, "--topics") for one in arguments.topics):
        content = _read(Path(name)).content.decode("utf-8", "replace")
        topics[alias] = [line.strip() for line in content.splitlines() if line.strip()]
    return Facts(brokers, topics)


def _named(text: str, option: str) -> tuple[str, str]:
    alias, equals, value = text.partition("=")
    if not equals or not alias or not value:
        raise BadInput(option, f"{text!r}: ALIAS=VALUE is wanted.")
    return alias, value


def lines(
    config: MirrorConfig,
    findings: Sequence[Finding],
    only: Pair | None,
    arguments: argparse.Namespace,
) -> Iterator[str]:
    """Yield everything for a person: flows, their effective values with origins, and findings."""
    flows = [flow for flow in config.flows if only in (None, (flow.source, flow.target))]
    for flow in flows if not arguments.lint else ():
        yield from _flow(flow, with_defaults=arguments.defaults)
    for finding in findings:
        yield f"{finding.severity.value}: {finding.text} [{finding.code}]"
        yield f"  at {finding.where}" if finding.where else "  everywhere"
        yield f"  do: {finding.do}"
    bad = sum(finding.is_bad for finding in findings)
    yield f"{bad} finding{'' if bad == 1 else 's'}, {len(findings) - bad} worth knowing."


def _flow(flow: MirrorFlow, *, with_defaults: bool) -> Iterator[str]:
    does = "copies records" if flow.is_enabled else "copies nothing"
    beats = "sends heartbeats" if flow.has_heartbeats else "sends no heartbeats"
    yield f"{flow.name} ({flow.file}): {does}, {beats}"
    for connector in flow.connectors:
        yield f"  {connector.kind.value} {connector.name}"
        yield from _values(connector.config, with_defaults=with_defaults)
    if flow.worker is not None:
        yield "  Connect worker"
        yield from _values(flow.worker, with_defaults=with_defaults)


def _values(config: Config, *, with_defaults: bool) -> Iterator[str]:
    for key in sorted(config):
        value = config[key]
        is_copy = value.rule.startswith("copied to")
        if with_defaults or not (is_copy or value.kind is Kind.DEFAULT):
            yield f"    {key} = {value.value}   <- {value.origin}"

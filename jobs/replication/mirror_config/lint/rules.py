"""Everything that is wrong, or strange, about a configuration of MirrorMaker 2. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobs.replication.mirror_config.facts import NOTHING_KNOWN, Facts
from jobs.replication.mirror_config.lint.choices import lint_choices
from jobs.replication.mirror_config.lint.cycles import lint_cycles
from jobs.replication.mirror_config.lint.flows import (
    lint_bootstrap,
    lint_checkpoints,
    lint_connect_worker,
    lint_converters,
    lint_enabled,
    lint_exactly_once,
    lint_heartbeats,
    lint_location,
    lint_shadowed,
    lint_started,
    lint_twice,
    lint_worker_topics,
)
from jobs.replication.mirror_config.lint.keys import lint_keys
from jobs.replication.mirror_config.lint.names import (
    lint_aliases,
    lint_blanks,
    lint_differing,
    lint_overridden,
    lint_policies,
    lint_same_topics,
    lint_topics,
)
from jobs.replication.mirror_config.lint.values import (
    lint_changed_defaults,
    lint_copies,
    lint_factors,
    lint_patterns,
    lint_providers,
    lint_scalars,
)
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.values import Finding, MirrorFlow, Pair, Severity, pair_name

# Findings about keys that nothing reads.
UNREAD = {
    "cluster-key",
    "no-client",
    "worker-key",
    "misspelled-key",
    "unknown-key",
    "unknown-cluster",
}
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


def lint(
    config: MirrorConfig, facts: Facts = NOTHING_KNOWN, only: Pair | None = None
) -> list[Finding]:
    """Return all findings, the worst first; the same thing is said once.

    `only` leaves out what is about other flows.
    """
    name = None if only is None else pair_name(only)
    said: dict[tuple[str, str, str], Finding] = {}
    for finding in dict.fromkeys(_all(config, facts)):
        if name is not None and finding.flow not in ("", name):
            continue
        # A setting for all flows is wrong in each of them: once is enough, and it is about no single one.
        what = (finding.code, finding.where, _once(finding))
        before = said.setdefault(what, finding)
        if before.flow != finding.flow:
            said[what] = replace(before, flow="")
    unread = {(f.where, f.key) for f in said.values() if f.code in UNREAD}
    # What nothing reads has no wrong value.
    found = [f for f in said.values() if f.code in UNREAD or (f.where, f.key) not in unread]
    return sorted(found, key=lambda finding: _ORDER[finding.severity])


def _once(finding: Finding) -> str:
    is_of_one_key = finding.key and ":" in finding.where and finding.code != "not-an-address"
    return finding.key if is_of_one_key else finding.text


def _all(config: MirrorConfig, facts: Facts) -> Iterator[Finding]:
    yield from config.findings
    for deployment in config.deployments:
        yield from lint_keys(deployment)
        yield from lint_aliases(deployment)
        yield from lint_bootstrap(deployment)
        yield from lint_enabled(deployment)
        yield from lint_providers(deployment)
        yield from lint_started(deployment)
        yield from lint_worker_topics(deployment.flows)
    flows = config.flows
    yield from lint_cycles(flows)
    yield from lint_differing(flows)
    yield from lint_same_topics(flows)
    yield from lint_location(flows)
    yield from lint_twice(flows)
    yield from lint_heartbeats(flows)
    yield from _flows(flows, facts)


def _flows(flows: Iterable[MirrorFlow], facts: Facts) -> Iterator[Finding]:
    for flow in sorted(flows, key=lambda flow: not flow.is_enabled):
        yield from lint_overridden(flow)
        yield from lint_policies(flow)
        yield from lint_topics(flow, facts)
        yield from lint_copies(flow, facts)
        yield from lint_changed_defaults(flow)
        yield from lint_exactly_once(flow)
        yield from lint_shadowed(flow)
        yield from lint_checkpoints(flow)
        yield from lint_choices(flow)
        yield from lint_connect_worker(flow)
        yield from lint_blanks(flow)
        yield from lint_scalars(flow, flow.worker or {})
        for connector in flow.connectors:
            yield from lint_patterns(flow, connector)
            yield from lint_scalars(flow, connector.config)
            yield from lint_factors(flow, connector, facts)
            yield from lint_converters(flow, connector)

"""Flow files: a `ReplicationFlow` written in YAML, read without trusting it."""

from __future__ import annotations

from pathlib import Path

from jobs.cluster.errors import InvalidFields
from jobs.cluster.settings_file import parse_settings, read_text
from jobs.replication.flow.spec import FlowSpec


def read_flow_file(path: Path) -> FlowSpec:
    """Read a flow; raises `InvalidFields`, with the field `file` when it is no readable YAML at all."""
    return parse_flow(read_text(path, "flow"))


def parse_flow(text: str) -> FlowSpec:
    """Read a flow from YAML; raises `InvalidFields` with the line and column or the field at fault."""
    flow = FlowSpec.from_mapping(
        parse_settings(text, "A flow is a mapping with name, source and target.")
    )
    problem = flow.same_cluster_problem()
    if problem:
        raise InvalidFields({"target": problem})
    return flow

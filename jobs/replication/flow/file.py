"""Flow files: a `ReplicationFlow` written in YAML, read without trusting it."""

from __future__ import annotations

from pathlib import Path

from jobs.cluster.errors import InvalidFields
from jobs.cluster.settings_file import parse_settings, read_text
from jobs.replication.flow.spec import FlowSpec

# The flow's name again, where it does what is hardly wanted, see `topics.preview`.
_CONFIRM = "confirm"
_FORM = "A flow is a mapping with name, source and target."


def read_flow_file(path: Path) -> FlowSpec:
    """Read a flow; raises `InvalidFields`, with the field `file` when it is no readable YAML at all."""
    return parse_flow(read_text(path, "flow"))


def read_confirmed(path: Path) -> str:
    """Return what a readable flow file says at `confirm`; "" for nothing."""
    return str(parse_settings(read_text(path, "flow"), _FORM).get(_CONFIRM) or "")


def parse_flow(text: str) -> FlowSpec:
    """Read a flow from YAML; raises `InvalidFields` with the line and column or the field at fault."""
    settings = parse_settings(text, _FORM)
    flow = FlowSpec.from_mapping({k: v for k, v in settings.items() if k != _CONFIRM})
    problem = flow.same_cluster_problem()
    if problem:
        raise InvalidFields({"target": problem})
    return flow

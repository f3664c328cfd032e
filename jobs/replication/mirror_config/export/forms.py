"""Write a configuration of MirrorMaker 2 back, in any of its forms, or as flows of crosslog. Pure.

Secrets are redacted when they are read, so they come out as placeholders; every export says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.replication.mirror_config.export.connect import to_connect
from jobs.replication.mirror_config.export.crosslog import to_crosslog
from jobs.replication.mirror_config.export.properties import to_properties
from jobs.replication.mirror_config.export.strimzi import to_strimzi
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.redaction import REDACTED, has_reference
from jobs.replication.mirror_config.values import (
    ExportForm,
    MirrorFlow,
    Pair,
    address_problem,
    split_list,
)

FORMS = tuple(ExportForm)
_WRITERS = {
    ExportForm.PROPERTIES: to_properties,
    ExportForm.CONNECT: to_connect,
    ExportForm.STRIMZI: to_strimzi,
    ExportForm.CROSSLOG: to_crosslog,
}


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of an export, and what a person must know: what does not carry over, and why."""

    form: ExportForm
    text: str
    notes: tuple[str, ...]


def export(config: MirrorConfig, form: ExportForm, only: Pair | None = None) -> Exported:
    """Return a configuration in another form: the enabled flows, and `only` whether enabled or not."""
    flows = _flows(config, only)
    if not flows:
        return Exported(form, "", ("No flow is enabled, so there is nothing to write.",))
    text, notes = _WRITERS[form](flows, config)
    notes = [*_addresses(flows), *notes]
    if REDACTED in text:
        notes = [
            *notes,
            f"Secrets are not stored: replace each {REDACTED} by the secret, best as a reference.",
        ]
    return Exported(form, text, tuple(dict.fromkeys(notes)))


def _addresses(flows: Sequence[MirrorFlow]) -> list[str]:
    """Return what is no address of a cluster, as a note each."""
    return [
        f"{alias}: the address {address!r} {problem}."
        for flow in flows
        for connector in flow.connectors
        for side, alias in (("source", flow.source), ("target", flow.target))
        if not has_reference(servers := connector.get(f"{side}.cluster.bootstrap.servers"))
        for address in split_list(servers)
        if (problem := address_problem(address)) is not None
    ]


def _flows(config: MirrorConfig, only: Pair | None) -> Sequence[MirrorFlow]:
    """Return the flows to write; of one that is in several files the first."""
    found: dict[Pair, MirrorFlow] = {}
    for flow in config.flows:
        pair = (flow.source, flow.target)
        if pair == only or (only is None and (flow.is_enabled or flow.has_heartbeats)):
            found.setdefault(pair, flow)
    enabled = any(flow.is_enabled for flow in found.values())
    return list(found.values()) if enabled or only is not None else []

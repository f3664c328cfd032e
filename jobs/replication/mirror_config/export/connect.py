"""Connectors of a flow as JSON for Kafka Connect. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from jobs.replication.mirror_config import catalogue
from jobs.replication.mirror_config.read.configuration import MirrorConfig
from jobs.replication.mirror_config.values import Connector, Form, Kind, MirrorFlow

_CONVERTERS = ("key.converter", "value.converter", "header.converter")
# In mm2.properties these count for the worker; a connector elsewhere needs them itself.
_ALWAYS = (
    "enabled",
    "connector.class",
    "source.cluster.alias",
    "target.cluster.alias",
)


def to_connect(flows: Sequence[MirrorFlow], config: MirrorConfig) -> tuple[str, list[str]]:
    """Return a JSON list of connectors, ready for `POST /connectors` one by one, and notes."""
    del config
    chosen = [
        (flow, connector)
        for flow in flows
        for connector in flow.connectors
        if flow.is_enabled or connector.is_true("emit.heartbeats.enabled")
    ]
    named = [
        {"name": connector.name, "config": connector_settings(flow, connector)}
        for flow, connector in chosen
    ]
    notes = [
        "Connectors run in the Connect cluster of their target: post each to the one that it belongs to.",
        *_worker_notes(flows),
    ]
    return json.dumps(named, indent=2), notes


def connector_settings(flow: MirrorFlow, connector: Connector) -> dict[str, str]:
    """Return the settings that a connector needs: everything but its defaults."""
    settings = {
        key: value.value
        for key, value in sorted(connector.config.items())
        if value.kind is not Kind.DEFAULT or key in _ALWAYS
    }
    if flow.form is Form.PROPERTIES:
        settings["name"] = connector.name
    if flow.form is not Form.CONNECT:
        worker = flow.worker or {}
        for key in _CONVERTERS:
            found = worker.get(key)
            settings.setdefault(key, found.value if found else catalogue.BYTE_ARRAY_CONVERTER)
    return settings


def _worker_notes(flows: Sequence[MirrorFlow]) -> list[str]:
    if not any(flow.form is Form.PROPERTIES and flow.worker for flow in flows):
        return []
    return [
        "Settings of MirrorMaker 2's own workers (storage topics, producer.*, exactly once) belong into "
        "the properties of the Connect workers and are not in this file."
    ]

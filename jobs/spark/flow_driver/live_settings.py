"""Which settings of a flow its driver takes over while it runs, without a restart of its tasks.

What tasks work with (names of remote topics, delivery, copy mode, commits, rack, their number) is not among
them: those settings, and connections, need a new run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.replication.flow.spec import FlowSpec

LIVE_SETTINGS = frozenset(
    {
        "topics",
        "topics_exclude",
        "groups",
        "groups_exclude",
        "replication_factor",
        "on_recreated",
        "on_existing",
        "heartbeats",
        "max_bytes_per_s",
        "grow_partitions",
        "sync_configs",
        "delete_target_overrides",
        "config_properties_exclude",
        "sync_acls",
        "emit_checkpoints_interval_s",
        "sync_group_offsets",
        "sync_group_offsets_interval_s",
    }
)


def changed_live(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the live settings of a flow (as `FlowSpec.to_mapping`) that differ, with their new values."""
    return {name: after[name] for name in sorted(LIVE_SETTINGS) if before.get(name) != after[name]}


def needs_restart(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Say whether anything else differs."""
    names = (before.keys() | after.keys()) - LIVE_SETTINGS
    return any(before.get(name) != after.get(name) for name in names)


def with_settings(flow: FlowSpec, settings: Mapping[str, Any]) -> FlowSpec:
    """Return the flow with these settings; raises `InvalidFields`."""
    return FlowSpec.from_mapping({**flow.to_mapping(), **settings})

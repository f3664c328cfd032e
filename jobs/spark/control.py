"""`control.json`: what people ask of a flow while it runs; docs/formats.md describes the file."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.spec import HIGHEST_BYTES_PER_S, LOWEST_BYTES_PER_S, FlowSpec
from jobs.replication.flow.windows import Window, parse_window
from jobs.spark import contract

# What a driver takes over while it runs. What tasks work with (names of remote topics, delivery, copy mode,
# commits, rack, their number, their engine) is not among them: those settings, and connections, need a new
# run.
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


logger = logging.getLogger(__name__)

BULK_LAG = 100_000
HIGHEST_PRIORITY = 10


@dataclass(frozen=True, slots=True)
class Control:
    """What is requested now.

    `paused` and `restart` name topics (`orders`) or partitions (`orders:3`). `limit_bytes_per_s` counts
    only if `has_limit`: otherwise the flow's own setting does. `restart` is done once for each new
    `restart_token`. Outside of `windows`, partitions that were never less than `bulk_lag` records behind
    wait. `settings` are settings of the flow that changed since the run began (`live_settings`).
    """

    paused: frozenset[str] = frozenset()
    priorities: Mapping[str, int] = field(default_factory=dict)
    has_limit: bool = False
    limit_bytes_per_s: int | None = None
    restart_token: str = ""
    restart: frozenset[str] = frozenset()
    windows: tuple[Window, ...] = ()
    bulk_lag: int = BULK_LAG
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Control:
        """Read untrusted JSON values; raises `InvalidFields` naming every bad field."""
        errors = {name: f"{name} is not known here." for name in values if name not in _FIELDS}
        restart = values.get("restart") or {}
        if not isinstance(restart, Mapping):
            errors["restart"], restart = "A token and topics are required.", {}
        control = cls(
            paused=_names(values, "paused", errors),
            priorities=_priorities(values, errors),
            has_limit="max_bytes_per_s" in values,
            limit_bytes_per_s=_limit(values, errors),
            restart_token=str(restart.get("token") or ""),
            restart=_names(restart, "topics", errors),
            windows=_windows(values, errors),
            bulk_lag=_bulk_lag(values, errors),
            settings=_settings(values, errors),
        )
        if errors:
            raise InvalidFields(errors)
        return control


_FIELDS = {"paused", "priorities", "max_bytes_per_s", "restart", "windows", "bulk_lag", "settings"}


def is_named(where: TopicPartition, names: frozenset[str]) -> bool:
    """Return whether a partition, or its whole topic, is among these names."""
    return where.topic in names or f"{where.topic}:{where.partition}" in names


class ControlFile:
    """The newest valid content of a run's `control.json`; `problem` says what is wrong with a newer one."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / contract.CONTROL
        self._seen: tuple[int, int, int] | None = None
        self.control = Control()
        self.problem = ""

    def look(self) -> bool:
        """Read the file if it is another one than last time; returns whether something new is requested."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp
        try:
            found = contract.read_json(self._path)
            values = {} if found is None else found
            self.control = Control.from_mapping(values)
        except InvalidFields as error:
            self.problem = "; ".join(f"{name}: {text}" for name, text in error.errors.items())
        except (ValueError, AttributeError, TypeError, OSError) as error:
            self.problem = f"The control file cannot be read: {error}"
        else:
            self.problem = ""
            return True
        logger.warning("control file is not usable: %s", self.problem)
        return False

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return (found.st_ino, found.st_mtime_ns, found.st_size)


def _names(values: Mapping[str, Any], name: str, errors: dict[str, str]) -> frozenset[str]:
    found = values.get(name) or []
    if isinstance(found, str) or not isinstance(found, Sequence):
        errors[name] = "A list of topics (orders) and partitions (orders:3) is required."
        return frozenset()
    return frozenset(str(one) for one in found)


def _priorities(values: Mapping[str, Any], errors: dict[str, str]) -> dict[str, int]:
    found = values.get("priorities") or {}
    if isinstance(found, Mapping) and all(_is_priority(one) for one in found.values()):
        return {str(topic): priority for topic, priority in found.items()}
    errors["priorities"] = (
        f"Topics with whole numbers from -{HIGHEST_PRIORITY} to {HIGHEST_PRIORITY} are required."
    )
    return {}


def _is_priority(value: object) -> bool:
    return _is_number(value, -HIGHEST_PRIORITY, HIGHEST_PRIORITY)


def _is_number(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _limit(values: Mapping[str, Any], errors: dict[str, str]) -> int | None:
    value = values.get("max_bytes_per_s")
    if value is None or _is_number(value, LOWEST_BYTES_PER_S, HIGHEST_BYTES_PER_S):
        return value
    errors["max_bytes_per_s"] = (
        f"A whole number from {LOWEST_BYTES_PER_S} to {HIGHEST_BYTES_PER_S}, or null for no limit."
    )
    return None


def _bulk_lag(values: Mapping[str, Any], errors: dict[str, str]) -> int:
    value = values.get("bulk_lag")
    if value is None:
        return BULK_LAG
    if _is_number(value, 0, 2**62):
        return int(value)
    errors["bulk_lag"] = "A whole number of records is required."
    return BULK_LAG


def _settings(values: Mapping[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    found = values.get("settings") or {}
    if isinstance(found, Mapping) and found.keys() <= LIVE_SETTINGS:
        return dict(found)
    errors["settings"] = (
        f"Only these can change while a flow runs: {', '.join(sorted(LIVE_SETTINGS))}."
    )
    return {}


def _windows(values: Mapping[str, Any], errors: dict[str, str]) -> tuple[Window, ...]:
    found = []
    for text in sorted(_names(values, "windows", errors)):
        try:
            found.append(parse_window(text))
        except ValueError as error:
            errors["windows"] = str(error)
    return tuple(found)

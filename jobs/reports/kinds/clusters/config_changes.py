"""Config changes of the quorum report, with readable units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from jobs.numbers import format_bytes, format_span_ms
from jobs.reports.document import Column, Table
from jobs.reports.kinds.clusters.quorum_recorded import ClusterQuorum, SettingChange
from jobs.reports.values import ValueType, stamp

_COLUMNS = (
    Column("at", "Time", ValueType.MOMENT),
    Column("type", "Resource type"),
    Column("resource", "Resource"),
    Column("name", "Config"),
    Column("before", "State before"),
    Column("after", "State after", definition="Values of secrets are not recorded."),
)
# Smaller values need no unit, and Long.MAX_VALUE is no duration.
_LEAST_MS, _LEAST_BYTES, _LONGEST = 1000, 1024, 2**53


def config_table(cluster: ClusterQuorum) -> Table:
    """Return the config changes; those that a resource was created with are one row."""
    rows = list(_rows(cluster.configs))
    total = cluster.config_count - len(cluster.configs) + len(rows)
    return Table(
        f"configs-{cluster.alias}",
        "Config changes",
        _COLUMNS,
        tuple(row for row, _ in rows),
        tuple(href for _, href in rows),
        total if total > len(rows) else None,
        "No config changed.",
    )


def _rows(changes: Iterable[SettingChange]) -> Iterator[tuple[tuple[object, ...], str]]:
    """Yield rows with their pages."""
    for key, group in groupby(changes, key=_creation):
        told = list(group)
        if key is not None and len(told) > 1:
            after = ", ".join(f"{one.name}={_value(one.name, one.after)}" for one in told)
            yield _row(told[0], f"{len(told)} configs set", after), told[0].href
            continue
        for one in told:
            yield _row(one, one.name, _value(one.name, one.after)), one.href


def _creation(one: SettingChange) -> tuple[object, ...] | None:
    """Return what the configs of a new resource have in common; None for a change."""
    return None if one.before is not None else (one.at, one.resource_type, one.resource)


def _row(one: SettingChange, name: str, after: str | None) -> tuple[object, ...]:
    before = _value(one.name, one.before)
    resource_type = one.resource_type.replace("_", " ").capitalize()
    return (stamp(one.at), resource_type, one.resource or None, name, before, after)


def _value(name: str, value: str | int | None) -> str | None:
    """Return a value of a config; with readable units where it is in ms or bytes."""
    text = None if value is None else str(value)
    if text is None or not text.isdecimal() or int(text) > _LONGEST:
        return text
    if name.endswith(".ms") and int(text) >= _LEAST_MS:
        return f"{text} ({format_span_ms(int(text))})"
    if name.endswith(".bytes") and int(text) >= _LEAST_BYTES:
        return f"{text} ({format_bytes(int(text))})"
    return text

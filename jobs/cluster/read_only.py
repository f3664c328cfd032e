"""The global read-only switch, at the last moment before something is written to a cluster."""

from __future__ import annotations

import os

from jobs.cluster.errors import ClusterFault, Remedy

VARIABLE = "CROSSLOG_READ_ONLY"
_OFF = frozenset({"", "0", "false", "no", "off"})


class ReadOnly(ClusterFault):
    """Nothing is written to any cluster while the switch is on."""

    code = "read_only"
    remedy = Remedy.FINAL
    hint = f"crosslog runs with {VARIABLE}; without it, the same request is allowed."


def is_read_only() -> bool:
    """Say whether the switch is on; a value that is not clearly off is on."""
    return os.environ.get(VARIABLE, "").strip().lower() not in _OFF


def refuse_when_read_only(cluster: str, doing: str) -> None:
    """Raise `ReadOnly` while the switch is on."""
    if is_read_only():
        raise ReadOnly(f"{doing} was refused: crosslog is read-only", cluster=cluster)

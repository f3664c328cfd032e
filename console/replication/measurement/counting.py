"""What a flow copied since it is known, over all its runs: a run counts from 0, this never falls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

COUNTED = ("records", "bytes", "commits", "retries")


def count_on(counted: Mapping[str, Any], run: str, progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts after another look at a run; pure.

    `total` is what was counted so far, `seen` what the run had told at the last look. Of a run that
    was not seen before everything is new. A partition that left the flow takes its part of `seen` with it
    and nothing from `total`.
    """
    before = counted.get("seen", {}) if counted.get("run") == run else {}
    total = counted.get("total", {})
    seen = {name: sum(row.get(name) or 0 for row in progress["partitions"]) for name in COUNTED}
    return {
        "run": run,
        "seen": seen,
        "total": {
            name: total.get(name, 0) + max(seen[name] - before.get(name, 0), 0) for name in COUNTED
        },
    }

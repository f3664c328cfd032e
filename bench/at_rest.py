"""What the console, a quiet flow and MirrorMaker 2 cost on the demo: `bench/run.py at-rest`.

The demo as `manage.py demo --mirror-maker` starts it, without a visitor: about 190 records/s, exactly once,
beside a MirrorMaker 2 with the same topics. Processor and memory (PSS) by program, in several windows: growth
shows.
"""

import time
from collections.abc import Callable
from pathlib import Path

import watch
from demo_hours import running_demo

from jobs.spark.processes import children_of

Say = Callable[[str], None]
DURATION_S, QUICK_S = 1200.0, 180.0
WARM_S = 120.0
WINDOW_S = 60.0
ENGINE = ("jvm", "driver", "task", "keeper")
BESIDE = ("brokers", "mirror maker", "lab", "manage demo", "other", "java")


def measure(say: Say, *, quick: bool, duration_s: float | None = None) -> dict[str, object]:
    """Run the demo for so long (20 minutes without a wish); returns JSON values."""
    wanted_s = duration_s or (QUICK_S if quick else DURATION_S)
    with running_demo(say, "--mirror-maker", "--without-analyses") as (demo, _, _):
        time.sleep(WARM_S)
        return {"wanted_s": wanted_s, "rows": look(demo.pid, wanted_s, say)}


def look(pid: int, wanted_s: float, say: Say) -> list[dict[str, object]]:
    """Return a row for every window of a minute; windows begin every fifth of the whole."""
    rows: list[dict[str, object]] = []
    began = time.monotonic()
    while True:
        before, at = use(pid), time.monotonic()
        time.sleep(WINDOW_S)
        seconds = time.monotonic() - at
        found = watch.rates(before, use(pid), seconds)
        at_s = round(at - began + WARM_S)
        row = {"at_s": at_s, "sums": sums(found), "programs": found}
        say(f"{at_s} s: {row['sums']}")
        for name, values in found.items():
            say(f"   {name:24} {values['cpu_percent']:6.1f} %  {values['pss_mb']:7.1f} MB")
        rows.append(row)
        if time.monotonic() - began + WINDOW_S > wanted_s:
            return rows
        time.sleep(max(wanted_s / 5 - WINDOW_S, 0.0))


def use(pid: int) -> dict[str, watch.Use]:
    return watch.use_by_role(children_of(pid), role)


def role(pid: int) -> str:
    """Return the role; what belongs to a run of analyses is not the flow."""
    name = watch.role(pid)
    return f"analyses {name}" if name in ENGINE and is_of_analyses(pid) else name


def is_of_analyses(pid: int) -> bool:
    """Return whether a process belongs to the Spark application that answers questions."""
    try:
        return b"engine" in Path(f"/proc/{pid}/cmdline").read_bytes() or "engine" in str(
            Path(f"/proc/{pid}/cwd").readlink()
        )
    except OSError:
        return False


def sums(found: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return the flow, the console and MirrorMaker 2."""
    groups = {
        "flow": [name for name in found if name in ENGINE],
        "console": [
            name
            for name in found
            if name not in {*ENGINE, *BESIDE} and not name.startswith("analyses")
        ],
        "mirror maker": ["mirror maker"],
        "brokers": ["brokers"],
    }
    return {
        group: {
            key: round(sum(found[name][key] for name in names if name in found), 1)
            for key in ("cpu_percent", "pss_mb")
        }
        for group, names in groups.items()
    }

"""Monthly reports over 50 flows and 50,000 partitions, each made in a process of its own, as by the worker.

Time is from the start of that process to its end, with the period before beside the period: Python's start,
Django, reading, drawing, and the files of all formats. Memory is the most that it held at once.
"""

import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pages
import report_clusters
import report_data

MOST_S, MOST_MB = 20, 400
# A process between, because a child has the memory of its parent for a moment, and that counts as its own.
LAUNCHER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
seconds = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, seconds, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


def measure(say: pages.Say, *, quick: bool) -> dict[str, object]:
    """Make a report of each kind; returns JSON values."""
    size = report_data.QUICK if quick else report_data.FULL
    with tempfile.TemporaryDirectory(prefix="crosslog-bench-") as folder:
        pages.set_up(Path(folder))
        now = datetime.now(UTC)
        end = now.replace(hour=0, minute=0, second=0, microsecond=0)
        began = time.monotonic()
        rows = report_data.fill(size, end, now)
        say(f"filled in {time.monotonic() - began:.0f} s: {json.dumps(rows)}")
        found = [made(say, kind, end) for kind in kinds()]
    return {
        "data": {
            "flows": size.flows,
            "partitions": len(report_clusters.CLUSTERS) * size.topics * 50,
            "spans_per_month": size.spans,
            "rows": rows,
            "database": "SQLite (WAL)",
        },
        "limits": {"wall_s": MOST_S, "peak_mb": MOST_MB},
        "rows": found,
    }


def kinds() -> list[str]:
    from jobs.reports.kinds.kind import KINDS

    return list(KINDS)


def made(say: pages.Say, kind: str, end: datetime) -> dict[str, object]:
    """Queue a report of the month, claim it and let a process make it, as the worker does."""
    from console.reports.making import building
    from console.reports.models import ReportRun, RunState

    now = datetime.now(UTC)
    run = queue(kind, end, now)
    if not building.claim(run.pk, now):
        raise RuntimeError(f"The report {kind} could not be claimed.")
    code, wall_s, cpu_s, peak_kb = alone(run.pk)
    run = ReportRun.objects.get(pk=run.pk)
    if code or run.state != RunState.READY:
        raise RuntimeError(f"{kind}: {run.state}, exit code {code}: {run.error}")
    row = {
        "kind": kind,
        "wall_s": round(wall_s, 2),
        "cpu_s": round(cpu_s, 2),
        "peak_mb": round(peak_kb * 1024 / 1_000_000),
        "kilobytes": {name: round(one["bytes"] / 1000, 1) for name, one in run.files.items()},
    }
    row["is_within"] = wall_s <= MOST_S and row["peak_mb"] <= MOST_MB
    say(f"{kind}: {row['wall_s']} s, {row['cpu_s']} s CPU, {row['peak_mb']} MB, {run.headline}")
    return row


def queue(kind: str, end: datetime, now: datetime) -> Any:
    from django.contrib.auth import get_user_model

    from console.reports.actions import queue_run
    from console.reports.models import Report, Trigger
    from jobs.reports.periods import Period
    from jobs.reports.rendering.formats import Format

    report = Report.objects.create(
        name=f"Monthly {kind}",
        kind=kind,
        period="last-month",
        formats=list(Format),
        owner=get_user_model().objects.get(username="bench"),
        created_at=now,
    )
    period = Period(end - report_clusters.MONTH, end, "UTC")
    return queue_run(report, Trigger.PERSON, now, period)


def alone(run_id: Any) -> tuple[int, float, float, int]:
    """Return exit code, seconds, seconds of CPU and the largest RSS (KiB) of the process that makes it."""
    manage = [sys.executable, str(pages.ROOT / "manage.py"), "make_report", str(run_id)]
    answer = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *manage], stdout=subprocess.PIPE, text=True, check=True
    )
    code, wall_s, cpu_s, peak_kb = json.loads(answer.stdout)
    return code, wall_s, cpu_s, peak_kb

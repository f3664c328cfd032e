"""The plan of a redrive: read from the run of a replay plan, kept as one Parquet file."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from hashlib import file_digest
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above
from django.core.files import File

from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.runs import uploads
from console.runs.analyses.downloads import whole_parquet
from console.runs.analyses.results import result_of, tables_in
from console.runs.models import Run
from console.tracing.replays.models import Redrive, remove_plan
from jobs.files import write_whole
from jobs.numbers import format_span_s

KIND = "replay-plan"
LASTS = timedelta(hours=24)
_NEEDED = {
    "topic", "partition", "offset", "action", "target_topic",
    "from_topic", "from_partition", "from_offset", "tier",
}  # fmt: skip


def read_plan(cluster: Cluster, run: Run, now: datetime) -> dict[str, Any]:
    """Return the plan of a run without its file; raises `ActionRefused` for one that cannot be applied."""
    if run.kind != KIND or run.subject != f"cluster:{cluster.pk}":
        text = f"This run is no replay plan of the cluster {cluster.alias}."
        raise ActionRefused("not_a_plan", text)
    document = result_of(run)
    facts = document["facts"]
    age_s = (now - (run.finished_at or now)).total_seconds()
    if age_s > LASTS.total_seconds():
        text = f"The plan is {format_span_s(age_s)} old. Make a new plan: records expire meanwhile."
        raise ActionRefused("plan_stale", text)
    if not facts.get("send", 0) + facts.get("quarantine", 0):
        raise ActionRefused("plan_is_empty", "The plan sends no record.")
    records = next((one for one in document["tables"] if one["name"] == "records"), None)
    if records is None or not tables_in(run)["records"].has_files:
        text = "The records of the plan are not in the archive any more. Make a new plan."
        raise ActionRefused("plan_gone", text)
    needs_admin = bool(document.get("needs_admin"))
    return {"facts": facts, "records": records, "needs_admin": needs_admin}


def keep_plan(redrive: Redrive, run: Run) -> None:
    """Copy the records of a plan into the folder of a redrive; raises `ActionRefused` for a broken file."""
    path = _path(redrive)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole_parquet(tables_in(run)["records"].folder / "records") as file:
            write_whole(path, lambda out: shutil.copyfileobj(file, out))
        redrive.plan["tiers"] = _count_tiers(path)
    except (pa.ArrowInvalid, OSError) as error:
        remove_plan(redrive)
        text = f"The records of the plan cannot be read: {error}. Make a new plan."
        raise ActionRefused("plan_broken", text) from None
    redrive.checksum = _checksum(path)


def give_plan(redrive: Redrive, now: datetime) -> str:
    """Return the name under which a run finds the plan's file; raises `ActionRefused`."""
    path = _path(redrive)
    if not path.is_file():
        text = "The file of the plan is not in the archive any more. Make a new plan."
        raise ActionRefused("plan_gone", text)
    if _checksum(path) != redrive.checksum:
        text = "The file of the plan was changed after the redrive was made. Make a new plan."
        raise ActionRefused("plan_changed", text)
    with path.open("rb") as file:
        return uploads.store("plan", File(file), now).name


def _path(redrive: Redrive) -> Path:
    return redrive.folder / "plan.parquet"


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _count_tiers(path: Path) -> dict[str, int]:
    """Return how many records come from where; raises `ArrowInvalid` for another table."""
    missing = _NEEDED - set(pq.read_schema(path).names)
    if missing:
        raise pa.ArrowInvalid(f"it has no column {', '.join(sorted(missing))}")
    rows = pq.read_table(path, columns=["action", "tier"])
    moved = rows.filter(pc.field("action") != "skip")["tier"]
    return {one["values"] or "unknown": one["counts"] for one in moved.value_counts().to_pylist()}

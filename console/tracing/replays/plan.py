"""The plan of a redrive: read from the run of a replay plan, kept as an upload."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import file_digest
from typing import Any

from django.core.files import File

from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from console.runs import uploads
from console.runs.analyses.downloads import whole_parquet
from console.runs.analyses.results import result_of, tables_in
from console.runs.models import Run
from jobs.cluster.errors import InvalidFields
from jobs.numbers import format_span_s

KIND = "replay-plan"
LASTS = timedelta(hours=24)


def check_age(since: datetime, now: datetime) -> None:
    """Raise `ActionRefused` for a plan that is too old, or for one that was applied too long ago.

    Kafka forgets the positions of what was sent some days after the last transaction: with
    `offsets.retention.minutes` below a day even earlier.
    """
    age_s = (now - since).total_seconds()
    if age_s > LASTS.total_seconds():
        text = f"The plan is {format_span_s(age_s)} old. Make a new plan: records expire meanwhile."
        raise ActionRefused("plan_stale", text)


def read_plan(cluster: Cluster, run: Run, now: datetime) -> dict[str, Any]:
    """Return the plan of a run without its file; raises `ActionRefused` for one that cannot be applied."""
    if run.kind != KIND or run.subject != f"cluster:{cluster.pk}":
        text = f"This run is no replay plan of the cluster {cluster.alias}."
        raise ActionRefused("not_a_plan", text)
    document = result_of(run)
    facts = document["facts"]
    check_age(run.finished_at or now, now)
    if not facts.get("send", 0) + facts.get("quarantine", 0):
        raise ActionRefused("plan_is_empty", "The plan sends no record.")
    records = next((one for one in document["tables"] if one["name"] == "records"), None)
    if records is None or not tables_in(run)["records"].has_files:
        text = "The records of the plan are not in the archive any more. Make a new plan."
        raise ActionRefused("plan_gone", text)
    needs_admin = bool(document.get("needs_admin"))
    return {"facts": facts, "records": records, "needs_admin": needs_admin}


def keep_plan(run: Run, now: datetime) -> tuple[str, dict[str, int]]:
    """Keep the records of a plan as an upload; return its checksum, and how many come from where.

    Raises `ActionRefused` for a broken file.
    """
    # Other pages need no Arrow.
    import pyarrow as pa  # type: ignore[import-untyped] # it has no types
    import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
    import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

    try:
        with whole_parquet(tables_in(run)["records"].folder / "records") as file:
            rows = pq.read_table(file, columns=["action", "tier"])
            kept = uploads.store("plan", File(file), now)
    except (pa.ArrowInvalid, OSError, InvalidFields) as error:
        text = f"The records of the plan cannot be read: {error}. Make a new plan."
        raise ActionRefused("plan_broken", text) from None
    moved = rows.filter(pc.field("action") != "skip")["tier"].value_counts().to_pylist()
    return kept.path.stem, {one["values"] or "unknown": one["counts"] for one in moved}


def find_plan(checksum: str, now: datetime) -> str:
    """Return the name under which a run finds the plan's file; raises `ActionRefused`."""
    found = uploads.use(f"{checksum}.parquet", now)
    if found is None:
        text = "The file of the plan is not in the archive any more. Make a new plan."
        raise ActionRefused("plan_gone", text)
    with found.path.open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != checksum:
            text = "The file of the plan was changed after the redrive was made. Make a new plan."
            raise ActionRefused("plan_changed", text)
    return found.name

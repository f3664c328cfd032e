"""The job `replay`: a folder of archived metadata segments into the history of its partitions, as Parquet."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

from jobs.cache import cache_folder
from jobs.quorum.log.folder import BadFolder, read_folder
from jobs.spark import contract
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.secret import open_context
from jobs.spark.settings import master_of

logger = logging.getLogger(__name__)


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Fold every partition of a metadata log in the order of its offsets, over many tasks.

    Arguments: `folder` (of segments and snapshots, as a node or the follower keeps them), `output` (a folder
    for `part-N.parquet`, of `arrow.SCHEMA`; both where every worker sees them), `tasks` (2). A task
    reads the whole log, which is the smallest part of the work, and folds its share of the partitions: so a
    partition stands whole in one file, in the order of offsets. Result: `rows`, `records`, `gaps` as [from,
    to], `damage` and `anomalies` by kind, `seconds`.
    """
    folder, output = Path(spec.arguments["folder"]), Path(spec.arguments["output"])
    tasks = int(spec.arguments.get("tasks", 2))
    try:
        segments = len(read_folder(folder).segments)
    except BadFolder as refusal:
        return JobResult(Outcome.FAILED, str(refusal))
    contract.write_progress(run_dir, {"segments": segments, "tasks": tasks})
    output.mkdir(parents=True, exist_ok=True)
    context = open_context(master_of(spec))
    try:
        began = time.monotonic()
        shares = [(str(folder), str(output), shard, tasks) for shard in range(tasks)]
        told = context.parallelize(shares, tasks).map(_replay).collect()
        seconds = round(time.monotonic() - began, 2)
    finally:
        context.stop()
    rows = sum(one["rows"] for one in told)
    summary = {**told[0], "rows": rows, "segments": segments, "seconds": seconds}
    summary["anomalies"] = _joined([one["anomalies"] for one in told])
    logger.info("replayed folder=%s rows=%s seconds=%s", folder, rows, seconds)
    return JobResult(Outcome.SUCCEEDED, summary=summary)


def _replay(share: tuple[str, str, int, int]) -> dict[str, Any]:
    """Replay a share of the partitions on a worker; returns JSON values."""
    # Where compiled code is kept must be said before it is made.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
    from jobs.quorum.replay.arrow import write_history
    from jobs.quorum.replay.folder import FolderReplay

    folder, output, shard, shards = share
    found = FolderReplay(read_folder(Path(folder)), shard, shards)
    rows = write_history(Path(output) / f"part-{shard}.parquet", found.histories())
    return {
        "rows": rows,
        "records": found.records,
        "gaps": [list(gap) for gap in found.replay.gaps],
        "damage": [
            f"{one.kind} at byte {one.position}: {one.problem}" for one in found.damage[:100]
        ],
        "anomalies": {str(kind): count for kind, count in found.replay.anomalies.items()},
    }


def _joined(counts: list[dict[str, int]]) -> dict[str, int]:
    """Return the most that a task met of each kind: what is about topics, every task meets."""
    kinds = {kind for one in counts for kind in one}
    return {kind: max(one.get(kind, 0) for one in counts) for kind in sorted(kinds)}

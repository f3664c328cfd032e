"""The job `backfill`: a long history of offset syncs into a flow's archive, in ranges over many tasks."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark import SparkContext

from jobs.archives import ArchiveBusy
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive_manifest import Source
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.backfill import (
    RangeSyncs,
    SyncRange,
    append_ranges,
    begin_backfill,
    ranges_of,
    read_range,
)
from jobs.replication.offset_syncs.follower import SyncsPlace, place_of
from jobs.spark import contract
from jobs.spark.contract import JobResult, JobSpec, Outcome
from jobs.spark.secret import open_context
from jobs.spark.settings import master_of

logger = logging.getLogger(__name__)


def run(spec: JobSpec, run_dir: Path) -> JobResult:
    """Read everything of a flow's offset syncs that its archive does not have yet.

    Arguments: `flow` (a FlowSpec mapping; its `tasks` read at once) and `archive` (the folder, on the
    driver's machine). Result: `syncs`, `ranges`, `seconds`. Stopping it keeps what is appended; the next
    run goes on.
    """
    flow = FlowSpec.from_mapping(spec.arguments["flow"])
    place = place_of(flow)
    if place is None:
        return JobResult(Outcome.FAILED, f"The flow {flow.name} keeps no offset syncs.")
    context = open_context(master_of(spec))
    try:
        with SyncArchive(Path(spec.arguments["archive"])) as archive:
            return _Backfill(context, place, archive, run_dir).run(flow.tasks)
    except ArchiveBusy as busy:
        return JobResult(Outcome.FAILED, f"{busy}: stop the follower for as long as this takes.")
    finally:
        context.stop()


class _Backfill:
    """One backfill at work."""

    def __init__(
        self, context: SparkContext, place: SyncsPlace, archive: SyncArchive, run_dir: Path
    ) -> None:
        self._context = context
        self._place = place
        self._archive = archive
        self._run_dir = run_dir
        self._began = time.monotonic()
        self._syncs = 0

    def run(self, tasks: int) -> JobResult:
        before = self._archive.manifest.sync_count
        start, end = begin_backfill(self._place, self._archive)
        self._syncs = self._archive.manifest.sync_count - before
        source = self._archive.manifest.source
        assert source is not None  # noqa: S101  the beginning told it
        ranges = ranges_of(start, end, tasks)
        done = 0
        for first in range(0, len(ranges), 2 * tasks):
            if (self._run_dir / contract.STOP).exists():
                break
            done += self._append(source, ranges[first : first + 2 * tasks])
        self._archive.tidy(now=True)
        outcome = Outcome.SUCCEEDED if done == len(ranges) else Outcome.CANCELLED
        return JobResult(outcome, summary=self._summary(done, len(ranges)))

    def _append(self, source: Source, ranges: list[SyncRange]) -> int:
        """Read some ranges at once and append them in their order; returns how many."""
        for syncs in append_ranges(self._archive, source, self._read(source, ranges)):
            self._syncs += syncs
        contract.write_progress(self._run_dir, self._summary(ranges[-1].number + 1, None))
        return len(ranges)

    def _read(self, source: Source, ranges: list[SyncRange]) -> Iterator[RangeSyncs]:
        place, topic_id = self._place, source.topic_id
        told = self._context.parallelize(ranges, len(ranges))
        yield from told.map(lambda one: read_range(place, topic_id, one)).collect()

    def _summary(self, done: int, of: int | None) -> dict[str, float | int | None]:
        seconds = round(time.monotonic() - self._began, 2)
        return {"syncs": self._syncs, "ranges": done, "of": of, "seconds": seconds}

"""Keeps the archives of offset syncs of all flows current: one thread per flow.

A thread writes the freshness row of its flow's offset syncs: every few seconds, and when it changes between
succeeding and failing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from console.frame.processes.threads import (
    THREADS,
    SupervisedThreads,
    ThreadDependencies,
    rest_after,
)
from console.replication.flows.models import FlowRound, ReplicationFlow
from console.replication.measurement.store import save_round
from console.replication.translation.translator import archive_of, subject_of
from console.runs import queries as run_queries
from jobs.archives import ArchiveBusy, BadArchive
from jobs.cluster.errors import ClusterFault, InvalidFields, UnknownTopicOrPartition
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.follower import Heard, SyncsPlace, follow, place_of
from jobs.spark.analyses.offsets import backfill

logger = logging.getLogger(__name__)

# Interval of freshness rows while no fault occurs.
WRITE_S = 5.0


# Appends to the archive until the event is set.
Follow = Callable[[SyncsPlace, SyncArchive, threading.Event, Callable[[Heard], None]], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A flow whose offset syncs are followed; restarted when their topic or cluster changes."""

    flow: ReplicationFlow = field(compare=False)
    place: SyncsPlace
    folder: Path


def syncs_follower(
    follow: Follow = follow, threads: ThreadDependencies = THREADS
) -> SupervisedThreads[int, Wanted]:
    """Return the threads of all flows."""
    return SupervisedThreads(
        "offset syncs of flow",
        wanted_flows,
        lambda wanted, stop: FlowFollower(wanted, stop, follow, threads).run(),
        threads,
    )


def wanted_flows() -> Mapping[int, Wanted]:
    """Return the flows whose offset syncs can be followed, by id.

    Settings that do not hold are left out, and archives that a backfill fills now: it has their lock.
    """
    found, filled = {}, run_queries.running_subjects(backfill.KIND)
    for flow in ReplicationFlow.objects.filter(deletion_asked_at=None).select_related(
        "source", "target"
    ):
        try:
            place = place_of(flow.spec())
        except InvalidFields as problem:
            logger.info("offset syncs not followed flow=%s: %s", flow.name, problem)
            continue
        if place is not None and subject_of(flow) not in filled:
            found[flow.pk] = Wanted(flow, place, archive_of(flow))
    return found


@dataclass(slots=True)
class FlowFollower:
    """One flow: opens its archive, follows, and writes how that goes."""

    wanted: Wanted
    stop: threading.Event
    follow: Follow
    ways: ThreadDependencies
    _written: tuple[float, str] | None = None

    def run(self) -> None:
        """Follow until the stop event, or until a fault; raises database errors."""
        try:
            with SyncArchive(self.wanted.folder) as archive:
                self.follow(
                    self.wanted.place, archive, self.stop, lambda heard: self._hear(archive, heard)
                )
        except ClusterFault as fault:
            self._write(fault)
            rest_after(fault, self.stop)
        except (ArchiveBusy, BadArchive, OSError) as error:
            self._write(_archive_fault(self.wanted.flow, error))
        except Exception as error:  # a thread ends here and must say so
            logger.exception("following broke flow=%s", self.wanted.flow.name)
            self._write(_archive_fault(self.wanted.flow, error))

    def _hear(self, archive: SyncArchive, heard: Heard) -> None:
        is_new = archive.manifest.source is None
        if is_new and isinstance(heard.fault, UnknownTopicOrPartition):
            return  # the flow has not begun: nothing is wrong, and nothing is known
        if heard.fault is not None or heard.is_at_end:
            self._write(heard.fault)

    def _write(self, fault: ClusterFault | None) -> None:
        """Write a freshness row; the same news again only after a while."""
        now, news = self.ways.clock(), str(fault or "")
        if self._written and self._written[1] == news and now - self._written[0] < WRITE_S:
            return
        self._written = (now, news)
        self.ways.renew()
        if ReplicationFlow.objects.filter(pk=self.wanted.flow.pk).exists():
            save_round(self.wanted.flow, FlowRound.Noun.SYNCS, datetime.now(UTC), None, fault)


def _archive_fault(flow: ReplicationFlow, error: Exception) -> ClusterFault:
    hint = "It is tried again every few seconds; the log of the follower has more."
    return ClusterFault(f"The archive of offset syncs: {error}", cluster=flow.name, hint=hint)

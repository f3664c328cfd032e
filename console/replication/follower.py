"""Keeps the archives of all flows current: a thread per flow, as the database says which there are.

What a thread hears is written as the freshness row of the flow's offset syncs: when it changes between well
and failing, and every few seconds.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from django.db import close_old_connections

from console.frame.threads import Thread, start_thread
from console.replication.models import FlowRound, ReplicationFlow
from console.replication.save import save_round
from console.replication.translating import archive_of
from jobs.archives import ArchiveBusy, BadArchive
from jobs.cluster.errors import ClusterFault, InvalidFields, UnknownTopicOrPartition
from jobs.replication.archive_writer import SyncArchive
from jobs.replication.run_files import BadRuns
from jobs.replication.sync_follower import Heard, SyncsPlace, follow, place_of

logger = logging.getLogger(__name__)

# How often flows are looked for, how often it is written that all is well, and how long what broke rests.
LOOK_S, WRITE_S, REST_S = 2.0, 5.0, 5.0
STOP_WITHIN_S = 10.0


class FollowDoor(Protocol):
    """What follows a topic into an archive; a fake of it stands in for Kafka in tests."""

    def __call__(
        self,
        place: SyncsPlace,
        archive: SyncArchive,
        stop: threading.Event,
        heard: Callable[[Heard], None],
    ) -> None:
        """Append until told to stop."""
        ...


@dataclass(frozen=True, slots=True)
class Wanted:
    """A flow whose offset syncs are to be followed."""

    flow: ReplicationFlow
    place: SyncsPlace
    folder: Path

    def is_like(self, other: Wanted) -> bool:
        """Return whether following one is following the other."""
        return (self.place, self.folder) == (other.place, other.folder)


class Follower:
    """The threads of all flows."""

    def __init__(
        self,
        door: FollowDoor = follow,
        clock: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None], str], Thread] = start_thread,
        renew: Callable[[], None] = close_old_connections,
    ) -> None:
        self._renew = renew
        self._door = door
        self._clock = clock
        self._start = start
        self._following: dict[int, tuple[Following, Thread]] = {}

    def run(self, stop: threading.Event) -> None:
        """Follow until told to stop, looking for new, changed and removed flows all the time."""
        while not stop.is_set():
            self._renew()
            self.look()
            stop.wait(LOOK_S)
        self.end()

    def look(self) -> None:
        """Make the threads agree with the flows of the database; start again what broke."""
        wanted = wanted_flows()
        for pk, (one, thread) in list(self._following.items()):
            if pk not in wanted or not one.wanted.is_like(wanted[pk]):
                one.stop.set()
            if not thread.is_alive() and (one.stop.is_set() or one.has_rested()):
                del self._following[pk]
        for pk in wanted.keys() - self._following.keys():
            one = Following(wanted[pk], self._door, self._clock, self._renew)
            name = f"offset syncs of flow {pk}"
            self._following[pk] = (one, self._start(one.run, name))

    def end(self) -> None:
        """Tell all threads to end, and wait for them."""
        for one, _ in self._following.values():
            one.stop.set()
        for _, thread in self._following.values():
            thread.join(STOP_WITHIN_S)


def wanted_flows() -> Mapping[int, Wanted]:
    """Return the flows whose offset syncs can be followed, by id; settings that do not hold are left out."""
    found = {}
    for flow in ReplicationFlow.objects.filter(deletion_asked_at=None).select_related(
        "source", "target"
    ):
        try:
            place = place_of(flow.spec())
        except InvalidFields as problem:
            logger.info("offset syncs not followed flow=%s: %s", flow.name, problem)
            continue
        if place is not None:
            found[flow.pk] = Wanted(flow, place, archive_of(flow))
    return found


class Following:
    """One flow: opens its archive, follows, and writes how that goes."""

    def __init__(
        self,
        wanted: Wanted,
        door: FollowDoor,
        clock: Callable[[], float],
        renew: Callable[[], None] = close_old_connections,
    ) -> None:
        self.wanted = wanted
        self._renew = renew
        self.stop = threading.Event()
        self._door = door
        self._clock = clock
        self._ended_at: float | None = None
        self._written: tuple[float, str] | None = None

    def has_rested(self) -> bool:
        """Return whether it ended long enough ago to begin again."""
        return self._ended_at is not None and self._clock() - self._ended_at >= REST_S

    def run(self) -> None:
        """Follow until told to stop, or until it cannot go on; never raises."""
        try:
            with SyncArchive(self.wanted.folder) as archive:
                self._door(
                    self.wanted.place, archive, self.stop, lambda heard: self._hear(archive, heard)
                )
        except (ArchiveBusy, BadArchive, BadRuns, OSError) as error:
            self._write(_archive_fault(self.wanted.flow, error))
        except Exception as error:  # a thread ends here and must say so
            logger.exception("following broke flow=%s", self.wanted.flow.name)
            self._write(_archive_fault(self.wanted.flow, error))
        finally:
            self._renew()
            self._ended_at = self._clock()

    def _hear(self, archive: SyncArchive, heard: Heard) -> None:
        is_new = archive.manifest.source is None
        if is_new and isinstance(heard.fault, UnknownTopicOrPartition):
            return  # the flow has not begun: nothing is wrong, and nothing is known
        if heard.fault is not None or heard.is_at_end:
            self._write(heard.fault)

    def _write(self, fault: ClusterFault | None) -> None:
        """Write a freshness row; the same news again only after a while."""
        now, news = self._clock(), str(fault or "")
        if self._written and self._written[1] == news and now - self._written[0] < WRITE_S:
            return
        self._written = (now, news)
        self._renew()
        if ReplicationFlow.objects.filter(pk=self.wanted.flow.pk).exists():
            save_round(self.wanted.flow, FlowRound.Noun.SYNCS, datetime.now(UTC), None, fault)


def _archive_fault(flow: ReplicationFlow, error: Exception) -> ClusterFault:
    hint = "It is tried again every few seconds; the log of the follower has more."
    return ClusterFault(f"The archive of offset syncs: {error}", cluster=flow.name, hint=hint)

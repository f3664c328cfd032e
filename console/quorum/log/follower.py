"""Follows the metadata logs of all registered clusters, with a thread each.

A thread fetches into the archive, folds new records, and writes rows. The client's event loop never runs
during a database query: it is entered for one request at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.utils import timezone

from console.clusters.models import Cluster
from console.frame.processes.threads import (
    THREADS,
    SupervisedThreads,
    ThreadDependencies,
    rest_after,
)
from console.frame.signals import metadata_stored
from console.quorum.log.archives import Tail, archive_of
from console.quorum.log.log_fold import LogFold
from console.quorum.log.store import save_portion
from console.quorum.models import MetadataLog, Source
from console.quorum.voters.collect import log_of, set_aside
from console.quorum.voters.evaluation import judge_log
from jobs.archives import ArchiveBusy, BadArchive
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.folder import BadFolder
from jobs.quorum.log.follower import Heard, Mode, follow
from jobs.quorum.log.source import MetadataSource

logger = logging.getLogger(__name__)

# How often the follower writes its state while nothing changes.
WRITE_S = 1.0
# How long after a change, and after the start, the signal is repeated for busy receivers.
TELL_S = 5.0
# How often the last day of the log is judged.
JUDGE_S = 20.0
_LOST = (
    "The metadata log cannot be fetched, so history is lost: crosslog polls DescribeQuorum and sees only the "
    "state at each poll. Fetching needs CLUSTER_ACTION on the cluster and a connection to the controllers."
)


# Appends to the archive until the event is set.
Follow = Callable[[MetadataSource, LogArchive, threading.Event, Callable[[Heard], None]], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A cluster whose metadata log is to be followed; restarted when its connection changes."""

    cluster: Cluster = field(compare=False)
    connection: Connection


def metadata_follower(
    follow: Follow = follow, threads: ThreadDependencies = THREADS
) -> SupervisedThreads[int, Wanted]:
    """Return the threads of all clusters."""
    return SupervisedThreads(
        "metadata log of cluster",
        wanted_clusters,
        lambda wanted, stop: ClusterFollower(wanted, stop, follow, threads).run(),
        threads,
    )


def wanted_clusters() -> Mapping[int, Wanted]:
    """Return the clusters to follow, by id; settings that do not hold are left out, their rounds say why."""
    found = {}
    for cluster in Cluster.objects.filter(is_enabled=True):
        try:
            found[cluster.pk] = Wanted(cluster, cluster.connection())
        except InvalidFields as problem:
            logger.info("metadata log not followed cluster=%s: %s", cluster.alias, problem)
    return found


@dataclass(slots=True)
class ClusterFollower:
    """One cluster: opens its archive, follows, folds, and writes rows and its state."""

    wanted: Wanted
    stop: threading.Event
    follow: Follow
    ways: ThreadDependencies
    _written: tuple[float, str] | None = None
    _judged_at: float = -JUDGE_S
    _news_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._news_at = self.ways.clock()

    def run(self) -> None:
        """Follow until stopped, or until an error ends it; raises what the database raises."""
        log: MetadataLog | None = None
        try:
            log = log_of(self.wanted.cluster, timezone.now())
            with LogArchive(archive_of(log)) as archive:
                if self._is_of_another(archive):
                    set_aside(log, timezone.now())
                    return
                writer = LogWriter(log, archive)
                source = MetadataSource(self.wanted.connection)
                told = log
                self.follow(
                    source, archive, self.stop, lambda heard: self._hear(told, writer, heard)
                )
        except (ArchiveBusy, BadArchive, BadFolder, OSError, ClusterFault) as error:
            self._fail(log, error)
            rest_after(error, self.stop)
        except Exception as error:  # a thread ends here and must say so
            logger.exception("following broke cluster=%s", self.wanted.cluster.alias)
            self._fail(log, error)

    def _is_of_another(self, archive: LogArchive) -> bool:
        """Whether another cluster was confirmed at this address."""
        kept, now = archive.manifest.cluster_id, self.wanted.connection.cluster_id
        return bool(kept and now and kept != now)

    def _hear(self, log: MetadataLog, writer: LogWriter, heard: Heard) -> None:
        is_news = writer.write()
        if is_news:
            self._news_at = self.ways.clock()
        if self.ways.clock() - self._news_at < TELL_S:
            # Errors of receivers are logged and do not stop the follower.
            metadata_stored.send_robust(self.__class__, cluster_id=self.wanted.cluster.pk)
        polled = heard.mode is Mode.POLLING
        fault = None if polled and heard.quorum is not None else heard.fault
        if not (is_news or fault or heard.is_at_end or polled):
            return
        now, news = self.ways.clock(), f"{heard.mode} {fault or ''}"
        if self._written and self._written[1] == news and now - self._written[0] < WRITE_S:
            return
        self._written = (now, news)
        self.ways.renew()
        if now - self._judged_at >= JUDGE_S:
            self._judged_at = now
            writer.judge()
        lost = _LOST if polled else ""
        log.source, log.lost = (Source.POLL if polled else Source.FETCH), lost
        if fault is None:
            _save_well(log, timezone.now(), is_at_end=heard.is_at_end)
        else:
            _save_fault(log, fault, timezone.now())

    def _fail(self, log: MetadataLog | None, error: Exception) -> None:
        if log is None:
            return
        hint = "It is tried again every few seconds; the log of the follower has more."
        alias = self.wanted.cluster.alias
        text = f"The archive of the metadata log: {error}"
        fault = error if isinstance(error, ClusterFault) else None
        self.ways.renew()
        _save_fault(log, fault or ClusterFault(text, cluster=alias, hint=hint), timezone.now())


class LogWriter:
    """Folds what an archive got since the last time, and writes it; begins where the rows end."""

    def __init__(self, log: MetadataLog, archive: LogArchive) -> None:
        self._log = log
        self._archive = archive
        self._tail = Tail(archive.folder)
        self._fold = LogFold(log.next_offset)
        self._seen: tuple[int, int] = (0, 0)
        self._begin()

    def write(self) -> bool:
        """Write what is new; return whether anything changed: most records are ticks at rest."""
        manifest = self._archive.manifest
        self._log.high_watermark = manifest.high_watermark
        if self._has_moved():
            self._begin()
            return True
        if manifest.next_offset <= self._fold.next_offset:
            return False
        is_news = False
        for portion in self._fold.take(self._tail.read(manifest)):
            save_portion(self._log, portion, timezone.now())
            is_news = is_news or bool(portion.changes)
        return is_news

    def judge(self) -> None:
        """Write what is wrong by the log itself."""
        judge_log(self._log, self._fold.timeline(self._log.high_watermark), timezone.now())

    def _has_moved(self) -> bool:
        """Whether a snapshot or a loss came in, or a tail was cut: then the folder is read as a whole."""
        manifest = self._archive.manifest
        return (len(manifest.missing), len(manifest.dropped)) != self._seen

    def _begin(self) -> None:
        manifest = self._archive.manifest
        self._log.high_watermark = manifest.high_watermark
        self._seen = (len(manifest.missing), len(manifest.dropped))
        self._fold = LogFold(self._log.next_offset)
        self._tail = Tail(self._archive.folder)
        if manifest.is_empty:
            return
        for portion in self._fold.begin(self._archive.folder):
            save_portion(self._log, portion, timezone.now())
        self._tail.skip(self._archive.manifest)


def _save_well(log: MetadataLog, now: datetime, *, is_at_end: bool) -> None:
    log.heard_at = now
    log.failing_since = None
    log.error_code = log.error = log.hint = ""
    if is_at_end and log.last_at is not None:
        log.behind_ms = max(int((now - log.last_at).total_seconds() * 1000), 0)
    _save(log)


def _save_fault(log: MetadataLog, fault: ClusterFault, now: datetime) -> None:
    log.failing_since = log.failing_since or now
    log.error_code, log.error, log.hint = fault.code, fault.message, fault.hint
    _save(log)
    logger.warning("metadata log not followed cluster=%s error=%s", log.name, fault.message)


_FIELDS = (
    "source",
    "lost",
    "heard_at",
    "failing_since",
    "error_code",
    "error",
    "hint",
    "high_watermark",
    "behind_ms",
)


def _save(log: MetadataLog) -> None:
    """Write the state of following; no row is left of a deleted cluster."""
    values = {name: getattr(log, name) for name in _FIELDS}
    MetadataLog.objects.filter(pk=log.pk).update(**values)

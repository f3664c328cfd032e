"""Follows the metadata log of a live cluster into an archive, less than a second behind, until stopped.

Where the principal may not read the log, or the controllers cannot be reached, the quorum is polled through
the brokers instead, and the loss is reported; the log is retried periodically.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from jobs.cluster.admin.controllers import TIMING, Controllers
from jobs.cluster.admin.quorum import NoQuorum, QuorumDescription, read_quorum
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, NotAuthorized
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.metadata_log import NotAController
from jobs.cluster.protocol.transport.timing import Backoff, Patience, Timing
from jobs.quorum.log.archive import LogArchive
from jobs.quorum.log.polling import LOST, POLL_S, QuorumPoll, QuorumPolls
from jobs.quorum.log.reader import SNAPSHOT_EVERY, LogDiverged, LogReader, Step
from jobs.quorum.log.source import MetadataSource

CLIENT_ID = "metadata-log"
# How often what was appended is made lasting, and how often "everything is read" is written down at rest.
SAVE_S = 0.5
REST_S = 5.0
# How long the log may be out of reach before the quorum is polled; an election takes three seconds.
PATIENCE_S = 15.0
# How long it is polled before the log is tried again: after what may pass by itself, and after all else.
TRY_SOON_S, TRY_LOG_S = 5.0, 60.0
# Also retried: faults that need an operator, who may have granted the right meanwhile.
LONG_PAUSE_S = 10.0
# After so long without any controller their listeners are looked up again.
LEARN_AGAIN_S = 10.0


class Mode(StrEnum):
    """LOG: every record is kept. POLLING: only the state of each DescribeQuorum."""

    LOG = "log"
    POLLING = "polling"


@dataclass(frozen=True, slots=True)
class Heard:
    """How following went after one request.

    `is_at_end`: everything that is committed is in the archive. `step` is what the log brought, None when it
    was not read. `quorum` is set while polling; `is_news`: it differs from the one before. `lost`: for
    people, what polling does not see. `fault`: why the last request failed, or why the log is not read.
    """

    mode: Mode = Mode.LOG
    is_at_end: bool = False
    step: Step | None = None
    quorum: QuorumDescription | None = None
    is_news: bool = False
    lost: tuple[str, ...] = ()
    fault: ClusterFault | None = None


def follow(
    source: MetadataSource,
    archive: LogArchive,
    stop: threading.Event,
    heard: Callable[[Heard], None] = lambda _: None,
    *,
    timing: Timing = TIMING,
) -> None:
    """Append what comes until `stop` is set; faults of the cluster are reported and retried, with pauses.

    `heard` is called after every request, twice a second at rest. Raises OSError when the archive cannot be
    written, `ClusterIdChanged` when it is another cluster's, `SecretMissing` and `TlsFailed` when the
    settings are not usable, and every fault that no further try ends (`Patience`).
    """
    # `heard` may query a database or write a file: it is called between requests, never inside the loop.
    with asyncio.Runner() as loop, _Following(loop, source, archive, timing) as following:
        backoff, saving = Backoff(timing), _Saving(archive)
        patience = Patience(waits_for_people=True, clock=timing.clock)
        while not stop.is_set():
            try:
                told = following.step()
            except ClusterFault as fault:
                heard(Heard(following.mode, fault=fault, lost=following.lost))
                if patience.is_over(fault):
                    raise
                stop.wait(backoff.next_s() if fault.retriable else LONG_PAUSE_S)
                continue
            backoff.reset()
            patience.succeeded()
            saving.after(told)
            heard(told)
            if told.mode is Mode.POLLING:
                stop.wait(POLL_S)


def catch_up(
    source: MetadataSource,
    archive: LogArchive,
    *,
    timing: Timing = TIMING,
    snapshot_every: int = SNAPSHOT_EVERY,
) -> int:
    """Append everything that is committed now; returns how many batches that were.

    The quorum's newest snapshot is taken, too, when there are `snapshot_every` records since the last.
    Raises `ClusterFault`, also where following would poll instead.
    """
    with (
        asyncio.Runner() as loop,
        _Following(loop, source, archive, timing, snapshot_every) as following,
    ):
        count = 0
        while True:
            told = following.read_log()
            count += told.step.batches if told.step else 0
            if told.is_at_end:
                archive.save()
                return count


class _Following:
    """The connections of one follower, and the loop that they live in, entered for one request at a time."""

    def __init__(
        self,
        loop: asyncio.Runner,
        source: MetadataSource,
        archive: LogArchive,
        timing: Timing,
        snapshot_every: int = SNAPSHOT_EVERY,
    ) -> None:
        self._loop = loop
        self._timing = timing
        self._source = source
        self._archive = archive
        _refuse_another_cluster(source, archive)
        self._brokers = RawCluster(source.connection, client_id=CLIENT_ID, timing=timing)
        self._controllers = self._door()
        self._reader = LogReader(self._controllers, archive, snapshot_every=snapshot_every)
        self._poll = QuorumPoll(self._brokers)
        self._polls = QuorumPolls(archive.folder)
        self._learned_at_s: float | None = None
        self._why_not: ClusterFault | None = None
        self._log_at_s = 0.0
        self._read_at_s = timing.clock()

    @property
    def mode(self) -> Mode:
        """How the cluster is followed now."""
        return Mode.LOG if self._why_not is None else Mode.POLLING

    @property
    def lost(self) -> tuple[str, ...]:
        """What is not seen in this mode."""
        return () if self._why_not is None else LOST

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failed: object) -> None:
        self._loop.run(self._close())

    def step(self) -> Heard:
        """Return what the next request brought; raises `ClusterFault`."""
        if self._why_not is None or self._timing.clock() >= self._log_at_s:
            try:
                told = self.read_log()
            except ClusterFault as fault:
                if not self._is_left_to_polling(fault):
                    raise
                self._why_not = fault
                pause_s = TRY_SOON_S if fault.retriable else TRY_LOG_S
                self._log_at_s = self._timing.clock() + pause_s
            else:
                self._why_not, self._read_at_s = None, self._timing.clock()
                return told
        return self._loop.run(self._ask_quorum())

    def _is_left_to_polling(self, fault: ClusterFault) -> bool:
        """Return whether the brokers may still tell something that the log does not tell (any more)."""
        if isinstance(fault, LogDiverged | ClusterIdChanged | NoQuorum):
            return False
        return not fault.retriable or self._timing.clock() - self._read_at_s > PATIENCE_S

    def read_log(self) -> Heard:
        """Return what the log brought; raises `ClusterFault`, `NotAuthorized` and `NotAController` too."""
        step = self._loop.run(self._read())
        return Heard(Mode.LOG, step.is_at_end, step)

    async def _read(self) -> Step:
        if self._learned_at_s is None and self._source.controllers is None:
            await self._learn()
        try:
            step = await self._reader.step()
        except ClusterFault as fault:
            self._doubt(fault)
            raise
        self._learned_at_s = self._timing.clock()
        return step

    def _doubt(self, fault: ClusterFault) -> None:
        """Ask again where the controllers are when none was found for a while: all may have moved."""
        age_s = self._timing.clock() - (self._learned_at_s or 0.0)
        if isinstance(fault, NotAController) or age_s > LEARN_AGAIN_S:
            self._learned_at_s = None

    async def _learn(self) -> None:
        """Ask where the controllers listen; without an answer the bootstrap servers may be controllers."""
        try:
            quorum = await read_quorum(self._brokers, budget_s=POLL_S)
        except NotAuthorized:
            quorum = None
        if quorum is not None:
            self._controllers.learn(quorum.nodes)
        self._learned_at_s = self._timing.clock()

    async def _ask_quorum(self) -> Heard:
        quorum, brokers = await self._poll.ask()
        is_news = self._polls.keep(quorum, brokers)
        return Heard(Mode.POLLING, quorum=quorum, is_news=is_news, lost=LOST, fault=self._why_not)

    def _door(self) -> Controllers:
        source = self._source
        connection = source.controllers or source.connection
        # Controllers refuse a request for another cluster than the registered one or the archive's.
        known = connection.cluster_id or source.connection.cluster_id
        known = known or self._archive.manifest.cluster_id
        self._archive.note(cluster_id=known)
        return Controllers(
            replace(connection, cluster_id=known), client_id=CLIENT_ID, timing=self._timing
        )

    async def _close(self) -> None:
        await self._controllers.__aexit__(None, None, None)
        await self._brokers.__aexit__(None, None, None)


def _refuse_another_cluster(source: MetadataSource, archive: LogArchive) -> None:
    found, known = source.connection.cluster_id, archive.manifest.cluster_id
    if found and known and found != known:
        raise ClusterIdChanged(
            f"The archive {archive.folder} is that of cluster {known}, and this is cluster {found}.",
            cluster=source.connection.alias,
            hint="Choose another folder for the archive of this cluster.",
        )


class _Saving:
    """Makes the archive lasting soon after news, and now and then at rest."""

    def __init__(self, archive: LogArchive) -> None:
        self._archive = archive
        self._saved_s = 0.0
        self._is_due = False

    def after(self, told: Heard) -> None:
        """Save when it is time for that; a crash in between loses nothing that cannot be read again."""
        step = told.step
        if step is not None and (step.batches or step.missing or step.dropped_from is not None):
            self._is_due = True
        age_s = time.monotonic() - self._saved_s
        if age_s > (SAVE_S if self._is_due else REST_S):
            self._archive.save()
            self._saved_s, self._is_due = time.monotonic(), False

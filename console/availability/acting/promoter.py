"""`manage.py promote`: keeps promoted standby brokers in the ISR, and carries out promotions.

It writes a heartbeat for every enabled cluster. For a cluster that needs it two threads run: a `StandbyLoop`,
which sends broker heartbeats and continues from memory while the database is unavailable; and a worker, which
checks every second, and acts while it holds the lease. Any number of these processes may run for the same
clusters.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from django.db import DatabaseError, close_old_connections
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from console.availability.acting.door import KAFKA, ActingDoor
from console.availability.acting.models import HeldPromotion, StandbySign
from console.availability.acting.store import DatabaseStore
from console.availability.acting.work import Worker
from console.availability.advice.models import PromotionRound
from console.availability.advice.round import ADVICE, Advised, take_round
from console.availability.drills.models import LIVE_DRILLS, Drill
from console.availability.drills.work import KAFKA_DRILLS, DrillDoor, carry_out_drills
from console.availability.promotion import queries
from console.availability.promotion.models import (
    BUSY,
    LIVE,
    ActionState,
    Mode,
    PromotionAction,
    PromotionPolicy,
)
from console.availability.promotion.policies import PolicyLookup
from console.availability.what_if.cluster_models import cluster_model
from console.clusters.models import Cluster
from console.frame.processes import liveness
from console.frame.processes.threads import Thread, start_thread
from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.loop import StandbyLoop
from jobs.availability.acting.standby.promotions import LoopHeartbeat, Phase, StoreAway
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields

logger = logging.getLogger(__name__)

# Interval of the search for clusters, of the checks of one cluster, and the pause after a crash.
LOOK_S, TICK_S, REST_S = 2.0, 1.0, 5.0
# Heartbeat interval of a promoter without work at a cluster; after 15 s without one it counts as silent.
IDLE_S = 5.0
STOP_WITHIN_S = 10.0
LEASE_MS = 6_000
# Placements, racks and settings change rarely; the ISR is queried with every check.
MODEL_S = 10.0


class KeepLoop(Protocol):
    """Keeps promotions until it is stopped; tests replace it by a fake."""

    def __call__(self, cluster: Cluster, loop_id: str, stop: threading.Event) -> None:
        """Send heartbeats; raises what makes the connection unusable."""
        ...


def keep(cluster: Cluster, loop_id: str, stop: threading.Event) -> None:
    """Run the loop with the database as its store."""
    store = DatabaseStore(cluster.pk)
    StandbyLoop(ClusterConnections(cluster.connection()), store, loop_id=loop_id).run(stop)


@dataclass(frozen=True, slots=True)
class PromoterDependencies:
    """Access of a promoter to clusters and the clock; tests replace it."""

    door: ActingDoor = KAFKA
    drills: DrillDoor = KAFKA_DRILLS
    keep: KeepLoop = keep
    clock: Callable[[], datetime] = timezone.now
    monotonic: Callable[[], float] = time.monotonic
    start: Callable[[Callable[[], None], str], Thread] = start_thread
    renew: Callable[[], None] = close_old_connections


def own_name() -> str:
    """Return a name that no other running promoter has."""
    return f"{socket.gethostname()}:{os.getpid()}"[:100]


class Promoter:
    """The threads of all clusters that need one."""

    def __init__(self, name: str = "", ways: PromoterDependencies | None = None) -> None:
        self.name = name or own_name()
        self._ways = ways or PromoterDependencies()
        self._kept: dict[int, ClusterPromoter] = {}
        self._idle_at: float | None = None

    def run(self, stop: threading.Event) -> None:
        """Run until stopped; survives an unavailable database."""
        while not stop.is_set():
            try:
                self._ways.renew()
                self.look()
            except DatabaseError as error:
                logger.warning("the database is away, what is promoted stays so: %s", error)
            liveness.sign()
            stop.wait(LOOK_S)
        self.end()

    def look(self) -> None:
        """Start and stop threads as clusters need them; restart crashed ones."""
        wanted = wanted_clusters()
        for pk, one in list(self._kept.items()):
            is_other = pk not in wanted or not one.is_of(wanted[pk])
            if is_other:
                one.stop()
            if one.has_ended():
                del self._kept[pk]
        for pk in wanted.keys() - self._kept.keys():
            self._kept[pk] = ClusterPromoter(wanted[pk], self.name, self._ways)
        for one in self._kept.values():
            one.keep_on()
        now = self._ways.monotonic()
        if self._idle_at is None or now - self._idle_at >= IDLE_S:
            self._idle_at = now
            for cluster in Cluster.objects.filter(is_enabled=True).exclude(pk__in=self._kept):
                self._report_idle(cluster)

    def _report_idle(self, cluster: Cluster) -> None:
        """Send the heartbeat of this promoter to clusters without work."""
        now = self._ways.clock()
        report_promoter(cluster, self.name, now)
        sign = LoopHeartbeat(self.name, int(now.timestamp() * 1000), {})
        with contextlib.suppress(StoreAway):
            DatabaseStore(cluster.pk, self._ways.renew).sign(sign)

    def end(self) -> None:
        """Stop all threads and wait; held promotions stay in the database for other promoters."""
        for one in self._kept.values():
            one.stop()
        for one in self._kept.values():
            one.join(STOP_WITHIN_S)
        if all(one.has_ended() for one in self._kept.values()):
            self._forget_signs()

    def _forget_signs(self) -> None:
        """Remove the heartbeat: a promoter after a clean shutdown is not silent."""
        with contextlib.suppress(DatabaseError):
            StandbySign.objects.filter(loop_id=self.name).delete()
            PromotionRound.objects.filter(promoter=self.name).update(promoter_seen_at=None)


def report_promoter(cluster: Cluster, name: str, at: datetime, problem: str = "") -> None:
    """Store the heartbeat of a promoter for a cluster, and its problem."""
    told = {"promoter": name, "promoter_seen_at": at, "promoter_problem": problem}
    PromotionRound.objects.update_or_create(cluster=cluster, defaults=told)


def wanted_clusters() -> dict[int, Cluster]:
    """Return the enabled clusters with a policy, a live action, a held broker, or a drill."""
    here = {"cluster": OuterRef("pk")}
    held = HeldPromotion.objects.filter(**here).exclude(phase=Phase.ENDED.value)
    needs = (
        Q(Exists(PromotionPolicy.objects.filter(**here)))
        | Q(Exists(PromotionAction.objects.filter(**here, state__in=LIVE)))
        | Q(Exists(held))
        | Q(Exists(Drill.objects.filter(**here, state__in=LIVE_DRILLS)))
    )
    return {row.pk: row for row in Cluster.objects.filter(needs, is_enabled=True)}


@dataclass(slots=True)
class _Part:
    """One thread and when it ended."""

    run: Callable[[], None]
    label: str
    thread: Thread | None = None
    ended_at: float | None = None


class ClusterPromoter:
    """One cluster: its loop, its worker, its drills, and the promoter's heartbeat."""

    def __init__(self, cluster: Cluster, name: str, ways: PromoterDependencies) -> None:
        self.cluster = cluster
        self._name, self._ways = name, ways
        self._stop = threading.Event()
        self._connection = _connection_of(cluster)
        self._problem = ""
        self._looking = PromotionCycle(cluster, name, ways)
        self._parts = (
            _Part(self._keep, f"standby brokers of cluster {cluster.pk}"),
            _Part(self._work, f"promotions of cluster {cluster.pk}"),
            _Part(self._drill, f"drills of cluster {cluster.pk}"),
        )

    def is_of(self, cluster: Cluster) -> bool:
        """Return whether the connection settings are unchanged."""
        return self._connection == _connection_of(cluster)

    def keep_on(self) -> None:
        """Start stopped threads after a pause, and send the heartbeat."""
        for part in self._parts:
            is_resting = (
                part.ended_at is not None and self._ways.monotonic() - part.ended_at < REST_S
            )
            is_alive = part.thread is not None and part.thread.is_alive()
            if not (is_alive or is_resting or self._stop.is_set()):
                part.thread = self._ways.start(partial(self._run, part), part.label)
        report_promoter(self.cluster, self._name, self._ways.clock(), self._problem)

    def stop(self) -> None:
        """Stop all threads."""
        self._stop.set()

    def has_ended(self) -> bool:
        """Return whether all threads have ended."""
        alive = [one for one in self._parts if one.thread is not None and one.thread.is_alive()]
        return self._stop.is_set() and not alive

    def join(self, timeout: float) -> None:
        for part in self._parts:
            if part.thread is not None:
                part.thread.join(timeout)

    def _run(self, part: _Part) -> None:
        try:
            part.run()
        except Exception as error:  # a thread ends here and must say so
            logger.exception("%s broke", part.label)
            self._problem = f"{part.label}: {error}"
        finally:
            self._ways.renew()
            part.ended_at = self._ways.monotonic()

    def _keep(self) -> None:
        self._ways.keep(self.cluster, self._name, self._stop)

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._ways.renew()
                self._looking.tick()
                self._problem = ""
            except DatabaseError as error:
                self._problem = f"The database did not answer: {error}"
                logger.warning("cluster=%s no action starts: %s", self.cluster.alias, error)
            self._stop.wait(TICK_S)

    def _drill(self) -> None:
        """Run drills in a separate thread, so that promotions do not wait for them."""
        ways = self._ways
        while not self._stop.is_set():
            try:
                ways.renew()
                carry_out_drills(self.cluster, self._name, ways.clock, ways.drills)
            except DatabaseError as error:
                logger.warning("cluster=%s no drill is begun: %s", self.cluster.alias, error)
            self._stop.wait(LOOK_S)


@dataclass(slots=True)
class PromotionCycle:
    """Checks one cluster periodically: evaluates the rules, and acts while it holds the lease."""

    cluster: Cluster
    name: str
    ways: PromoterDependencies
    _model: ClusterModel | None = None
    _model_at: float = field(default=0.0)

    def tick(self) -> int:
        """Check once; return how many actions changed their state. Raises `DatabaseError`."""
        now_ms = int(self.ways.clock().timestamp() * 1000)
        store = DatabaseStore(self.cluster.pk, self.ways.renew)
        if store.take_lease(self.name, now_ms, LEASE_MS) is None:
            return 0
        advised = self._advise()
        return Worker(self.cluster, self.name, self.ways.door, self.ways.clock).work(advised)

    def _advise(self) -> Advised | None:
        """Take a round if an action may be due; else the scheduled rounds are enough."""
        acting = [row for row in queries.list_policies(self.cluster) if row.mode == Mode.ACT]
        busy = PromotionAction.objects.filter(
            cluster=self.cluster, state__in=[*BUSY, ActionState.VERIFIED]
        )
        if not acting and not busy.exists():
            return None
        # Scheduled rounds skip a cluster while this process checks it.
        rounds = PromotionRound.objects.filter(cluster=self.cluster)
        rounds.update(claimed_until=self.ways.clock() + ADVICE.claim)
        model = self._known_model()
        topics = {one.topic for one in model.partitions}
        lookup = PolicyLookup(acting)
        polled = {topic for topic in topics if lookup.of(topic) is not None}
        return take_round(self.cluster, self.ways.clock, self.ways.door, model, polled)

    def _known_model(self) -> ClusterModel:
        now = self.ways.monotonic()
        if self._model is None or now - self._model_at > MODEL_S:
            self._model, self._model_at = cluster_model(self.cluster), now
        return self._model


def _connection_of(cluster: Cluster) -> Connection | None:
    try:
        return cluster.connection()
    except InvalidFields as problem:
        logger.info("not looked after cluster=%s: %s", cluster.alias, problem)
        return None

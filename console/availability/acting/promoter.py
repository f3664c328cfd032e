"""`manage.py promote`: keeps promoted standby brokers in the ISR, and carries out promotions.

It writes a heartbeat for every enabled cluster. For a cluster that needs it three threads run: a
`StandbyLoop`, which sends broker heartbeats and continues from memory while the database is unavailable; a
worker, which checks every second, and acts while it holds the lease; and one for drills. Any number of these
processes may run for the same clusters.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import DatabaseError
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
from console.frame.processes.threads import THREADS, SupervisedThreads, ThreadDependencies
from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.standby.loop import StandbyLoop
from jobs.availability.acting.standby.promotions import LoopHeartbeat, Phase, StoreAway
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields

logger = logging.getLogger(__name__)

# Interval of the search for clusters, and of the checks of one cluster.
LOOK_S, TICK_S = 2.0, 1.0
# Heartbeat interval of a promoter without work at a cluster; after 15 s without one it counts as silent.
IDLE_S = 5.0
LEASE_MS = 6_000
# Placements, racks and settings change rarely; the ISR is queried with every check.
MODEL_S = 10.0


def keep(cluster: Cluster, loop_id: str, stop: threading.Event) -> None:
    """Run the loop with the database as its store."""
    store = DatabaseStore(cluster.pk)
    StandbyLoop(ClusterConnections(cluster.connection()), store, loop_id=loop_id).run(stop)


@dataclass(frozen=True, slots=True)
class PromoterDependencies:
    """Access of a promoter to clusters, threads and the clock; tests replace it."""

    door: ActingDoor = KAFKA
    drills: DrillDoor = KAFKA_DRILLS
    # Keeps promotions until the event is set; raises what makes the connection unusable.
    keep: Callable[[Cluster, str, threading.Event], None] = keep
    clock: Callable[[], datetime] = timezone.now
    threads: ThreadDependencies = THREADS


@dataclass(frozen=True, slots=True)
class Wanted:
    """A thread of a cluster; restarted when the connection changes."""

    label: str
    run: Callable[[Cluster, threading.Event], None]
    cluster: Cluster = field(compare=False)
    connection: Connection | None


class Promoter(SupervisedThreads[str, Wanted]):
    """The threads of all clusters that need them, and the heartbeat of this process for every cluster."""

    def __init__(self, name: str = "", ways: PromoterDependencies | None = None) -> None:
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"[:100]
        self._ways = ways or PromoterDependencies()
        self._busy: dict[int, Cluster] = {}
        self._problems: dict[int, str] = {}
        self._idle_at: float | None = None
        super().__init__(
            "promoter", self._find_threads, self._run_thread, self._ways.threads, LOOK_S
        )

    def look(self) -> None:
        """Start and stop threads as clusters need them; restart crashed ones; send heartbeats."""
        super().look()
        for pk, cluster in self._busy.items():
            report_promoter(cluster, self.name, self._ways.clock(), self._problems.get(pk, ""))
        now = self._ways.threads.clock()
        if self._idle_at is None or now - self._idle_at >= IDLE_S:
            self._idle_at = now
            for cluster in Cluster.objects.filter(is_enabled=True).exclude(pk__in=self._busy):
                self._report_idle(cluster)

    def end(self) -> bool:
        """Stop all threads and wait; held promotions stay in the database for other promoters.

        After a clean end the heartbeat is removed, so that this promoter does not count as silent.
        """
        has_ended = super().end()
        if has_ended:
            with contextlib.suppress(DatabaseError):
                StandbySign.objects.filter(loop_id=self.name).delete()
                PromotionRound.objects.filter(promoter=self.name).update(promoter_seen_at=None)
        return has_ended

    def _find_threads(self) -> dict[str, Wanted]:
        """Return the threads to run: drills have one, so that promotions do not wait for them."""
        parts = (
            ("standby brokers", self._keep),
            ("promotions", self._work),
            ("drills", self._drill),
        )
        self._busy, found = wanted_clusters(), {}
        for cluster in self._busy.values():
            connection = _connection_of(cluster)
            for what, run in parts:
                label = f"{what} of cluster {cluster.pk}"
                found[label] = Wanted(label, run, cluster, connection)
        return found

    def _report_idle(self, cluster: Cluster) -> None:
        """Send the heartbeat of this promoter to clusters without work."""
        now = self._ways.clock()
        report_promoter(cluster, self.name, now)
        sign = LoopHeartbeat(self.name, int(now.timestamp() * 1000), {})
        with contextlib.suppress(StoreAway):
            DatabaseStore(cluster.pk, self._ways.threads.renew).sign(sign)

    def _run_thread(self, wanted: Wanted, stop: threading.Event) -> None:
        try:
            wanted.run(wanted.cluster, stop)
        except Exception as error:
            self._problems[wanted.cluster.pk] = f"{wanted.label}: {error}"
            raise

    def _keep(self, cluster: Cluster, stop: threading.Event) -> None:
        self._ways.keep(cluster, self.name, stop)

    def _work(self, cluster: Cluster, stop: threading.Event) -> None:
        cycle = PromotionCycle(cluster, self.name, self._ways)
        while not stop.is_set():
            try:
                self._ways.threads.renew()
                cycle.tick()
                self._problems[cluster.pk] = ""
            except DatabaseError as error:
                self._problems[cluster.pk] = f"The database did not answer: {error}"
                logger.warning("cluster=%s no action starts: %s", cluster.alias, error)
            stop.wait(TICK_S)

    def _drill(self, cluster: Cluster, stop: threading.Event) -> None:
        ways = self._ways
        while not stop.is_set():
            try:
                ways.threads.renew()
                carry_out_drills(cluster, self.name, ways.clock, ways.drills)
            except DatabaseError as error:
                logger.warning("cluster=%s no drill is begun: %s", cluster.alias, error)
            stop.wait(LOOK_S)


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
        store = DatabaseStore(self.cluster.pk, self.ways.threads.renew)
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
        now = self.ways.threads.clock()
        if self._model is None or now - self._model_at > MODEL_S:
            self._model, self._model_at = cluster_model(self.cluster), now
        return self._model


def _connection_of(cluster: Cluster) -> Connection | None:
    try:
        return cluster.connection()
    except InvalidFields as problem:
        logger.info("not looked after cluster=%s: %s", cluster.alias, problem)
        return None

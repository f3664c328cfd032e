"""Drills are carried out by `manage.py promote`, actor by actor, claimed by a conditional update."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce

from console.accounts.asked_rights import for_trail, refuse_ended
from console.accounts.audit import audit
from console.accounts.models import Outcome
from console.availability.acting.store import DatabaseStore, is_stopped
from console.availability.drills.models import (
    LIVE_DRILLS,
    Drill,
    DrillKind,
    DrillResult,
    DrillState,
)
from console.availability.promotion.audit import subject_of
from console.availability.promotion.models import Actor
from console.availability.promotion.queries import list_policies
from console.availability.what_if.cluster_models import cluster_model
from console.clusters.models import Cluster
from console.frame.claims import ending, owned, release, renew, take_one
from console.frame.errors import ActionRefused
from console.frame.security.read_only import is_read_only
from jobs.availability.drills import (
    DrillMeasure,
    DrillShape,
    Heard,
    drill,
    remove_topics,
    shape_of,
)
from jobs.availability.promotion.actors.kinds import ActorKind
from jobs.availability.promotion.expected_times import act_span
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.cluster.connection import Connection

Clock = Callable[[], datetime]
# Longer than one actor takes; renewed before each.
CLAIM = timedelta(seconds=180)
MOST_LINES = 200


@dataclass(frozen=True, slots=True)
class DrillDoor:
    """Operations of drills on a cluster."""

    drill: Callable[[Connection, DatabaseStore, str, DrillShape, Heard], DrillMeasure] = drill
    remove: Callable[[Connection, Collection[str]], None] = remove_topics


KAFKA_DRILLS = DrillDoor()


def carry_out_drills(cluster: Cluster, name: str, clock: Clock, door: DrillDoor) -> int:
    """Carry out the queued drill of a cluster, if any; return how many ended."""
    live = Drill.objects.filter(cluster=cluster, kind=DrillKind.PROMOTION, state__in=LIVE_DRILLS)
    now = clock()
    begun = Coalesce(F("started_at"), Value(now))
    changes = {"state": DrillState.RUNNING, "claimed_by": name, "started_at": begun}
    row = take_one(live, now, CLAIM, **changes)
    if row is None:
        return 0
    _Work(row, clock, door).finish()
    return 1


def standbys_of(cluster: Cluster, model: ClusterModel) -> set[int]:
    """Return the fenced standby brokers of the cluster, and those of policies."""
    seen = {b for b, one in model.brokers.items() if one.is_standby}
    named = list_policies(cluster).filter(actor=Actor.FENCED_STANDBY)
    return seen.union(*named.values_list("allowed_brokers", flat=True))


def topic_of(drill: Drill, kind: ActorKind) -> str:
    """Return the name of the test topic for one actor."""
    return f"{drill.topic}-{kind.value.replace('_', '-')}"


class _Work:
    """Carries out one drill, or the rest of it."""

    def __init__(self, row: Drill, clock: Clock, door: DrillDoor) -> None:
        self._row, self._clock, self._door = row, clock, door

    def finish(self) -> None:
        """Try every method without a result, and end the drill."""
        kinds = [ActorKind(word) for word in self._row.actors]
        with ending(self._row, "trying", self._fail):
            self._refuse()
            self._remove(kinds)
            self._try(kinds)

    def _refuse(self) -> None:
        if is_read_only():
            raise ActionRefused("read_only", "crosslog is read-only: no drill starts.")
        if is_stopped(self._row.cluster_id):
            raise ActionRefused("stopped", "The stop switch is on: no drill starts.")
        person, asked = self._row.requested_by, self._row.asked_with
        refuse_ended(person, asked, "operate", [self._row.cluster_id])

    def _remove(self, kinds: list[ActorKind]) -> None:
        """Delete the topics that a crashed process left."""
        if self._row.log:
            topics = [topic_of(self._row, kind) for kind in kinds]
            self._door.remove(self._row.cluster.connection(), topics)

    def _try(self, kinds: list[ActorKind]) -> None:
        cluster = self._row.cluster
        model = cluster_model(cluster)
        standbys = standbys_of(cluster, model)
        done = set(self._row.results.values_list("actor", flat=True))
        for kind in kinds:
            if kind.value not in done:
                renew(self._row, self._clock(), CLAIM)
                self._refuse()
                shape = shape_of(kind, model, standbys, self._broker_for(kind))
                self._save(shape, self._measure(shape))
        bad = self._row.results.filter(is_good=False).count()
        good = self._row.results.filter(is_good=True).count()
        state = (
            DrillState.SUCCEEDED if not bad else DrillState.PARTIAL if good else DrillState.FAILED
        )
        self._end(state, "")

    def _broker_for(self, kind: ActorKind) -> int | None:
        return None if kind is ActorKind.REASSIGN_TO_SPARE else self._row.broker

    def _measure(self, shape: DrillShape) -> DrillMeasure:
        if shape.why_not:
            self._say(f"{shape.kind.words}: {shape.why_not}")
            return DrillMeasure(shape.kind, is_good=False, sentence=shape.why_not)
        self._say(f"{shape.kind.words}: started.")
        cluster, topic = self._row.cluster, topic_of(self._row, shape.kind)
        store = DatabaseStore(cluster.pk)
        return self._door.drill(cluster.connection(), store, topic, shape, self._say)

    def _save(self, shape: DrillShape, measure: DrillMeasure) -> None:
        span = act_span(shape.kind)
        DrillResult.objects.get_or_create(
            drill=self._row,
            subject=shape.kind.words,
            defaults={
                "actor": shape.kind.value,
                "is_good": measure.is_good,
                "promote_ms": measure.promote_ms,
                "revert_ms": measure.revert_ms,
                "expected_ms": None if span is None else round(span.most_ms),
                "seen": dict(measure.seen),
                "message": measure.sentence,
                "at": self._clock(),
            },
        )

    def _say(self, sentence: str) -> None:
        self._row.log = [*self._row.log, [self._clock().isoformat(), sentence]][-MOST_LINES:]
        owned(self._row).update(log=self._row.log)

    def _fail(self, problem: str, error: Exception) -> None:
        is_refused = isinstance(error, ActionRefused)
        self._end(DrillState.REFUSED if is_refused else DrillState.FAILED, problem)

    def _end(self, state: DrillState, problem: str) -> None:
        now = self._clock()
        good = self._row.results.filter(is_good=True).count()
        values = {
            "state": state,
            "error": problem,
            "finished_at": now,
            "topic_removed_at": now if state is not DrillState.FAILED or not problem else None,
            "good_count": good,
            "bad_count": self._row.results.count() - good,
        }
        bad = {DrillState.REFUSED: Outcome.REFUSED, DrillState.FAILED: Outcome.FAILED}
        with transaction.atomic():
            if release(self._row, **values):
                audit(
                    "drill.ended",
                    subject_of(self._row),
                    cluster=self._row.cluster.alias,
                    after={"drill": str(self._row.pk), "state": state, "problem": problem},
                    outcome=bad.get(state, Outcome.DONE),
                    by=for_trail(self._row.requested_by, self._row.asked_with),
                )

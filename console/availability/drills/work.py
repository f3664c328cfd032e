"""Drills are carried out by `manage.py promote`, actor by actor, claimed by a conditional update."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from console.accounts.asked_rights import for_trail, why_ended
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
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

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
    free = Q(claimed_until=None) | Q(claimed_until__lt=clock())
    rows = Drill.objects.filter(free, cluster=cluster, kind=DrillKind.PROMOTION)
    for row in rows.filter(state__in=LIVE_DRILLS).select_related("cluster", "requested_by"):
        if _claim(row, name, clock()):
            _Work(row, name, clock, door).finish()
            return 1
    return 0


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

    def __init__(self, row: Drill, name: str, clock: Clock, door: DrillDoor) -> None:
        self._row, self._name = row, name
        self._clock, self._door = clock, door

    def finish(self) -> None:
        """Try every method without a result, and end the drill."""
        kinds = [ActorKind(word) for word in self._row.actors]
        try:
            self._refuse()
            self._remove(kinds)
            self._try(kinds)
        except (ClusterFault, InvalidFields) as fault:
            self._end(DrillState.FAILED, f"{fault} {getattr(fault, 'hint', '')}".strip())
        except _Refused as refusal:
            self._end(DrillState.REFUSED, str(refusal))
        except Exception:
            logger.exception("drill crashed drill_id=%s", self._row.pk)
            self._end(DrillState.FAILED, own_fault("trying"))

    def _refuse(self) -> None:
        if is_read_only():
            raise _Refused("crosslog is read-only: no drill starts.")
        if is_stopped(self._row.cluster_id):
            raise _Refused("The stop switch is on: no drill starts.")
        person, asked = self._row.requested_by, self._row.asked_with
        why = why_ended(person, asked, "operate", [self._row.cluster_id])
        if why:
            raise _Refused(why)

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
                self._renew()
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
        Drill.objects.filter(pk=self._row.pk).update(log=self._row.log)

    def _renew(self) -> None:
        mine = Drill.objects.filter(pk=self._row.pk, claimed_by=self._name)
        if not mine.update(claimed_until=self._clock() + CLAIM):
            raise _Refused("Another promoter process took over this drill.")

    def _end(self, state: DrillState, problem: str) -> None:
        now = self._clock()
        good = self._row.results.filter(is_good=True).count()
        live = Drill.objects.filter(pk=self._row.pk, state__in=LIVE_DRILLS, claimed_by=self._name)
        values = {
            "state": state,
            "error": problem,
            "finished_at": now,
            "topic_removed_at": now if state is not DrillState.FAILED or not problem else None,
            "claimed_until": None,
            "good_count": good,
            "bad_count": self._row.results.count() - good,
        }
        bad = {DrillState.REFUSED: Outcome.REFUSED, DrillState.FAILED: Outcome.FAILED}
        with transaction.atomic():
            if live.update(**values):
                audit(
                    "drill.ended",
                    subject_of(self._row),
                    cluster=self._row.cluster.alias,
                    after={"drill": str(self._row.pk), "state": state, "problem": problem},
                    outcome=bad.get(state, Outcome.DONE),
                    by=for_trail(self._row.requested_by, self._row.asked_with),
                )


class _Refused(Exception):
    """The drill is not done."""


def _claim(row: Drill, name: str, now: datetime) -> bool:
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    rows = Drill.objects.filter(free, pk=row.pk, state__in=LIVE_DRILLS)
    is_ours = rows.update(
        state=DrillState.RUNNING,
        claimed_by=name,
        claimed_until=now + CLAIM,
        started_at=row.started_at or now,
    )
    row.state = DrillState.RUNNING
    return bool(is_ours)

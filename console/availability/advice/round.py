"""The advisor's round: rows and live state -> rules -> advice, events and findings.

The clock's task does it for every cluster; `manage.py promote` does the same, more often, where policies act.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from console.availability.acting.door import KAFKA, ActingDoor, undo_of
from console.availability.acting.partition_epochs import with_partition_epochs
from console.availability.acting.store import is_stopped
from console.availability.advice import leader_balance
from console.availability.advice.evaluation import (
    Evaluation,
    Remembered,
    Standing,
    concerned,
    evaluate,
    is_quiet,
    remembered_of,
    to_document,
)
from console.availability.advice.findings import LIFE, LoopFacts, found_in
from console.availability.advice.models import PromotionRound
from console.availability.advice.store import (
    save_advice,
    save_events,
    unwanted_subjects,
    wanted_actions,
)
from console.availability.promotion import queries
from console.availability.promotion.catalogue import told_actors
from console.availability.promotion.models import Actor, PromotionAction, PromotionPolicy
from console.availability.what_if.cluster_models import cluster_model
from console.availability.what_if.snapshot_reader import seen_at
from console.clusters.models import Cluster
from console.clusters.queries import enabled_clusters
from console.findings import store
from console.findings.check_settings import read_settings
from console.frame.rounds import Clock, Outcome, Rounds
from jobs.availability.promotion.advice import Advice
from jobs.availability.promotion.live_state import LiveState, Place
from jobs.availability.what_if.model.cluster import ClusterModel, PartitionModel
from jobs.cluster.admin.partitions import PartitionReplicas

# What a cluster can use is looked at again after so long.
ACTORS_FOR = timedelta(seconds=60)
# Of more topics only the first are looked at closely in one round.
MOST_TOPICS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised(Outcome):
    """The result of a round: the judgement, live actions to promote, and actions to revert."""

    judged: Evaluation
    looked: LiveState
    actions: Sequence[PromotionAction]
    wanted: dict[str, Advice]
    unwanted: dict[str, Advice]


ADVICE: Rounds[Cluster, PromotionRound] = Rounds(
    name="advice",
    rows=PromotionRound,
    of="cluster",
    subjects=enabled_clusters,
    every_s=lambda: settings.PROMOTION_INTERVAL_S,
    activity="judging observers",
    # Longer than a round can take.
    claim=timedelta(seconds=45),
)


def advise_cluster(cluster_id: int, clock: Clock = timezone.now, door: ActingDoor = KAFKA) -> bool:
    """Take the round of one cluster when it is due; return whether it was. Never raises a fault."""
    return ADVICE.run(
        cluster_id,
        lambda cluster, row: _take(cluster, row, clock, door, cluster_model(cluster)),
        clock,
    )


def take_round(
    cluster: Cluster,
    clock: Clock,
    door: ActingDoor,
    model: ClusterModel | None = None,
    polled: Collection[str] = (),
) -> Advised | None:
    """Take a round that is claimed; `polled` are topics that are looked at in any case.

    None, with the reason written, when it failed. Never raises a fault.
    """
    row = ADVICE.row_of(cluster)
    outcome = ADVICE.carry_out(
        row,
        cluster.alias,
        lambda: _take(cluster, row, clock, door, model or cluster_model(cluster), polled),
        clock,
    )
    return outcome if isinstance(outcome, Advised) else None


def standing_of(actions: Collection[PromotionAction]) -> Standing:
    """Return the changes by crosslog that are not reverted yet, as input of the rules."""
    added: dict[tuple[str, int], tuple[int, ...]] = {}
    relaxed: dict[str, int] = {}
    for row in actions:
        if row.actor == Actor.RELAX_MIN_ISR:
            before = undo_of(row).get("effective")
            if before is not None:
                relaxed[row.topic] = int(before)
        elif row.actor != Actor.FENCED_STANDBY and row.broker is not None:
            added[row.topic, row.partition] = (row.broker,)
    return Standing(added, relaxed)


def loop_facts(cluster: Cluster, now: datetime) -> LoopFacts:
    """Return which loops live, and what they hold."""
    since_ms = int((now - timedelta(seconds=queries.SILENT_S)).timestamp() * 1000)
    living = queries.list_loops(cluster).filter(at_ms__gte=since_ms)
    held = queries.list_held(cluster).values_list("broker", flat=True)
    return LoopFacts(
        tuple(living.values_list("loop_id", flat=True)), tuple(held), is_stopped(cluster.pk)
    )


def _take(
    cluster: Cluster,
    row: PromotionRound,
    clock: Clock,
    door: ActingDoor,
    model: ClusterModel,
    polled: Collection[str] = (),
) -> Advised:
    remembered = remembered_of(row.memory)
    policies = list(queries.list_policies(cluster))
    standing_rows = list(queries.standing_actions(cluster))
    standing = standing_of(standing_rows)
    known = _Known(model, policies, remembered, standing, frozenset(polled))
    looked = _look(cluster, clock, door, known)
    now = clock()
    judged = evaluate(model, policies, looked, remembered, int(now.timestamp() * 1000), standing)
    wanted = wanted_actions(judged)
    actions = save_advice(cluster, wanted, now)
    save_events(cluster, judged.events)
    rows = {one.pk: one for one in (*actions, *standing_rows, *_failed(cluster, now))}
    found = found_in(judged, rows.values(), loop_facts(cluster, now), policies)
    unbalanced = leader_balance.watched(model, row.memory, seen_at(cluster))
    every = [*found, *leader_balance.found_of(cluster, unbalanced)]
    store.save(cluster, LIFE, read_settings().in_force(every, cluster=cluster.pk), now)
    return Advised(
        values={
            "judged_count": judged.considered_count,
            "observers_in_isr": judged.observers_in_isr,
            "memory": to_document(judged.remembered) | leader_balance.to_document(unbalanced),
            **_actors(cluster, model, row, now),
        },
        judged=judged,
        looked=looked,
        actions=actions,
        wanted={one.subject: one.advice for one in wanted},
        unwanted=unwanted_subjects(judged),
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """What decides which topics are looked at closely."""

    model: ClusterModel
    policies: Sequence[PromotionPolicy]
    remembered: Remembered
    standing: Standing
    polled: frozenset[str]

    def topics(self, partitions: Mapping[Place, PartitionModel]) -> set[str]:
        """Return the topics of what is missing or promoted by the rows, and those that are polled."""
        loud = {place[0] for place, one in partitions.items() if not is_quiet(one)}
        loud |= {place[0] for place in (*self.remembered.tracked, *self.standing.added)}
        there = {one.topic for one in self.model.partitions}
        return (loud | {*self.standing.relaxed} | self.polled) & there


def _look(cluster: Cluster, clock: Clock, door: ActingDoor, known: _Known) -> LiveState:
    """Look closely at what is missing or promoted by the rows; without any of it no request is sent."""
    found = concerned(known.model, known.policies, known.standing)
    partitions = {(one.topic, one.partition): one for one in found}
    wanted = known.topics(partitions)
    if not wanted:
        return LiveState(int(clock().timestamp() * 1000))

    def is_interesting(seen: PartitionReplicas) -> bool:
        one: PartitionModel | None = partitions.get((seen.topic, seen.partition))
        if one is None:
            return False
        is_standing = known.standing.concerns((seen.topic, seen.partition))
        now = replace(one, isr=seen.isr, leader=seen.leader, replicas=seen.replicas)
        return is_standing or not is_quiet(now)

    looked = door.look(cluster, sorted(wanted)[:MOST_TOPICS], is_interesting)
    return with_partition_epochs(cluster, looked, clock())


def _failed(cluster: Cluster, now: datetime) -> list[PromotionAction]:
    since = now - timedelta(hours=1)
    return list(queries.list_actions(cluster).filter(state="failed", ended_at__gte=since)[:20])


def _actors(
    cluster: Cluster, model: ClusterModel, row: PromotionRound, now: datetime
) -> dict[str, object]:
    """Return the catalogue of actors when the one that is kept is old; they change rarely."""
    if row.actors_at is not None and now - row.actors_at < ACTORS_FOR:
        return {}
    return {"actors": told_actors(cluster, model), "actors_at": now}

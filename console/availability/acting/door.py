"""Access to the cluster for promotions: live state and actors; tests replace it by a fake."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from console.availability.acting.store import DatabaseStore
from console.availability.promotion.models import Actor as ActorWord
from console.availability.promotion.models import PromotionAction
from console.clusters.models import Cluster
from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.acting.fenced_standby import FencedStandby
from jobs.availability.acting.held_back_replica import HeldBackReplica
from jobs.availability.acting.plans import Actor
from jobs.availability.acting.reassign_to_spare import ReassignToSpare
from jobs.availability.acting.relaxed_min_isr import MIN_ISR, RelaxMinIsr
from jobs.availability.promotion.live_state import Interest, LiveState, read_live_state
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields

# A copy may take long; after this time it counts as failed.
ACT_WITHIN_S = 90.0


def read_state(cluster: Cluster, topics: Collection[str], is_interesting: Interest) -> LiveState:
    """Return the live state of some topics."""
    return read_live_state(
        cluster.connection(), topics, lambda: timezone.now().timestamp(), is_interesting
    )


def actor_of(action: PromotionAction) -> Actor:
    """Return the actor of an action, with the values of the action and its policy."""
    return _MAKERS[ActorWord(action.actor)](action, ClusterConnections(action.cluster.connection()))


def undo_of(action: PromotionAction) -> dict[str, Any]:
    """Return the input of a revert: from the outcome, else from the evidence of the dry run."""
    undo: dict[str, Any] = action.outcome.get("undo") or {}
    seen: Mapping[str, Any] = action.plan.get("evidence") or {}
    if not undo and action.actor == ActorWord.RELAX_MIN_ISR and "min_insync_replicas" in seen:
        least = seen["min_insync_replicas"]
        return {MIN_ISR: str(least) if seen.get("is_own") else None, "effective": least}
    return undo


def _standby(action: PromotionAction, doors: ClusterConnections) -> Actor:
    topics = {place.rpartition("-")[0] for place in action.because}
    return FencedStandby(
        doors,
        _broker(action),
        DatabaseStore(action.cluster_id),
        asked_by=action.asked_by.get_username() if action.asked_by else "policy",
        why=action.revert_reason or action.why,
        topics=tuple(sorted(topics)),
    )


def _held_back(action: PromotionAction, doors: ClusterConnections) -> Actor:
    return HeldBackReplica(doors, action.topic, _broker(action))


def _spare(action: PromotionAction, doors: ClusterConnections) -> Actor:
    where = TopicPartition(action.topic, action.partition)
    return ReassignToSpare(doors, (where,), _broker(action), within_s=ACT_WITHIN_S)


def _relaxed(action: PromotionAction, doors: ClusterConnections) -> Actor:
    return RelaxMinIsr(doors, action.topic, max(len(action.evidence.get("isr") or ()), 1))


def _broker(action: PromotionAction) -> int:
    if action.broker is None:
        raise InvalidFields({"broker": "This action names no broker."})
    return action.broker


_MAKERS: Mapping[ActorWord, Callable[[PromotionAction, ClusterConnections], Actor]] = {
    ActorWord.FENCED_STANDBY: _standby,
    ActorWord.HELD_BACK_REPLICA: _held_back,
    ActorWord.REASSIGN_TO_SPARE: _spare,
    ActorWord.RELAX_MIN_ISR: _relaxed,
}


@dataclass(frozen=True, slots=True)
class ActingDoor:
    """Operations of promotions on a cluster; each raises `ClusterFault` and `InvalidFields`."""

    look: Callable[[Cluster, Collection[str], Interest], LiveState] = read_state
    actor: Callable[[PromotionAction], Actor] = actor_of


KAFKA = ActingDoor()

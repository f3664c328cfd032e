"""Reads of promotions: policies, actions, stop switches, loops, events and findings."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from console.availability.acting.models import HeldPromotion, StandbyEvent, StandbySign
from console.availability.advice.models import (
    ObserverEvent,
    PromotionRound,
)
from console.availability.promotion.models import (
    LIVE,
    STANDING,
    PromotionAction,
    PromotionPolicy,
    PromotionStop,
)
from console.clusters.models import Cluster
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.frame.security.access import clusters_of, visible
from jobs.availability.acting.standby.promotions import Phase

# A loop says every two seconds that it lives.
SILENT_S = 15


@dataclass(frozen=True, slots=True)
class StopState:
    """The stop switches of a cluster: its own and that of all; None: never turned."""

    of_all: PromotionStop | None
    own: PromotionStop | None

    @property
    def is_on(self) -> bool:
        """Whether no promotion starts."""
        return any(stop is not None and stop.is_on for stop in (self.of_all, self.own))


def where_policy(pk: int | str = 0, **_: Any) -> Collection[int]:
    """Return the cluster of a policy, for the guard of routes."""
    return clusters_of(PromotionPolicy.objects.filter(pk=pk))


def where_action(pk: str | UUID, **_: Any) -> Collection[int]:
    """Return the cluster of an action, for the guard of routes."""
    return clusters_of(PromotionAction.objects.filter(pk=pk))


def list_policies(cluster: Cluster | None = None) -> QuerySet[PromotionPolicy]:
    """Return policies with their cluster and people, of one cluster when it is named."""
    rows = PromotionPolicy.objects.select_related("cluster", "opted_in_by", "created_by")
    return rows if cluster is None else rows.filter(cluster=cluster)


def list_actions(cluster: Cluster | None = None) -> QuerySet[PromotionAction]:
    """Return actions, the newest first, of one cluster when it is named."""
    rows = PromotionAction.objects.select_related("cluster", "policy", "asked_by", "reverted_by")
    rows = rows.order_by("-advised_at", "pk")
    return rows if cluster is None else rows.filter(cluster=cluster)


def live_actions(cluster: Cluster | None = None) -> QuerySet[PromotionAction]:
    """Return live actions: advice, actions in progress, promotions in effect."""
    return list_actions(cluster).filter(state__in=LIVE)


def get_action(user: Any, action_id: UUID, alias: str = "") -> PromotionAction | None:
    """Return an action that a person may see, of a cluster when it is named; None when there is none."""
    rows = list_actions().filter(pk=action_id)
    return visible(user, rows.filter(cluster__alias=alias) if alias else rows).first()


def get_policy(user: Any, pk: int, alias: str = "") -> PromotionPolicy | None:
    """Return a policy that a person may see, of a cluster when it is named; None when there is none."""
    rows = list_policies().filter(pk=pk)
    return visible(user, rows.filter(cluster__alias=alias) if alias else rows).first()


def stop_state(cluster: Cluster | None) -> StopState:
    """Return the state of the stop switch, for a cluster or for all; one query."""
    scopes = [PromotionStop.ALL, *([str(cluster.pk)] if cluster else [])]
    rows = PromotionStop.objects.filter(scope__in=scopes).select_related("by")
    found = {row.scope: row for row in rows}
    return StopState(found.get(PromotionStop.ALL), found.get(scopes[-1]) if cluster else None)


def list_stops() -> QuerySet[PromotionStop]:
    """Return every stop switch that was ever turned."""
    return PromotionStop.objects.select_related("cluster", "by").order_by("pk")


def list_loops(cluster: Cluster) -> QuerySet[StandbySign]:
    """Return the loops that were ever heard of at a cluster within the last hour."""
    return StandbySign.objects.filter(cluster=cluster).order_by("loop_id")


def living_loops(now: datetime) -> QuerySet[StandbySign]:
    """Return the loops of all clusters that were heard of lately."""
    since_ms = int((now - timedelta(seconds=SILENT_S)).timestamp() * 1000)
    return StandbySign.objects.filter(at_ms__gte=since_ms)


def list_rounds() -> QuerySet[PromotionRound]:
    """Return the last rounds of all clusters."""
    return PromotionRound.objects.select_related("cluster").defer("memory", "actors")


def is_promoter_running(cluster: Cluster, now: datetime) -> bool:
    """Return whether a `manage.py promote` serves a cluster."""
    since = now - timedelta(seconds=SILENT_S)
    return PromotionRound.objects.filter(cluster=cluster, promoter_seen_at__gte=since).exists()


def list_held(cluster: Cluster | None = None) -> QuerySet[HeldPromotion]:
    """Return the brokers that are kept promoted, or are being reverted."""
    rows = HeldPromotion.objects.select_related("cluster").exclude(phase=Phase.ENDED.value)
    return rows if cluster is None else rows.filter(cluster=cluster)


def list_loop_events(cluster: Cluster) -> QuerySet[StandbyEvent]:
    """Return the events of standby loops, newest first."""
    return StandbyEvent.objects.filter(cluster=cluster)


def list_events(cluster: Cluster | None = None) -> QuerySet[ObserverEvent]:
    """Return observer events, newest first, of one cluster when it is named."""
    rows = ObserverEvent.objects.select_related("cluster").order_by("-at", "-pk")
    return rows if cluster is None else rows.filter(cluster=cluster)


def round_of(cluster: Cluster) -> PromotionRound | None:
    """Return the last round of the advisor; None before the first."""
    return PromotionRound.objects.filter(cluster=cluster).first()


def freshness_of(row: PromotionRound | None) -> Freshness:
    """Return how old the advice is; no query."""
    return freshness_of_round("Promotion", row, settings.PROMOTION_INTERVAL_S)


def actions_in_cooldown(cluster: Cluster, now: datetime) -> QuerySet[PromotionAction]:
    """Return the actions that were verified or ended within a day: cooldowns reckon from them."""
    since = now - timedelta(days=1)
    ended = Q(ended_at__gte=since) | Q(verified_at__gte=since)
    return PromotionAction.objects.filter(ended, cluster=cluster).exclude(acted_at=None)


def standing_actions(cluster: Cluster | None = None) -> QuerySet[PromotionAction]:
    """Return the promotions that are not reverted yet."""
    return list_actions(cluster).filter(state__in=STANDING)


def moment(ms: int | None) -> datetime | None:
    """Return Unix milliseconds as a time; None stays None."""
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)

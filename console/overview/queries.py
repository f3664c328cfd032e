"""The data of the overview, in a constant number of queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, When

from console.availability.status import queries as availability
from console.clusters import queries as clusters_queries
from console.findings.incidents.models import Incident, State
from console.findings.incidents.queries import list_incidents, open_incidents
from console.findings.queries import above_notices, open_findings
from console.frame.pages.freshness import Freshness, oldest
from console.frame.security.access import can, visible
from console.overview.picture import Picture, draw
from console.quorum import queries as quorum
from console.replication.flows import queries as replication
from console.replication.flows.queries import Flow
from jobs.severity import Severity

# Worst first; the page of incidents has all of them.
MOST_INCIDENTS, MOST_RESOLVED = 12, 10
RESOLVED_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Card:
    """An open incident."""

    incident: Incident
    can_acknowledge: bool


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of everything at `now`; `clusters` are (cluster with status, its stalest part).

    `counts` are of open incidents: `all`, `critical`, `acknowledged`, `silenced`, `resolved` (in the last
    24 h); `finding_count` is of open findings that are no mere notices.
    """

    now: datetime
    cards: list[Card]
    counts: Mapping[str, int]
    resolved: list[Incident]
    finding_count: int
    clusters: list[tuple[Any, Freshness | None]]
    flows: list[Flow]
    picture: Picture

    @property
    def more(self) -> int:
        """How many open incidents have no card."""
        return self.counts["all"] - len(self.cards)


def read_overview(now: datetime, user: Any) -> Overview:
    """Return open and resolved incidents, the clusters, the flows and their map."""
    clusters = clusters_queries.with_status(
        visible(user, clusters_queries.list_clusters().order_by("alias")), now
    )
    flows = replication.with_status(visible(user, replication.list_flows().order_by("name")), now)
    replication.with_recent_lag(flows, now)
    replication.crashed(flows, now)
    replication.answers.with_answers(flows)
    keys = [cluster.pk for cluster in clusters]
    brokers = clusters_queries.list_brokers().select_related(None).filter(cluster__in=keys)
    is_live, leaders = availability.is_live_of(keys), quorum.leaders(keys)
    since = now - RESOLVED_FOR
    resolved = visible(user, list_incidents().filter(ended_at__gte=since))
    return Overview(
        now,
        [_card(one, user) for one in _worst(user)],
        _counts(user, since),
        list(resolved.order_by("-ended_at", "-pk")[:MOST_RESOLVED]),
        visible(user, above_notices(open_findings())).count(),
        [(cluster, oldest(cluster.freshness)) for cluster in clusters],
        flows,
        draw(clusters, flows, brokers, is_live, leaders),
    )


def _worst(user: Any) -> QuerySet[Incident]:
    """Return the incidents that have a card: the worst first, then the newest, silenced ones last."""
    is_silenced = Case(When(state=State.SILENCED, then=1), default=0)
    order = is_silenced, "-rank", "-opened_at", "-pk"
    # Sorted without their texts and scopes, which are many.
    worst = (
        visible(user, Incident.objects.all())
        .filter(ended_at=None)
        .order_by(*order)[:MOST_INCIDENTS]
    )
    return open_incidents().filter(pk__in=worst.values("pk")).order_by(*order)


def _card(incident: Incident, user: Any) -> Card:
    may = can(user, "operate", *(one.pk for one in incident.clusters))
    return Card(incident, may and incident.state == State.OPEN)


def _counts(user: Any, since: datetime) -> dict[str, int]:
    found = (
        visible(user, Incident.objects.all())
        .filter(ended_at=None)
        .aggregate(
            all=Count("pk"),
            critical=Count("pk", filter=Q(rank=Severity.CRITICAL.rank)),
            acknowledged=Count("pk", filter=Q(state=State.ACKNOWLEDGED)),
            silenced=Count("pk", filter=Q(state=State.SILENCED)),
        )
    )
    return found | {
        "resolved": visible(user, Incident.objects.all()).filter(ended_at__gte=since).count()
    }

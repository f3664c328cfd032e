"""The call and the command that answer the same question as a page of promotions, drills and runbooks."""

from __future__ import annotations

from urllib.parse import urlencode

from console.availability.drills.models import Drill
from console.availability.promotion.models import PromotionAction, PromotionPolicy
from console.clusters.equivalents import Equivalents
from console.clusters.models import Cluster


def of_page(cluster: Cluster) -> dict[str, Equivalents]:
    """Return the equivalents of the panels of the page Promotion."""
    return {
        name: Equivalents(f"GET /api/v1/{route}/?cluster={cluster.alias}", "")
        for name, route in (
            ("actions", "promotion-actions"),
            ("policies", "promotion-policies"),
            ("actors", "promotion-actors"),
            ("events", "observer-events"),
            ("findings", "promotion-findings"),
            ("stop", "promotion-stop"),
        )
    }


def of_action(row: PromotionAction) -> Equivalents:
    """Return the equivalents of an action's page."""
    return Equivalents(f"GET /api/v1/promotion-actions/{row.pk}/", "")


def of_policy(row: PromotionPolicy | None) -> Equivalents | None:
    """Return the equivalents of a policy's page; None for one that is not written yet."""
    return None if row is None else Equivalents(f"GET /api/v1/promotion-policies/{row.pk}/", "")


def of_drills(cluster: Cluster) -> Equivalents:
    return Equivalents(f"GET /api/v1/drills/?cluster={cluster.alias}", "")


def of_drill(row: Drill) -> Equivalents:
    """Return the equivalents of a drill's page."""
    return Equivalents(f"GET /api/v1/drills/{row.pk}/", "")


def of_runbooks(cluster: Cluster, asked: dict[str, object]) -> Equivalents:
    """Return the equivalents of the runbooks, narrowed as the page is."""
    known = {name: value for name, value in asked.items() if value not in {None, ""}}
    return Equivalents(
        f"GET /api/v1/runbooks/?{urlencode({'cluster': cluster.alias, **known})}", ""
    )

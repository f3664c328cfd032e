"""Sites of controllers that are not brokers: Kafka reports the rack of brokers only, so users enter them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from console.accounts.audit import audit, change
from console.availability.placements.models import ControllerSite, WhatIfPicture
from console.clusters.models import Cluster
from console.frame.security.current_request import current_username
from jobs.availability.what_if.model.cluster import ControllerModel
from jobs.cluster.errors import InvalidFields

LONGEST_SITE = 255


@dataclass(frozen=True, slots=True)
class ControllerPlace:
    """A voter and its site; `rack` is that of the broker with the same id, which takes precedence."""

    node_id: int
    rack: str
    site: str


def sites_of(cluster: Cluster) -> dict[int, str]:
    """Return the entered sites of a cluster's controllers; one query."""
    return dict(ControllerSite.objects.filter(cluster=cluster).values_list("node_id", "site"))


def places_of(
    cluster: Cluster, voters: Sequence[ControllerModel], racks: Mapping[int, str | None]
) -> list[ControllerPlace]:
    """Return the place of each voter, by id."""
    sites = sites_of(cluster)
    ids = sorted(one.node_id for one in voters)
    return [ControllerPlace(id_, racks.get(id_) or "", sites.get(id_, "")) for id_ in ids]


@change("controller_sites.save")
def save_sites(
    cluster: Cluster, sites: Mapping[str, str], places: Sequence[ControllerPlace], now: datetime
) -> None:
    """Save controller sites; replaces all earlier ones, empty or missing ones are deleted.

    `sites` maps node ids to sites, `places` are the voters as they are known. Nothing is written to the
    cluster. Raises `InvalidFields` with `sites.<id>` for what is wrong.
    """
    wanted = _checked(sites, places)
    before = {str(number): site for number, site in sites_of(cluster).items()}
    with transaction.atomic():
        ControllerSite.objects.filter(cluster=cluster).delete()
        ControllerSite.objects.bulk_create(
            ControllerSite(
                cluster=cluster,
                node_id=number,
                site=site,
                changed_at=now,
                changed_by=current_username(),
            )
            for number, site in wanted.items()
        )
        # The stored snapshot has the old sites: the next round makes a new one.
        WhatIfPicture.objects.filter(cluster=cluster).delete()
        after = {str(number): site for number, site in wanted.items()}
        audit(
            "controller_sites.save",
            f"controllers of {cluster.alias}",
            cluster=cluster.alias,
            before=before,
            after=after,
        )


def _checked(sites: Mapping[str, str], places: Sequence[ControllerPlace]) -> dict[int, str]:
    known = {str(one.node_id): one for one in places}
    errors: dict[str, str] = {}
    wanted: dict[int, str] = {}
    for name, text in sites.items():
        site = text.strip()
        problem = _problem(known.get(name), site, has_voters=bool(known))
        if problem:
            errors[f"sites.{name}"] = problem
        elif site:
            wanted[int(name)] = site
    if errors:
        raise InvalidFields(errors)
    return wanted


def _problem(place: ControllerPlace | None, site: str, *, has_voters: bool) -> str:
    if place is None and not has_voters:
        return "The quorum was not collected yet: its voters are unknown. Try again in a minute."
    if place is None:
        return "No voter of the quorum has this number."
    if place.rack and site:
        return f"Node {place.node_id} is also a broker: its broker.rack is {place.rack}."
    if len(site) > LONGEST_SITE:
        return f"At most {LONGEST_SITE} characters."
    return "" if site.isprintable() else "A name without line breaks or control characters."

"""API calls and commands equivalent to the pages of placements, failure simulation and observers."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from urllib.parse import urlencode

from console.availability.placements.models import TopicPlacement
from console.clusters.equivalents import Equivalents, call_of, tool_of
from console.clusters.models import Cluster
from jobs.availability.what_if.steps import Loss, Step


def of_placements(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("placements", cluster=cluster.alias), "")


def of_placed_topics(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the list of topics with a placement."""
    return Equivalents(
        call_of("placements/topics", cluster=cluster.alias),
        tool_of("kafka-topics.sh", cluster, "--describe"),
    )


def of_placement(cluster: Cluster, row: TopicPlacement | None) -> Equivalents:
    if row is None:
        return Equivalents(call_of("placements", cluster=cluster.alias), "")
    return Equivalents(f"GET /api/v1/placements/{row.pk}/", "")


def of_observers(cluster: Cluster) -> Equivalents:
    return Equivalents(
        call_of("observers", cluster=cluster.alias),
        tool_of("kafka-topics.sh", cluster, "--describe"),
    )


def of_what_if(cluster: Cluster, query: str, steps: Iterable[Step]) -> Equivalents:
    """Return the equivalents of a what-if; the command knows losses only, all at once."""
    words = "&".join(part for part in (urlencode({"cluster": cluster.alias}), query) if part)
    lost = [one for one in steps if isinstance(one, Loss)]
    flags = [f"--lose-rack {shlex.quote(rack)}" for one in lost for rack in sorted(one.racks)]
    flags += [f"--lose-broker {number}" for one in lost for number in sorted(one.brokers)]
    command = " ".join(["crosslog what-if CLUSTER.json", *flags]) if flags else ""
    return Equivalents(f"GET /api/v1/what-if/?{words}", command)


def of_matrix(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("what-if/matrix", cluster=cluster.alias), "")


def of_controller_sites(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("controller-sites", cluster=cluster.alias), "")


def of_designer() -> Equivalents:
    return Equivalents("POST /api/v1/placement-designs/", "crosslog design --help")

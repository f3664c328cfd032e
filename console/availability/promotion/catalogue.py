"""The four promotion methods: availability on a cluster, cost, blocking conditions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from console.availability.drills.work import standbys_of
from console.clusters.models import Cluster
from console.frame.security.read_only import is_read_only
from console.quorum import queries as quorum
from jobs.availability.promotion.actors.catalogue import catalogue
from jobs.availability.promotion.actors.facts import ActorFacts
from jobs.availability.runbooks.kafka_commands import KafkaTools
from jobs.availability.what_if.model.cluster import ClusterModel


def actor_facts(cluster: Cluster, model: ClusterModel) -> ActorFacts:
    """Return the facts that decide which methods a cluster can use; a few queries."""
    standbys = standbys_of(cluster, model)
    log = quorum.log_of(cluster)
    status = quorum.status_of(log) if log is not None else None
    is_read = None
    if log is not None and log.heard_at is not None:
        is_read = not log.lost and log.failing_since is None
    operations = None if cluster.operations is None else {*cluster.operations}
    return ActorFacts(
        racks={broker: one.rack for broker, one in model.brokers.items()},
        standbys=frozenset(standbys),
        spares=tuple(
            sorted(b for b, one in model.brokers.items() if one.is_alive and b not in standbys)
        ),
        has_quorum=None if status is None else status.leader_id is not None,
        has_elr=model.has_elr,
        promotes_itself=model.promotes_itself,
        is_read_only=is_read_only(),
        can_reach_controllers=is_read,
        can_cluster_action=True if is_read else _may(operations, "CLUSTER_ACTION"),
        can_alter_configs=_may(operations, "ALTER_CONFIGS"),
        can_alter_cluster=_may(operations, "ALTER"),
    )


def told_actors(cluster: Cluster, model: ClusterModel) -> list[dict[str, Any]]:
    """Return the catalogue as JSON values, usable ones first."""
    tools = KafkaTools(cluster.bootstrap_servers)
    found = []
    for one in catalogue(actor_facts(cluster, model), None, tools):
        told = asdict(one)
        told["kind"] = one.kind.value
        told["problems"], told["unknown"] = dict(one.problems), dict(one.unknown)
        found.append(told)
    return found


def _may(operations: set[str] | None, name: str) -> bool | None:
    """Whether the account has this operation; None: the cluster did not report it."""
    return None if operations is None else name in operations or "ALL" in operations

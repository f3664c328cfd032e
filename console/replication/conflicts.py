"""Two flows that would get in each other's way: refused before they start."""

from __future__ import annotations

from django.db.models import Q

from console.clusters.models import Cluster, Topic
from console.replication.models import ReplicationFlow
from jobs.replication.flow import FlowSpec, PolicyName
from jobs.replication.selection import should_replicate


def find_conflict(
    spec: FlowSpec, source: Cluster, target: Cluster, flow_id: int | None
) -> str | None:
    """Return why this flow cannot stand beside those that exist; None when it can.

    Two flows of the same pair keep their positions under the same key of the target's positions
    topic, so a topic can be in one of them only. Two flows with identity names in opposite
    directions would copy each record round and round.
    """
    same = Q(source=source, target=target)
    back = Q(source=target, target=source, policy=PolicyName.IDENTITY.value)
    relevant = same | back if spec.policy is PolicyName.IDENTITY else same
    others = ReplicationFlow.objects.filter(relevant)
    if flow_id is not None:
        others = others.exclude(pk=flow_id)
    for other in others.select_related("source", "target"):
        shared = _shared_topic(spec, other.spec(), source)
        if shared and other.source_id == source.pk:
            return f"{shared} is copied by flow {other.name} already: exclude it here or there."
        if shared:
            return (
                f"{shared} comes back from {target.alias} under the same name by flow {other.name}: "
                "its records would go round and round. Use the default policy, or exclude it."
            )
    return None


def _shared_topic(one: FlowSpec, other: FlowSpec, source: Cluster) -> str | None:
    """Return what both flows select: a topic seen on the source, or the same patterns."""
    for name in Topic.objects.filter(cluster=source).values_list("name", flat=True):
        if should_replicate(one, name) and should_replicate(other, name):
            return f"Topic {name}"
    shared = sorted(set(one.topics) & set(other.topics))
    same_exclusions = set(one.topics_exclude) == set(other.topics_exclude)
    return f"What matches {shared[0]}" if shared and same_exclusions else None

"""Conflicts between flows: refused before they start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.db.models import Q

from console.clusters.models import Cluster, Topic
from console.frame.security.access import visible
from console.frame.security.current_request import current_request
from console.replication.flows.models import ReplicationFlow
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import InvalidFields
from jobs.replication.flow.selection import should_replicate
from jobs.replication.flow.spec import FlowSpec, PolicyName
from jobs.replication.topics.fan_in import Collision, find_collisions

Usable = tuple[ReplicationFlow, FlowSpec]


def find_conflict(
    spec: FlowSpec, source: Cluster, target: Cluster, flow_id: int | None
) -> str | None:
    """Return why this flow conflicts with an existing one; None for no conflict.

    Two flows of the same pair keep their positions under the same key of the target's positions
    topic, so a topic can be in one of them only. Two flows with identity names in opposite
    directions would copy each record round and round. Two flows from wherever must not write the
    same remote topic (`fan_in.find_collisions`).
    """
    others = ReplicationFlow.objects.select_related("source", "target")
    others = others if flow_id is None else others.exclude(pk=flow_id)
    related = usable_flows(others.filter(_related(spec, source, target)))
    return _shares_topics(spec, source, target, related) or (
        _writes_the_same(spec, source, usable_flows(others.filter(target=target)))
    )


def usable_flows(flows: Iterable[ReplicationFlow]) -> list[Usable]:
    """Return flows with their settings; those whose settings do not hold cannot run, and are left out."""
    found = []
    for flow in flows:
        with suppress(InvalidFields):
            found.append((flow, flow.spec()))
    return found


def _related(spec: FlowSpec, source: Cluster, target: Cluster) -> Q:
    same = Q(source=source, target=target)
    back = Q(source=target, target=source, policy=PolicyName.IDENTITY.value)
    return same | back if spec.policy is PolicyName.IDENTITY else same


def _shares_topics(
    spec: FlowSpec, source: Cluster, target: Cluster, others: Iterable[Usable]
) -> str | None:
    for other, there in others:
        shared = _shared_topic(spec, there, source)
        if shared and other.source_id == source.pk:
            return f"{shared} is replicated by flow {other.name} already. Exclude it in one of the two flows."
        if shared:
            return (
                f"{shared} is replicated back from {target.alias} under the same name by flow {other.name}: "
                "its records would loop. Use the default policy, or exclude it."
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


def _writes_the_same(spec: FlowSpec, source: Cluster, others: Sequence[Usable]) -> str | None:
    """Return which remote topic another flow to the same target writes, too."""
    if not others:
        return None
    sources = {source.pk, *(other.source_id for other, _ in others)}
    topics: dict[str, list[TopicDescription]] = {}
    rows = Topic.objects.filter(cluster__in=sources)
    for alias, name, is_internal in rows.values_list("cluster__alias", "name", "is_internal"):
        described = TopicDescription(name, None, is_internal, ())
        topics.setdefault(alias, []).append(described)
    found = find_collisions([spec, *(there for _, there in others)], topics)
    own = [one for one in found if spec.name in {writer.flow for writer in one.writers}]
    return _told(spec, own[0]) if own else None


def _told(spec: FlowSpec, collision: Collision) -> str:
    """Name the other flow only to who may see it: it can come from a cluster that they may not."""
    names = {writer.flow for writer in collision.writers} - {spec.name}
    flows = ReplicationFlow.objects.filter(name__in=names)
    request = current_request()
    if request is None or visible(request.user, flows).count() == len(names):
        return str(collision)
    return (
        f"{collision.remote_topic} is written by another flow, from a cluster that you may not see: their "
        "records would be mixed. Let this flow name its remote topics otherwise, or exclude the topic."
    )

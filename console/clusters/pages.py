"""Pages of clusters: parse, one read, render."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.clusters import equivalents, queries
from console.clusters.equivalents import Equivalents
from console.clusters.facts import (
    cluster_analyses,
    cluster_facts,
    cluster_tabs,
    group_facts,
    topic_facts,
)
from console.clusters.models import Cluster, Noun
from console.clusters.status import freshness_of_versions
from console.clusters.tables import (
    BROKERS,
    CLUSTERS,
    GROUPS,
    GROUPS_OF_TOPIC,
    OFFSETS,
    OFFSETS_OF_SHARES,
    PARTITIONS,
    PARTITIONS_OF_TOPIC,
    TOPICS,
)
from console.clusters.trouble.told import troubles_of
from console.frame.errors import or_404
from console.frame.pages.freshness import oldest
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page
from console.frame.tables.page import TablePage


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show all clusters."""
    table = CLUSTERS.read(request, queries.list_clusters(), "clusters")
    queries.with_status(table.rows, timezone.now())
    context = {"table": table, "equivalents": equivalents.of_list()}
    return render_page(request, "clusters/list.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def detail_page(request: HttpRequest, alias: str) -> HttpResponse:
    """Show the overview of a cluster."""
    cluster = find_cluster(alias)
    context = {
        **around_cluster(cluster, "detail", equivalents.of_cluster(cluster)),
        "facts": cluster_facts(cluster, queries.count_partitions(cluster)),
        "offers": cluster.offers,
        "offers_age": freshness_of_versions(cluster),
        "offers_call": equivalents.of_capabilities(cluster),
        "analyses": cluster_analyses(alias),
        "rounds": queries.freshness_of(cluster),
        "partial": queries.partial_answers(cluster),
        "freshness": oldest(queries.freshness_of(cluster)),
    }
    return render_page(request, "clusters/detail.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def brokers_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the brokers of a cluster."""
    cluster = find_cluster(alias)
    table = BROKERS.read(request, queries.list_brokers(cluster), f"{alias}-brokers")
    around = around_cluster(cluster, "brokers", equivalents.of_brokers(cluster), Noun.BROKERS)
    return _table_page(request, table, around, "Brokers")


@require_safe
@page("view", queries.where)
def topics_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the topics of a cluster."""
    cluster = find_cluster(alias)
    table = TOPICS.read(request, queries.list_topics(cluster), f"{alias}-topics")
    around = around_cluster(cluster, "topics", equivalents.of_topics(cluster), Noun.TOPICS)
    return _table_page(request, table, around, "Topics")


@require_safe
@page("view", queries.where)
def partitions_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show all partitions of a cluster."""
    cluster = find_cluster(alias)
    table = PARTITIONS.read(request, queries.list_partitions(cluster), f"{alias}-partitions")
    same_question = equivalents.of_partitions(cluster, request.GET.get("counted_as", ""))
    around = around_cluster(cluster, "partitions", same_question, Noun.TOPICS)
    return _table_page(request, table, around, "Partitions")


@require_safe
@page("view", queries.where)
def groups_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the groups of a cluster."""
    cluster = find_cluster(alias)
    table = GROUPS.read(request, queries.list_groups(cluster), f"{alias}-groups")
    around = around_cluster(cluster, "groups", equivalents.of_groups(cluster), Noun.GROUPS)
    return _table_page(request, table, around, "Groups")


@require_safe
@page("view", queries.where)
def topic_page(request: HttpRequest, alias: str, name: str) -> HttpResponseBase:
    """Show the partitions, consumer groups and configuration of a topic."""
    cluster = find_cluster(alias)
    topic = or_404(
        queries.get_topic(cluster, name),
        f"Cluster {alias} has no topic {name}. It was deleted, or has not been collected yet.",
    )
    table = PARTITIONS_OF_TOPIC.read(
        request, queries.list_partitions(cluster, topic), f"{alias}-{name}"
    )
    groups = GROUPS_OF_TOPIC.read(
        request, queries.list_groups(cluster, topic), f"{alias}-{name}-groups"
    )
    context = {
        **around_cluster(cluster, "topics", equivalents.of_topic(cluster, name), Noun.TOPICS),
        "topic": topic,
        "troubles": troubles_of([cluster.pk], timezone.now()),
        "facts": topic_facts(topic),
        "analyses": cluster_analyses(alias, name, about=("topic", "topics")),
        "table": table,
        "groups": groups,
    }
    return render_page(request, "clusters/topic.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def group_page(request: HttpRequest, alias: str, group_id: str) -> HttpResponseBase:
    """Show committed offsets and lag of a group."""
    cluster = find_cluster(alias)
    group = or_404(
        queries.get_group(cluster, group_id),
        f"Cluster {alias} has no group {group_id}. It was deleted, or has not been collected yet.",
    )
    columns = OFFSETS_OF_SHARES if group.is_shared else OFFSETS
    table = columns.read(request, queries.list_group_offsets(group), f"{alias}-group")
    same_question = equivalents.of_group(cluster, group_id, group.type)
    context = {
        **around_cluster(cluster, "groups", same_question, Noun.GROUPS),
        "group": group,
        "troubles": troubles_of([cluster.pk], timezone.now()),
        "facts": group_facts(group),
        "table": table,
        "analyses": cluster_analyses(alias, group=group_id, about=("group",)),
    }
    return render_page(request, "clusters/group.html", context, is_live=True)


def _table_page(
    request: HttpRequest, table: TablePage, around: dict[str, Any], title: str
) -> HttpResponseBase:
    label = f"{title} of {around['cluster'].alias}"
    context = {**around, "table": table, "title": title, "label": label}
    return render_page(request, "clusters/table.html", context, is_live=True)


def find_cluster(alias: str) -> Cluster:
    """Return a cluster by its alias; raises Http404."""
    return or_404(queries.get_cluster(alias))


def around_cluster(
    cluster: Cluster, current: str, same_question: Equivalents, noun: Noun | None = None
) -> dict[str, Any]:
    """Return what every page of a cluster shows: header, tabs, freshness, equivalents."""
    return {
        "cluster": cluster,
        "status": queries.status_of(cluster, timezone.now()),
        "tabs": cluster_tabs(cluster, current),
        "freshness": queries.freshness_of_noun(cluster, noun) if noun else None,
        "equivalents": same_question,
    }

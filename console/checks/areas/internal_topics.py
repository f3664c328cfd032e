"""Internal topics of Kafka Streams that no group of their cluster owns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.clusters.collection.group_rows import UNHEARD
from console.clusters.models import Noun
from console.replication.flows import queries as flows
from jobs.limits import CUT_ID, GROUPS_LEFT_OUT
from jobs.streams.audit.orphans import ORPHANS, ClusterTopics, judge_orphans
from jobs.wire.topics.streams_topics import ENDINGS


def judge(given: Given) -> Iterator[Judged]:
    """Judge the topics of each cluster whose topics and groups are all known."""
    watched = {one.pk: one for one in clusters.enabled_clusters().prefetch_related("rounds")}
    known = {one.cluster: one for one in _known(watched, given)}
    memory: dict[str, Any] = {}
    for pk, cluster in watched.items():
        waited = given.memory.get(str(pk), {})
        if pk in known:
            now, settings = given.now, given.settings
            found, waited = judge_orphans(known[pk], settings, waited, given.passed_s, now)
            yield Judged(cluster, {ORPHANS.id}, tuple(found))
        else:
            yield Judged(cluster, ())
        memory |= {str(pk): waited} if waited else {}
    given.memory = memory


def _known(watched: dict[int, Any], given: Given) -> Iterator[ClusterTopics]:
    fresh = {pk for pk, one in watched.items() if _is_known(one, given)}
    topics: dict[int, dict[str, int | None]] = defaultdict(dict)
    for pk, name, records in clusters.topics_ending(fresh, ENDINGS):
        topics[pk][name] = records
    groups: dict[int, set[str]] = defaultdict(set)
    # Without such topics the groups of a cluster do not matter.
    for pk, group_id, error in clusters.all_group_ids(topics):
        groups[pk].add(group_id)
        if error.startswith(CUT_ID):
            fresh.discard(pk)
    copies = flows.written_topics(topics)
    for pk in fresh:
        written = copies.get(pk, frozenset())
        yield ClusterTopics(pk, watched[pk].alias, topics[pk], groups[pk], written)


def _is_known(cluster: Any, given: Given) -> bool:
    """Whether topics and groups are fresh, and no group is left out."""
    nouns = [clusters.freshness_of_noun(cluster, one) for one in (Noun.TOPICS, Noun.GROUPS)]
    is_whole = not any(text in nouns[1].error for text in (UNHEARD, GROUPS_LEFT_OUT))
    return is_whole and not any(one.is_stale(given.now) for one in nouns)


AREA = Area("internal_topics", judge)

"""Ask the target about topics that it has already, before a flow that keeps names writes into them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.positions import read_positions
from jobs.replication.flow.spec import FlowSpec, OnExisting
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.topics.config_sync import OWN_CONFIGS, Configs
from jobs.replication.topics.fan_in import Existing, refuse_existing, sources_of_name

_POSITIONS_TOPIC = re.compile(r"mm2-offsets\.(.+)\.internal")


def refuse_existing_topics(
    target: ClusterClient, flow: FlowSpec, existing: Sequence[TopicDescription]
) -> dict[str, str]:
    """Return why the flow must not write into these topics of the target, by name; raises `ClusterFault`.

    `existing` are those that have their source topic's name and no position of the flow's source.
    """
    if flow.on_existing is OnExisting.APPEND or not existing:
        return {}
    ends = read_end_offsets(target, existing)
    written = [topic.name for topic in existing if ends[topic.name] != 0]
    if not written:
        return {}
    configs = describe_topic_configs(target, written)
    others = read_other_sources(target, flow, written)
    refusals = {
        name: refuse_existing(
            flow, Existing(name, ends[name], _is_ours(configs.get(name)), others[name])
        )
        for name in written
    }
    return {name: refusal for name, refusal in refusals.items() if refusal}


def read_end_offsets(
    client: ClusterClient, topics: Sequence[TopicDescription]
) -> dict[str, int | None]:
    """Return how far each topic was written, None when one of its partitions did not tell."""
    where = {t.name: [TopicPartition(t.name, p.partition) for p in t.partitions] for t in topics}
    asked = [partition for partitions in where.values() for partition in partitions]
    ranges = read_offset_ranges(client, asked, with_timestamps=False)
    ends = {name: [ranges[p].high_watermark for p in found] for name, found in where.items()}
    return {
        name: None if None in found else max((end or 0 for end in found), default=0)
        for name, found in ends.items()
    }


def read_other_sources(
    target: ClusterClient, flow: FlowSpec, topics: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return which other sources have copied topics of these names without renaming them."""
    names = frozenset(list_topic_names(target))
    found = (_POSITIONS_TOPIC.fullmatch(name) for name in sorted(names))
    aliases = [match[1] for match in found if match and match[1] != flow.source.alias]
    positions = {
        alias: {where.topic for where in read_positions(target, alias)} for alias in aliases
    }
    return {
        t: sources_of_name(t, positions, names, DefaultReplicationPolicy(flow.separator))
        for t in topics
    }


def _is_ours(configs: Configs | ClusterFault | None) -> bool:
    """Return whether a topic has what crosslog sets on every remote topic that it makes."""
    if configs is None or isinstance(configs, ClusterFault):
        return False
    return all(
        key in configs and configs[key].is_override and configs[key].value == value
        for key, value in OWN_CONFIGS.items()
    )

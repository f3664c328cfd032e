"""The partitions of a flow that a backtest compares, and the checkpoints about each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.flow.selection import policy_of, topic_filter_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive import open_parts
from jobs.spark.analyses.offsets.backtesting.checkpoint_log import (
    CheckpointLog,
    read_checkpoint_log,
)
from jobs.spark.analyses.offsets.backtesting.partition import Work
from jobs.spark.analyses.offsets.syncs import open_flow_syncs
from jobs.spark.analyses.task import AnalysisTask


def works_of(
    task: AnalysisTask,
    arguments: Mapping[str, Any],
    argument: str,
    since_ms: int,
    notes: list[str],
) -> Iterator[tuple[Work, list[str]]]:
    """Yield the partitions of a flow, with the names of its groups; raises `ClusterFault`."""
    syncs = open_flow_syncs(task, argument)
    flow = syncs.flow
    if flow is None:
        return
    policy, accepts = policy_of(flow), topic_filter_of(flow).accepts
    topic = policy.checkpoints_topic(flow.source.alias)
    task.report(f"Reads {topic} of {flow.target.alias}")
    named = {
        where._replace(topic=policy.format_remote_topic(flow.source.alias, where.topic)): where
        for where in open_parts(syncs.folder).names
        if accepts(where.topic)
    }
    with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
        log = read_checkpoint_log(target, topic, since_ms, arguments["group"])
        for remote in log.partitions:
            upstream = policy.upstream_topic(remote.topic)
            if remote not in named and upstream is not None and accepts(upstream):
                named[remote] = remote._replace(topic=upstream)
        here = _topics(source, {where.topic for where in named.values()})
        there = _topics(target, {remote.topic for remote in named})
        compacted = _compacted(target, there)
    notes += _notes_about(flow, topic, log, sum(len(log.of(one).upstream) for one in named))
    for remote, where in sorted(named.items()):
        checkpoints = log.of(remote)
        yield (
            Work(
                flow,
                syncs.folder,
                where,
                remote,
                checkpoints,
                checkpoints.are_about_others(log.topic_ids, there.get(remote.topic)),
                where.topic not in here or remote.topic not in there,
                remote.topic in compacted,
                since_ms,
                arguments["most_records"],
            ),
            log.groups,
        )


def _topics(client: ClusterClient, names: set[str]) -> dict[str, str | None]:
    """Return the ids of those topics that are there; raises `ClusterFault` for what may not be read."""
    found = {}
    for topic in describe_topics(client, sorted(names)) if names else ():
        if is_missing(topic):
            continue
        if topic.error is not None:
            raise ClusterFault(topic.error, cluster=client.connection.alias)
        found[topic.name] = topic.topic_id
    return found


def _compacted(client: ClusterClient, topics: Collection[str]) -> set[str]:
    """Return which topics are compacted, or may be: their settings may not be read."""
    found = set()
    for topic, settings in describe_topic_configs(client, topics).items() if topics else ():
        if isinstance(settings, ClusterFault) or "compact" in _policy(settings):
            found.add(topic)
    return found


def _policy(settings: Mapping[str, ConfigValue]) -> str:
    known = settings.get("cleanup.policy")
    return known.value or "" if known else "compact"


def _notes_about(flow: FlowSpec, topic: str, log: CheckpointLog, count: int) -> Iterator[str]:
    where = f"{topic} of {flow.target.alias}"
    if not log.exists:
        yield f"{flow.name}: there is no topic {where}, so there are no checkpoints; records are sampled."
        return
    yield (
        f"{flow.name}: {count:,} checkpoints of these days are left in {where}. Compaction keeps the "
        "last one of each group and partition and may have removed others."
    )
    refused = sum(log.refused.values())
    if refused:
        yield f"{flow.name}: {refused:,} records of {where} are no checkpoints and were passed over."

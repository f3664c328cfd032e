"""Which partitions belong together, what is read of each, and from where."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.patterns.matching import Matcher, glob_expression
from jobs.replication.flow.selection import policy_of, select_topics
from jobs.replication.flow.spec import FlowSpec, Guarantee, IsolationLevel
from jobs.spark.analyses.records.auditing.judging import Edges
from jobs.spark.analyses.records.auditing.proofs import Proof, Proofs
from jobs.spark.analyses.records.ranges import Span, Work, newest, spans_of
from jobs.spark.analyses.records.running import connections_of
from jobs.spark.analyses.task import AnalysisTask

# So many source offsets before a proven match are looked at for what is copied again.
LOOK_BACK = 100_000
_TIMEOUT_S = 30.0
_POLICY, _TIMES = "cleanup.policy", "message.timestamp.type"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is audited: a flow, or a topic and its copy (`names`)."""

    source: Connection
    target: Connection
    flow: FlowSpec | None
    names: tuple[str, str] = ("", "")

    @property
    def is_source_committed(self) -> bool:
        """Whether only committed records of the source are expected on the target."""
        flow = self.flow
        return flow is None or (
            not flow.is_watched and flow.isolation_level is IsolationLevel.READ_COMMITTED
        )

    @property
    def may_replay(self) -> bool:
        """Whether the flow may copy records twice after a fault."""
        flow = self.flow
        return flow is not None and (flow.is_watched or flow.delivery is Guarantee.AT_LEAST_ONCE)

    def proofs(self, task: AnalysisTask, source: str, target: str) -> Proofs:
        """Return what was proven of a topic and its copy."""
        clusters = (one.cluster_id or one.bootstrap_servers for one in (self.source, self.target))
        isolation = "committed" if self.is_source_committed else "uncommitted"
        return Proofs(task.histories, *clusters, source, target, isolation)


def subject_of(task: AnalysisTask, arguments: Mapping[str, Any]) -> Subject:
    """Return what the arguments name."""
    if arguments["flow"]:
        flow = FlowSpec.from_mapping(task.resources["flow"]["flow"])
        return Subject(flow.source, flow.target, flow)
    found = connections_of(task, "source", "target")
    names = arguments["source_topic"], arguments["target_topic"]
    return Subject(found["source"], found["target"], None, names)


def plan_works(task: AnalysisTask, subject: Subject, arguments: Mapping[str, Any]) -> list[Work]:
    """Return a work for each partition: its spans, or none and the reason why it cannot be judged.

    The ends of the target are fixed before those of the source, else what is copied meanwhile looks as if it
    were on the target only. Raises `ClusterFault` and InvalidFields.
    """
    with (
        ClusterClient(subject.source, timeout_s=_TIMEOUT_S) as source,
        ClusterClient(subject.target, timeout_s=_TIMEOUT_S) as target,
    ):
        of_flow, here = _source_topics(source, subject, arguments)
        remote = {one.name: _remote_name(subject, one.name) for one in here}
        there = {one.name: one for one in describe_topics(target, sorted(remote.values()))}
        as_of_ms = time.time_ns() // 1_000_000
        copies = _read(target, there.values(), "target", is_committed=True)
        originals = _read(source, here, "source", is_committed=subject.is_source_committed)
    told = {"as_of_ms": as_of_ms, "of_flow": of_flow}
    works: list[Work] = []
    for topic in here:
        copy = there[remote[topic.name]]
        base = told | {"topic": topic.name, "remote": copy.name}
        why = _unreadable(topic, "source") or _unreadable(copy, "target")
        if why:
            count = max(len(topic.partitions), 1)
            works += [Work((), base | {"partition": n, "reason": why}) for n in range(count)]
            continue
        settings = originals.configs[topic.name], copies.configs[copy.name]
        base["has_broker_times"] = settings[1].get(_TIMES) == "LogAppendTime"
        base["is_compacted"] = any("compact" in one.get(_POLICY, "compact") for one in settings)
        base["is_watched"] = subject.flow is not None and subject.flow.is_watched
        proofs = subject.proofs(task, topic.name, copy.name)
        for partition in range(max(len(topic.partitions), len(copy.partitions))):
            pair = originals.of(topic.name, partition), copies.of(copy.name, partition)
            work = _work(pair, base | {"partition": partition}, proofs.get(partition), arguments)
            works.append(work)
    return _bounded(works, arguments["most_records"])


class _Side(NamedTuple):
    """Spans and faults by topic and partition, and settings by topic."""

    spans: Mapping[TopicPartition, Span]
    faults: Mapping[TopicPartition, ClusterFault]
    configs: Mapping[str, Mapping[str, str]]

    def of(self, topic: str, partition: int) -> Span | str:
        """Return the span of a partition, or why there is none."""
        where = TopicPartition(topic, partition)
        fault = self.faults.get(where)
        return self.spans.get(where) or (
            f"cannot be read: {fault.message}" if fault else "does not have this partition."
        )


def _source_topics(
    client: ClusterClient, subject: Subject, arguments: Mapping[str, Any]
) -> tuple[int, list[TopicDescription]]:
    """Return how many topics there are to audit, and those that were selected."""
    if subject.flow is None:
        return 1, describe_topics(client, [subject.names[0]])
    selected = select_topics(subject.flow, describe_topics(client))
    wanted = [part.strip() for part in (arguments["topics"] or "*").split(",") if part.strip()]
    matcher = Matcher([glob_expression(one) for one in wanted])
    found = [one for one in selected if matcher.matches(one.name)]
    if not found:
        raise InvalidFields({"topics": f"No topic of the flow {subject.flow.name} matches."})
    return len(selected), found


def _remote_name(subject: Subject, topic: str) -> str:
    if subject.flow is None:
        return subject.names[1]
    return policy_of(subject.flow).format_remote_topic(subject.source.alias, topic)


def _unreadable(topic: TopicDescription, side: str) -> str:
    if is_missing(topic):
        return f"The {side} has no topic {topic.name}."
    return f"The topic of the {side} cannot be described: {topic.error}" if topic.error else ""


def _read(
    client: ClusterClient, topics: Iterable[TopicDescription], side: str, *, is_committed: bool
) -> _Side:
    there = [one for one in topics if one.error is None]
    arguments = dict.fromkeys(("from", "to", "from_offset", "to_offset")) | {
        "isolation": "read_committed" if is_committed else "read_uncommitted"
    }
    faults: dict[TopicPartition, ClusterFault] = {}
    spans = {one.where: one for one in spans_of(client, there, arguments, side, faults)}
    return _Side(spans, faults, _configs(client, [one.name for one in there]))


def _configs(client: ClusterClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what is known of two settings of each topic."""
    if not names:
        return {}
    return {
        name: {}
        if isinstance(answer, ClusterFault)
        else {key: one.value for key, one in answer.items() if one.value is not None}
        for name, answer in describe_topic_configs(client, names, (_POLICY, _TIMES)).items()
    }


def _work(
    pair: tuple[Span | str, Span | str],
    told: dict[str, Any],
    proof: Proof | None,
    arguments: Mapping[str, Any],
) -> Work:
    """Return what is read of a pair: what is behind its proof, where that still holds."""
    source, target = pair
    if isinstance(source, str) or isinstance(target, str):
        side, why = ("source", source) if isinstance(source, str) else ("target", target)
        return Work((), told | {"reason": f"The {side} {why}"})
    level, ids = arguments["level"], (source.topic_id, target.topic_id)
    note, is_recreated = "", False
    if proof is not None and proof.ids != ids:
        is_new = [old != new for old, new in zip(proof.ids, ids, strict=True)]
        is_recreated = is_new == [True, False]
        sides = " and of the ".join(itertools.compress(("source", "target"), is_new))
        note = f"The topic of the {sides} was re-created since the last audit"
    elif proof is not None and (source.log_end < proof.next[0] or target.log_end < proof.next[1]):
        note = "A log ends before what was compared by the last audit: it was truncated"
    is_low = proof is not None and (proof.level < level or "L1" in (proof.level, level))
    if note or is_low or arguments["again"] == "yes":
        proof = None
    starts = proof.next if proof else (0, 0)
    removed = [max(one.log_start - at, 0) for one, at in zip((source, target), starts, strict=True)]
    edges = Edges(
        removed=(removed[0] or int(is_recreated), removed[1]),
        is_proven=proof is not None,
        is_compacted=told["is_compacted"],
        is_watched=told["is_watched"],
    )
    read = [
        replace(one, start=min(max(one.log_start, start), one.end))
        for one, start in zip((source, target), starts, strict=True)
    ]
    if proof:
        start = min(max(source.log_start, proof.next[0] - LOOK_BACK), read[0].start)
        read.append(replace(source, start=start, end=min(proof.next[0], source.end)))
    proven = asdict(proof) if proof else None
    return Work(tuple(read), told | {"note": note, "edges": asdict(edges), "proof": proven})


def _bounded(works: Sequence[Work], most: int) -> list[Work]:
    """Return works of at most so many offsets: of a proven pair the oldest, of others the newest."""
    cut = iter(newest([span for one in works for span in one.spans[:2]], most))
    return [_cut(one, [next(cut) for _ in one.spans[:2]]) for one in works]


def _cut(work: Work, cut: Sequence[Span]) -> Work:
    are_cut = [one.is_cut for one in cut]
    if not any(are_cut):
        return work
    spans, edges = work.spans, work.extra["edges"]
    if edges["is_proven"]:
        oldest = [
            replace(whole, end=whole.start + part.offsets)
            for whole, part in zip(spans, cut, strict=False)
        ]
        return Work(
            (*oldest, *spans[2:]), {**work.extra, "edges": edges | {"newer_unread": are_cut}}
        )
    return Work(tuple(cut), {**work.extra, "edges": edges | {"older_unread": are_cut}})


def notes_about(works: Sequence[Work]) -> Iterator[str]:
    """Yield sentences about proofs that no longer hold, and about what is read by the next run."""
    for work in works:
        if work.extra.get("note"):
            yield (
                f"{work.extra['topic']}-{work.extra['partition']}: {work.extra['note']}; it was read "
                "from its beginning."
            )
    later = sum(any(work.extra["edges"]["newer_unread"]) for work in works if work.spans)
    if later:
        yield f"{later:,} partitions have more records (argument most_records): the next run reads them."

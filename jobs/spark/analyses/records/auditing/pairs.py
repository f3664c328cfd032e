"""Which partitions belong together, what is read of each, and from where."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicDescription
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
        sides = _Sides(
            {one.name: one for one in here if one.error is None},
            {name: one for name, one in there.items() if one.error is None},
            remote,
        )
        as_of_ms = time.time_ns() // 1_000_000
        copies = _spans(target, list(sides.target.values()), "target", is_committed=True)
        originals = _spans(
            source, list(sides.source.values()), "source", is_committed=subject.is_source_committed
        )
        configs = (
            _configs(source, sides.source), _configs(target, sides.target),
        )  # fmt: skip
    works = []
    for topic in here:
        copy = there[remote[topic.name]]
        why = _unreadable(topic, "source") or _unreadable(copy, "target")
        base = {"topic": topic.name, "remote": copy.name, "as_of_ms": as_of_ms, "of_flow": of_flow}
        if why:
            count = max(len(topic.partitions), 1)
            works += [Work((), base | {"partition": n, "reason": why}) for n in range(count)]
            continue
        settings = configs[0][topic.name], configs[1][copy.name]
        base["has_broker_times"] = settings[1].get(_TIMES) == "LogAppendTime"
        is_compacted = any("compact" in one.get(_POLICY, "compact") for one in settings)
        proofs = subject.proofs(task, topic.name, copy.name)
        for partition in range(max(len(topic.partitions), len(copy.partitions))):
            here_span = originals.get((topic.name, partition))
            there_span = copies.get((copy.name, partition))
            told = base | {"partition": partition}
            if here_span is None or there_span is None:
                side = "target" if there_span is None else "source"
                count = len((copy if there_span is None else topic).partitions)
                told["reason"] = f"The {side} has only {count:,} partitions."
                works.append(Work((), told))
                continue
            works.append(
                _work(here_span, there_span, told, proofs.get(partition), arguments, is_compacted)
            )
    return _bounded(works, arguments["most_records"])


@dataclass(frozen=True, slots=True)
class _Sides:
    source: Mapping[str, TopicDescription]
    target: Mapping[str, TopicDescription]
    remote: Mapping[str, str]


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


def _spans(
    client: ClusterClient, topics: Sequence[TopicDescription], side: str, *, is_committed: bool
) -> dict[tuple[str, int], Span]:
    arguments = dict.fromkeys(("from", "to", "from_offset", "to_offset")) | {
        "isolation": "read_committed" if is_committed else "read_uncommitted"
    }
    found = spans_of(client, topics, arguments, side)
    return {(one.topic, one.partition): one for one in found}


def _configs(client: ClusterClient, names: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return what is known of two settings of each topic."""
    if not names:
        return {}
    return {
        name: {}
        if isinstance(answer, ClusterFault)
        else {key: one.value for key, one in answer.items() if one.value is not None}
        for name, answer in describe_topic_configs(client, list(names), (_POLICY, _TIMES)).items()
    }


def _work(
    source: Span,
    target: Span,
    told: dict[str, Any],
    proof: Proof | None,
    arguments: Mapping[str, Any],
    is_compacted: bool,  # noqa: FBT001  one of the facts of a pair
) -> Work:
    """Return what is read of a pair: what is behind its proof, where that still holds."""
    ids = (source.topic_id, target.topic_id)
    told["note"], is_recreated = "", False
    level = arguments["level"]
    if proof is not None and proof.ids != ids:
        changed = [s for s, old, new in zip(("source", "target"), proof.ids, ids) if old != new]  # noqa: B905
        is_recreated = changed == ["source"]
        told["note"] = (
            f"The topic of the {' and of the '.join(changed)} was re-created since the last audit"
        )
    elif proof is not None and (source.log_end < proof.next[0] or target.log_end < proof.next[1]):
        told["note"] = "A log ends before what was compared by the last audit: it was truncated"
    is_low = proof is not None and (proof.level < level or "L1" in (proof.level, level))
    if told["note"] or is_low or arguments["again"] == "yes":
        proof = None
    starts = proof.next if proof else (0, 0)
    edges = Edges(
        source_moved=source.log_start > starts[0] or is_recreated,
        target_moved=target.log_start > starts[1],
        is_proven=proof is not None,
        is_compacted=is_compacted,
    )
    spans = [
        replace(one, start=min(max(one.log_start, start), one.end))
        for one, start in zip((source, target), starts, strict=True)
    ]
    if proof:
        start = min(max(source.log_start, proof.next[0] - LOOK_BACK), spans[0].start)
        spans.append(replace(source, start=start, end=min(proof.next[0], source.end)))
    extra = told | {"edges": asdict(edges), "proof": asdict(proof) if proof else None}
    return Work(tuple(spans), extra)


def _bounded(works: Sequence[Work], most: int) -> list[Work]:
    """Return works of at most so many offsets: of a proven pair the oldest, of others the newest."""
    cut = iter(newest([span for one in works for span in one.spans[:2]], most))
    return [_cut(one, [next(cut) for _ in one.spans[:2]]) for one in works]


def _cut(work: Work, cut: Sequence[Span]) -> Work:
    if not any(one.is_cut for one in cut):
        return work
    edges = dict(work.extra["edges"])
    spans = list(work.spans)
    if edges["is_proven"]:
        for number, (whole, part) in enumerate(zip(work.spans, cut, strict=False)):
            spans[number] = replace(whole, end=whole.start + part.offsets)
        edges["source_cut"], edges["target_cut"] = (one.is_cut for one in cut)
    else:
        spans[:2] = cut
        edges["is_cut"] = True
    return Work(tuple(spans), {**work.extra, "edges": edges})


def notes_about(works: Sequence[Work]) -> Iterator[str]:
    """Yield sentences about proofs that no longer hold, and about what is read by the next run."""
    for work in works:
        if work.extra.get("note"):
            yield (
                f"{work.extra['topic']}-{work.extra['partition']}: {work.extra['note']}; it was read "
                "from its beginning."
            )
    later = sum(
        work.extra["edges"]["source_cut"] or work.extra["edges"]["target_cut"]
        for work in works
        if work.spans
    )
    if later:
        yield f"{later:,} partitions have more records (argument most_records): the next run reads them."

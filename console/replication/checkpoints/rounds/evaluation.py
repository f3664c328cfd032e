"""Readiness of groups, topics and the flow, from stored rows and query results: pure, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.replication.checkpoints.rounds.answers import (
    Answers,
    GroupAnswer,
    behind_of,
    checkpoint_at_of,
    reason_of,
)
from console.replication.checkpoints.rounds.facts import Commits, Member, StoredFacts
from console.replication.checkpoints.rounds.memory import Memory
from jobs.cluster.descriptions import TopicPartition
from jobs.limits import short
from jobs.replication.checkpoints import readiness as rules
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import (
    SYNCS_READ_WITHIN_MS,
    GroupFacts,
    PartitionFacts,
    SeenCheckpoint,
    TopicState,
    measure_checkpoint,
)
from jobs.replication.checkpoints.readiness import Part, Thresholds, Verdict
from jobs.replication.translation.sync_history import ComingCommits
from jobs.replication.translation.translator import SourceEnd, Translator
from jobs.wire.topics.streams_topics import is_repartition

_ACTIVE_WITHOUT_COUNT = {
    "Stable",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
}


@dataclass(frozen=True, slots=True)
class RoundReadings:
    """The query results of a round; `checkpoints_state` is the state of the checkpoints topic.

    `unproven` are groups whose commits may be older than what they are compared with.
    """

    checkpoints: CheckpointsRead
    checkpoints_state: TopicState
    ends: Mapping[TopicPartition, SourceEnd]
    translator: Translator
    stale: str = ""
    unproven: frozenset[str] = frozenset()


def answer_all(
    stored: StoredFacts,
    asked: RoundReadings,
    limits: Thresholds,
    now_ms: int,
    memory: Memory | None = None,
) -> Answers:
    """Return the answers for every group that has to do with the flow, for its topics and for the flow.

    Groups of which `memory` knows that nothing has changed are `is_same`.
    """
    judge = _Judge(stored, asked, limits, now_ms, memory)
    groups = [one for name in sorted(judge.group_names()) if (one := judge.group(name))]
    stale = asked.stale
    data = rules.judge_data(_data_of(stored, stored.copied), limits)
    left_out = stored.groups_left_out
    verdicts = [one.verdict for one in groups]
    flow = rules.judge_flow(verdicts, data, stale=stale, left_out=left_out, differs=stored.differs)
    answers = Answers(flow, groups)
    by_topic: dict[str, list[Verdict]] = {}
    for one in groups:
        for topic, verdict in one.topics.items():
            by_topic.setdefault(topic, []).append(verdict)
    partitions: dict[str, list[TopicPartition]] = {}
    for where in stored.copied:
        partitions.setdefault(where.topic, []).append(where)
    # Which topics they read besides is not known.
    partial = [one for one in groups if one.group in stored.left_out]
    for topic in sorted(partitions.keys() | by_topic.keys()):
        data = rules.judge_data(_data_of(stored, partitions.get(topic, [])), limits)
        readers = [
            *by_topic.get(topic, []),
            *(one.verdict for one in partial if topic not in one.topics),
        ]
        verdict = rules.judge_flow(readers, data, stale=stale, left_out=left_out)
        answers.topics[topic] = (verdict, verdict.parts)
    return answers


def _data_of(
    stored: StoredFacts, partitions: Iterable[TopicPartition]
) -> list[tuple[str, int | None, int | None]]:
    rows = ((where, stored.copied[where]) for where in sorted(partitions))
    return [(str(where), row.lag, row.lag_ms) for where, row in rows]


def sketches_of(
    translator: Translator, commits: Commits
) -> dict[tuple[TopicPartition, int | None], tuple[int, int, int]]:
    """Return (lo, hi, why) of every committed offset, all at once: to see whether anything is new.

    The tuple changes whenever the bounds or the reason of a certificate change.
    """
    asked = list({(w, o) for group in commits.values() for w, o in group.items() if o is not None})
    if not asked:
        return {}
    found = translator.translate_many(
        [where for where, _ in asked], [offset for _, offset in asked]
    )
    columns = zip(found.lo.tolist(), found.hi.tolist(), found.why.tolist(), strict=True)
    return dict(zip(asked, columns, strict=True))


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What is known of a group: its offsets, its checkpoints, its offsets on the target."""

    name: str
    facts: GroupFacts
    places: Mapping[TopicPartition, int | None]
    kept: Mapping[TopicPartition, SeenCheckpoint]
    synced: Mapping[TopicPartition, int | None]


class _Judge:
    """Judges groups; what all of them share is looked up once."""

    def __init__(
        self,
        stored: StoredFacts,
        asked: RoundReadings,
        limits: Thresholds,
        now_ms: int,
        memory: Memory | None,
    ) -> None:
        self.stored, self.asked, self.limits, self.now_ms = stored, asked, limits, now_ms
        self._memory = memory
        self._mm2s: dict[tuple[TopicPartition, int], int | None] = {}
        self._comings: dict[tuple[TopicPartition, int], ComingCommits | None] = {}
        self._sketches = sketches_of(asked.translator, stored.commits)
        self._checkpoints: dict[str, dict[TopicPartition, SeenCheckpoint]] = {}
        for key, kept in asked.checkpoints.checkpoints.items():
            self._checkpoints.setdefault(short(key.group), {})[key.where] = kept
        self._source_of = {stored.names.remote(where): where for where in stored.copied}

    def _mm2(self, where: TopicPartition, committed: int | None) -> int | None:
        if committed is None:
            return None
        if (where, committed) not in self._mm2s:
            self._mm2s[where, committed] = self.asked.translator.mm2(where, committed)
        return self._mm2s[where, committed]

    def _coming(self, where: TopicPartition, committed: int) -> ComingCommits | None:
        if (where, committed) not in self._comings:
            history = self.asked.translator.history(where)
            self._comings[where, committed] = history.coming(committed) if history else None
        return self._comings[where, committed]

    def group_names(self) -> Iterable[str]:
        """Return the groups with an offset on the source or a checkpoint of this flow."""
        known = self.stored.commits.keys() | self._checkpoints.keys()
        return known | self.stored.left_out.keys()

    def group(self, name: str) -> GroupAnswer | None:
        """Return the answer for a group; None when it has nothing to do with the flow."""
        stored = self.stored
        commits = stored.commits.get(name, {})
        kept = self._checkpoints.get(name, {})
        own = {
            where: offset
            for where, offset in commits.items()
            if stored.names.has_topic(where.topic)
        }
        if not own and name not in stored.left_out:
            gone: dict[TopicPartition, int | None] = {
                self._source_of[remote]: None for remote in kept if remote in self._source_of
            }
            if not gone or name in stored.groups:
                return None
            own = gone
        facts = self._facts_of_group(name, stored.groups.get(name))
        beside = _outside(commits, stored)
        places = own | {where: commits[where] for where in beside}
        found = _Inputs(name, facts, places, kept, stored.synced.get(name, {}))
        key = self._key_of(found)
        known = self._memory.same(name, key) if self._memory else None
        return known or self._judged(found, beside, key)

    def _judged(
        self, found: _Inputs, beside: Sequence[TopicPartition], key: tuple[int, int]
    ) -> GroupAnswer:
        facts, stale = found.facts, self.asked.stale
        parts = [self._part(where, offset, found) for where, offset in sorted(found.places.items())]
        missing = _missing(found.name, beside, self.stored) if facts.is_selected else []
        verdict = rules.judge_group(parts, facts, stale=stale, other_topics=missing)
        return GroupAnswer(
            found.name,
            self.stored.groups.get(found.name),
            verdict,
            self._topics(parts, facts),
            parts,
            behind_of(parts),
            checkpoint_at_of(parts),
            reason_of(parts),
            key,
        )

    def _key_of(self, found: _Inputs) -> tuple[int, int]:
        """Return a key of everything that decides an answer: the same key, the same answer."""
        stored, asked = self.stored, self.asked
        rows = []
        for where, committed in found.places.items():
            remote = stored.names.remote(where)
            end = asked.ends.get(where)
            sketch, kept = self._sketches.get((where, committed)), found.kept.get(remote)
            is_at_end = end is not None and committed is not None and committed >= end.source_end
            is_open = sketch is not None and sketch[1] < 0
            synced = found.synced.get(remote)
            is_at_end |= end is not None and (end.is_empty or (synced or 0) > end.target_most)
            is_new = kept is not None and self.now_ms - (kept.at_ms or 0) < SYNCS_READ_WITHIN_MS
            rows.append(
                (
                    where,
                    committed,
                    kept,
                    synced,
                    stored.copied.get(where),
                    stored.remote_starts.get(remote),
                    sketch,
                    self._mm2(where, committed),
                    end if is_at_end or is_open or found.facts.has_members is not False else None,
                    is_open and is_new,
                )
            )
        return hash((stored.groups.get(found.name), found.facts, asked.stale)), hash(tuple(rows))

    def _topics(self, parts: Sequence[Part], facts: GroupFacts) -> dict[str, Verdict]:
        by_topic: dict[str, list[Part]] = {}
        for part in parts:
            if part.facts.is_selected:
                by_topic.setdefault(part.facts.where.topic, []).append(part)
        stale = self.asked.stale
        return {t: rules.judge_group(own, facts, stale=stale) for t, own in by_topic.items()}

    def _facts_of_group(self, name: str, member: Member | None) -> GroupFacts:
        there = self.stored.target_groups.get(name)
        is_known = self.stored.is_target_known
        return GroupFacts(
            is_there=member is not None,
            is_selected=self.stored.names.has_group(name),
            has_members=None if member is None else _is_active(member),
            is_active_on_target=_is_active(there) if there else (False if is_known else None),
            checkpoints=self.asked.checkpoints_state,
            is_failed_over=name in self.stored.failed_over and not (member and _is_active(member)),
            is_commit_newer=name not in self.asked.unproven,
            left_out=self.stored.why_unknown(name),
        )

    def _part(
        self,
        where: TopicPartition,
        committed: int | None,
        found: _Inputs,
    ) -> Part:
        stored, asked, group = self.stored, self.asked, found.facts
        remote = stored.names.remote(where)
        row, is_copied = stored.copied.get(where), stored.names.has_topic(where.topic)
        proof = mm2 = coming = None
        end = asked.ends.get(where)
        is_beyond = end is not None and committed is not None and committed > end.source_most
        if committed is not None and group.is_selected and not is_beyond:
            proof = asked.translator.translate(where, committed, end=end)
            mm2 = self._mm2(where, committed)
            coming = None if group.has_members is False else self._coming(where, committed)
        facts = PartitionFacts(
            where,
            committed=committed,
            checkpoint=found.kept.get(remote),
            certificate=proof,
            mm2=mm2,
            synced=found.synced.get(remote),
            position=row.position if row else None,
            at_risk=row.lag if row else None,
            at_risk_ms=row.lag_ms if row else None,
            remote_log_start=stored.remote_starts.get(remote),
            remote_end=end.target_end if end else None,
            log_start_offset=row.log_start_offset if row else None,
            end_offset=row.end_offset if row else None,
            is_selected=is_copied,
            # A copy of the same name is the one that the application reads there; of changelogs Kafka
            # Streams commits nothing.
            is_streams_internal=is_repartition(found.name, where.topic)
            and not (is_copied and remote.topic == where.topic),
            coming=coming,
            source_most=end.source_most if end else None,
            target_most=end.target_most if end else None,
        )
        lag = measure_checkpoint(facts, group, self.now_ms)
        return rules.judge_partition(facts, lag, group, self.limits)


def _is_active(member: Member) -> bool:
    if member.member_count is not None:
        return member.member_count > 0
    return member.state in _ACTIVE_WITHOUT_COUNT


def _outside(
    commits: Mapping[TopicPartition, int | None], stored: StoredFacts
) -> list[TopicPartition]:
    """Return what a group reads beside the flow, without Kafka's own topics and what came from the target."""
    return [
        where
        for where in commits
        if not stored.names.has_topic(where.topic)
        and not where.topic.startswith("__")
        and not stored.is_from_target(where.topic)
    ]


def _missing(group: str, others: Iterable[TopicPartition], stored: StoredFacts) -> list[str]:
    topics = {where.topic for where in others if not is_repartition(group, where.topic)}
    return sorted(t for t in topics if not stored.is_copied_elsewhere(t))


def partition_document(part: Part, remote: TopicPartition) -> dict[str, Any]:
    """Return what is stored of a group on one partition; nothing in it changes while nothing happens."""
    facts, lag, proof = part.facts, part.lag, part.facts.certificate
    kept = facts.checkpoint
    return {
        "topic": facts.where.topic,
        "partition": facts.where.partition,
        "remote_topic": remote.topic,
        "readiness": part.readiness.value,
        "obstacles": [obstacle.value for obstacle in part.obstacles],
        "committed": facts.committed,
        "upstream": kept.upstream if kept else None,
        "downstream": kept.downstream if kept else None,
        "checkpoint_at_ms": kept.at_ms if kept else None,
        "behind": lag.behind,
        "reason": lag.reason.value,
        "synced": facts.synced,
        "resume": lag.resume,
        "resume_by": lag.resume_by.value,
        "lo": proof.lo if proof else None,
        "hi": proof.hi if proof else None,
        "why": proof.reason if proof else "",
        "evidence": [list(sync) for sync in proof.evidence] if proof else [],
        "mm2": facts.mm2,
        "reread": list(lag.reread) if lag.reread else None,
        "skipped": list(lag.skipped) if lag.skipped else None,
        "at_risk": facts.at_risk,
        "at_risk_ms": facts.at_risk_ms,
    }

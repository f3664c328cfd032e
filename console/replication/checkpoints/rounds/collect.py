"""The round of checkpoints: rows and both clusters -> apply the rules -> write answers and how it went."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from console.frame.errors import ActionRefused
from console.frame.rounds import Clock, Outcome, Rounds
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds import store as readiness_save
from console.replication.checkpoints.rounds.answers import Answers
from console.replication.checkpoints.rounds.evaluation import RoundReadings, answer_all
from console.replication.checkpoints.rounds.facts import StoredFacts, read_stored
from console.replication.checkpoints.rounds.memory import MEMORIES, Memory
from console.replication.checkpoints.rounds.order import groups_to_ask, take_commits
from console.replication.flows.models import FlowReadiness, GroupReadiness, ReplicationFlow
from console.replication.measurement.store import error_of
from console.replication.translation.translator import open_flow_translator
from jobs.cluster.admin import offsets
from jobs.cluster.admin.groups import read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.checkpoints.follow import CheckpointsRead, follow_checkpoints
from jobs.replication.checkpoints.lag import TopicState
from jobs.replication.checkpoints.obstacles import HOLD
from jobs.replication.checkpoints.readiness import Thresholds
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import SourceEnd, Translator

logger = logging.getLogger(__name__)

T = TypeVar("T")

TIMEOUT_S = 10.0
STALE_MS = 180_000
# Tombstones leave a compacted topic after a day: after a longer pause the topic is read from its start.
FORGET = timedelta(hours=6)
# Settings that decide which checkpoints are kept.
_MARKED = ("topics", "topics_exclude", "groups", "groups_exclude", "policy", "separator")
Places = Mapping[TopicPartition, TopicPartition]
Commits = Mapping[str, Mapping[TopicPartition, CommittedOffset]]


def _read_checkpoints(flow: FlowSpec, before: CheckpointsRead) -> CheckpointsRead:
    topic = policy_of(flow).checkpoints_topic(flow.source.alias)
    with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
        return follow_checkpoints(client, topic, before)


def _read_commits(flow: FlowSpec, groups: Collection[str]) -> Commits:
    with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
        return read_committed_offsets(client, groups)


def _read_ends(flow: FlowSpec, remote: Places) -> Mapping[TopicPartition, SourceEnd]:
    """Send ListOffsets to the target, then to the source, in this order (see `SourceEnd`)."""
    with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
        there = _ends(client, set(remote.values()))
    with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
        here = _ends(client, set(remote))
    return {
        where: _source_end(here[where], there[copy])
        for where, copy in remote.items()
        if where in here and copy in there
    }


def _ends(
    client: ClusterClient, partitions: set[TopicPartition]
) -> dict[TopicPartition, OffsetRange]:
    found = offsets.read_offset_ranges(client, partitions, with_timestamps=False)
    return {w: r for w, r in found.items() if r.end_offset is not None and not r.error}


def _source_end(here: OffsetRange, there: OffsetRange) -> SourceEnd:
    return SourceEnd(
        here.end_offset or 0,
        there.end_offset or 0,
        None,
        here.log_start_offset,
        there.log_start_offset,
        here.high_watermark,
        there.high_watermark,
    )


@dataclass(frozen=True, slots=True)
class CheckpointQueries:
    """What a round of checkpoints reads of clusters; each of those may raise `ClusterFault`.

    `checkpoints` returns them as they are now, having read what is new. `commits` are committed offsets of
    groups on the source; a group that could not be read is absent. `ends` are where both sides end, by
    source partition, from the names on the target; unknown: absent. `translator` answers from a flow's
    archived offset syncs; without any, it knows nothing.
    """

    checkpoints: Callable[[FlowSpec, CheckpointsRead], CheckpointsRead] = _read_checkpoints
    commits: Callable[[FlowSpec, Collection[str]], Commits] = _read_commits
    ends: Callable[[FlowSpec, Places], Mapping[TopicPartition, SourceEnd]] = _read_ends
    translator: Callable[[ReplicationFlow], Translator] = open_flow_translator


KAFKA = CheckpointQueries()

CHECKPOINTS: Rounds[ReplicationFlow, FlowReadiness] = Rounds(
    name="checkpoints",
    rows=FlowReadiness,
    of="flow",
    subjects=lambda: ReplicationFlow.objects.select_related("source", "target"),
    every_s=lambda: settings.CHECKPOINT_INTERVAL_S,
    activity="judging",
)


def thresholds() -> Thresholds:
    """Return where READY ends, as the environment says."""
    return Thresholds(
        rpo_ms=settings.READY_RPO_S * 1000,
        blocked_rpo_ms=settings.BLOCKED_RPO_S * 1000,
        reread=settings.READY_REREAD,
        stale_ms=STALE_MS,
    )


def collect_readiness(
    flow_id: int, clock: Clock = timezone.now, queries: CheckpointQueries = KAFKA
) -> bool:
    """Run one round when it is due; False when it is not, another worker runs it, or the flow is gone."""

    def row_of(flow: ReplicationFlow) -> FlowReadiness:
        new = {"since": clock(), "updated_at": clock()}
        return FlowReadiness.objects.get_or_create(flow=flow, defaults=new)[0]

    def collect(flow: ReplicationFlow, row: FlowReadiness) -> Outcome:
        return _Round(flow, row, clock(), queries).run()

    return CHECKPOINTS.run(flow_id, collect, clock, row_of)


@dataclass(slots=True)
class _Round:
    """One round of one flow. `fault` is what first went wrong, also when there are answers all the same."""

    flow: ReplicationFlow
    answer: FlowReadiness
    now: datetime
    queries: CheckpointQueries
    fault: ClusterFault | None = None

    def run(self) -> Outcome:
        """Query, judge, write; an answer that does not count yet makes the next round due sooner."""
        stored = read_stored(self.flow, self.now, STALE_MS)
        mark = _mark_of(self.flow, stored)
        written_at = self.answer.updated_at if self.answer.succeeded_at else None
        memory = MEMORIES.of(self.flow.pk, written_at, mark)
        rows = readiness_save.stored_answers(self.flow, is_remembered=memory is not None)
        known = self._known(mark, memory, rows)
        read = self._ask(lambda: self.queries.checkpoints(stored.spec, known))
        checkpoints = read or known
        unproven = self._commits(stored, checkpoints)
        asked = RoundReadings(
            checkpoints,
            self._state_of(read, known),
            self._ends(stored),
            self._translator(),
            self._stale(stored, read, known),
            unproven,
        )
        answers = answer_all(stored, asked, thresholds(), int(self.now.timestamp() * 1000), memory)
        is_held = self._write(answers, rows, stored, read, mark)
        MEMORIES.keep(self.flow.pk, Memory(self.now, mark, checkpoints), answers.groups)
        return Outcome(
            {"succeeded_at": self.now, **error_of(self.fault)},
            fault=self.fault,
            due_in_s=min(HOLD.total_seconds(), CHECKPOINTS.every_s()) if is_held else None,
        )

    def _write(
        self,
        answers: Answers,
        rows: dict[str, GroupReadiness],
        stored: StoredFacts,
        read: CheckpointsRead | None,
        mark: str,
    ) -> bool:
        with transaction.atomic():
            is_held = readiness_save.save_answers(self.flow, answers, rows, stored.names, self.now)
            if read is not None:
                readiness_save.save_read(self.answer, read, mark, self.now)
            checkpoint_series.save_samples(self.flow, self.answer, answers, self.now)
        return is_held

    def _known(
        self, mark: str, memory: Memory | None, rows: dict[str, GroupReadiness]
    ) -> CheckpointsRead:
        """Return what is known of the topic of checkpoints; nothing for other settings, or after hours."""
        row = self.answer
        at = row.checkpoints_read_at
        if row.settings_mark != mark or at is None or self.now - at > FORGET:
            return CheckpointsRead()
        if memory is not None:
            return memory.checkpoints
        kept = readiness_save.stored_checkpoints(rows)
        return CheckpointsRead(kept, row.checkpoints_read_to, row.checkpoints_topic_id)

    def _state_of(self, read: CheckpointsRead | None, known: CheckpointsRead) -> TopicState:
        if read is None:
            return TopicState.UNREADABLE if known.read_to is None else TopicState.READ
        return TopicState.READ if read.exists else TopicState.MISSING

    def _stale(
        self, stored: StoredFacts, read: CheckpointsRead | None, known: CheckpointsRead
    ) -> str:
        """Return what is too old to judge by; checkpoints that were never read are a reason of their own."""
        at = self.answer.checkpoints_read_at
        old = read is None and known.read_to is not None and at is not None
        is_stale = old and at is not None and (self.now - at).total_seconds() * 1000 > STALE_MS
        return "; ".join(filter(None, [stored.stale, "checkpoints" if is_stale else ""]))

    def _commits(self, stored: StoredFacts, checkpoints: CheckpointsRead) -> frozenset[str]:
        """Ask again for commits that are older than what they are compared with (`order`)."""
        older = groups_to_ask(stored, checkpoints)
        found = self._ask(lambda: self.queries.commits(stored.spec, older)) if older else {}
        return take_commits(stored, older, found or {})

    def _ends(self, stored: StoredFacts) -> dict[TopicPartition, SourceEnd]:
        """Return where both sides end, with the flow's positions, which were read before."""
        remote = {where: stored.names.remote(where) for where in stored.copied}
        found = self._ask(lambda: self.queries.ends(stored.spec, remote)) if remote else {}
        return {
            where: end._replace(copied_to=stored.copied[where].copied_to)
            for where, end in (found or {}).items()
        }

    def _translator(self) -> Translator:
        try:
            return self.queries.translator(self.flow)
        except ActionRefused as refusal:
            hint = "Nothing can be translated until it can be read again."
            raise ClusterFault(refusal.message, cluster=self.flow.name, hint=hint) from refusal

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except ClusterFault as fault:
            self.fault = self.fault or fault
            logger.info("round of checkpoints flow=%s error=%s", self.flow.name, fault)
            return None


def _mark_of(flow: ReplicationFlow, stored: StoredFacts) -> str:
    """Return a hash of the settings by which groups are judged, of this flow and its neighbours."""
    others = [[one.name, one.topics, one.topics_exclude] for one in stored.others]
    text = json.dumps([[getattr(flow, name) for name in _MARKED], others, str(thresholds())])
    return hashlib.sha256(text.encode()).hexdigest()

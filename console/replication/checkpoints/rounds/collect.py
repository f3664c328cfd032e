"""The round of checkpoints: rows and both clusters -> apply the rules -> write answers and how it went."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, TypeVar

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from console.frame.errors import ActionRefused
from console.frame.processes.work_sharing import longest_waiting
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.rounds import store as readiness_save
from console.replication.checkpoints.rounds.answers import Answers
from console.replication.checkpoints.rounds.evaluation import RoundReadings, answer_all
from console.replication.checkpoints.rounds.facts import StoredFacts, read_stored
from console.replication.checkpoints.rounds.memory import MEMORIES, Memory
from console.replication.checkpoints.rounds.order import groups_to_ask, take_commits
from console.replication.flows.models import FlowReadiness, GroupReadiness, ReplicationFlow
from console.replication.translation.translator import open_flow_translator
from jobs.cluster.admin import offsets
from jobs.cluster.admin.groups import read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import own_fault
from jobs.replication.checkpoints.follow import CheckpointsRead, follow_checkpoints
from jobs.replication.checkpoints.lag import TopicState
from jobs.replication.checkpoints.obstacles import HOLD
from jobs.replication.checkpoints.readiness import Thresholds
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import SourceEnd, Translator

# What the round of checkpoints asks of clusters and of the archive; tests put fakes in their place.

TIMEOUT_S = 10.0

# The answers of a flow's archived offset syncs; without any, a translator that knows nothing.
OpenTranslator = Callable[[ReplicationFlow], Translator]


class CheckpointDoor(Protocol):
    """Questions to the clusters of a flow; every one may raise `ClusterFault`."""

    def checkpoints(self, flow: FlowSpec, before: CheckpointsRead) -> CheckpointsRead:
        """Return the checkpoints as they stand, having read what is new."""
        ...

    def commits(
        self, flow: FlowSpec, groups: Collection[str]
    ) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Return committed offsets of groups on the source; a group that could not be read is absent."""
        ...

    def ends(
        self, flow: FlowSpec, remote: Mapping[TopicPartition, TopicPartition]
    ) -> Mapping[TopicPartition, SourceEnd]:
        """Return where both sides end, by source partition; `remote` names the target's. Unknown: absent."""
        ...


class KafkaDoor:
    """The real clusters; every question opens its own client and closes it."""

    def checkpoints(self, flow: FlowSpec, before: CheckpointsRead) -> CheckpointsRead:
        """Read the new records of the topic of checkpoints on the target."""
        topic = policy_of(flow).checkpoints_topic(flow.source.alias)
        with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
            return follow_checkpoints(client, topic, before)

    def commits(
        self, flow: FlowSpec, groups: Collection[str]
    ) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Ask each group's coordinator."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return read_committed_offsets(client, groups)

    def ends(
        self, flow: FlowSpec, remote: Mapping[TopicPartition, TopicPartition]
    ) -> Mapping[TopicPartition, SourceEnd]:
        """Ask ListOffsets of the target, then of the source, in this order (see `SourceEnd`)."""
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


KAFKA: CheckpointDoor = KafkaDoor()


logger = logging.getLogger(__name__)

T = TypeVar("T")

CLAIM = timedelta(seconds=120)
STALE_MS = 180_000
# Tombstones leave a compacted topic after a day: after a longer pause the topic is read from its start.
FORGET = timedelta(hours=6)
# Settings that decide which checkpoints are kept.
_MARKED = ("topics", "topics_exclude", "groups", "groups_exclude", "policy", "separator")


def due_flows(now: datetime) -> list[int]:
    """Return the ids of flows whose next round is due, new flows and the one that waits longest first."""
    resting = FlowReadiness.objects.filter(claimed_until__gte=now)
    due = ReplicationFlow.objects.exclude(pk__in=resting.values("flow"))
    return longest_waiting(due, "answer__claimed_until")


def thresholds() -> Thresholds:
    """Return where READY ends, as the environment says."""
    return Thresholds(
        rpo_ms=settings.READY_RPO_S * 1000,
        blocked_rpo_ms=settings.BLOCKED_RPO_S * 1000,
        reread=settings.READY_REREAD,
        stale_ms=STALE_MS,
    )


def collect_readiness(
    flow_id: int,
    now: datetime,
    door: CheckpointDoor = KAFKA,
    open_translator: OpenTranslator = open_flow_translator,
) -> bool:
    """Run one round; False when another worker runs it or the flow is gone."""
    flow = ReplicationFlow.objects.select_related("source", "target").filter(pk=flow_id).first()
    if flow is None:
        return False
    new = {"since": now, "updated_at": now}
    answer = FlowReadiness.objects.get_or_create(flow=flow, defaults=new)[0]
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    if not FlowReadiness.objects.filter(due, pk=answer.pk).update(claimed_until=now + CLAIM):
        return False
    begun = time.monotonic()
    round_ = _Round(flow, answer, now, door, open_translator)
    try:
        round_.run()
    except ClusterFault as fault:
        round_.note(str(fault), fault.hint)
    except InvalidFields as problem:
        round_.note(str(problem), "Correct the flow's settings.")
    except ActionRefused as refusal:
        round_.note(refusal.message, "Nothing can be translated until it can be read again.")
    except Exception:
        logger.exception("round of checkpoints failed flow=%s", flow.name)
        told = own_fault("judging")
        round_.note(told, "")
    _finish(answer, round_, now, int((time.monotonic() - begun) * 1000))
    return True


@dataclass(slots=True)
class _Round:
    """One round of one flow. `problem` is what went wrong, also when there are answers all the same.

    `is_held`: it found an answer that does not count yet, so the next round is due sooner.
    """

    flow: ReplicationFlow
    answer: FlowReadiness
    now: datetime
    door: CheckpointDoor
    open_translator: OpenTranslator
    is_done: bool = False
    is_held: bool = False
    problem: str = ""
    hint: str = ""
    findings: tuple[str, ...] = field(default=())

    def note(self, problem: str, hint: str) -> None:
        """Remember the first thing that went wrong."""
        if not self.problem:
            self.problem, self.hint = problem, hint

    def run(self) -> None:
        """Ask, judge, write."""
        stored = read_stored(self.flow, self.now, STALE_MS)
        mark = _mark_of(self.flow, stored)
        written_at = self.answer.updated_at if self.answer.succeeded_at else None
        memory = MEMORIES.of(self.flow.pk, written_at, mark)
        rows = readiness_save.stored_answers(self.flow, is_remembered=memory is not None)
        known = self._known(mark, memory, rows)
        read = self._ask(lambda: self.door.checkpoints(stored.spec, known))
        checkpoints = read or known
        unproven = self._commits(stored, checkpoints)
        asked = RoundReadings(
            checkpoints,
            self._state_of(read, known),
            self._ends(stored),
            self.open_translator(self.flow),
            self._stale(stored, read, known),
            unproven,
        )
        answers = answer_all(stored, asked, thresholds(), int(self.now.timestamp() * 1000), memory)
        self._write(answers, rows, stored, read, mark)
        MEMORIES.keep(self.flow.pk, Memory(self.now, mark, checkpoints), answers.groups)
        self.is_done = True

    def _write(
        self,
        answers: Answers,
        rows: dict[str, GroupReadiness],
        stored: StoredFacts,
        read: CheckpointsRead | None,
        mark: str,
    ) -> None:
        with transaction.atomic():
            self.is_held = readiness_save.save_answers(
                self.flow, answers, rows, stored.names, self.now
            )
            if read is not None:
                readiness_save.save_read(self.answer, read, mark, self.now)
            checkpoint_series.save_samples(self.flow, self.answer, answers, self.now)

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
        found = self._ask(lambda: self.door.commits(stored.spec, older)) if older else {}
        return take_commits(stored, older, found or {})

    def _ends(self, stored: StoredFacts) -> dict[TopicPartition, SourceEnd]:
        """Return where both sides end, with the flow's positions, which were read before."""
        remote = {where: stored.names.remote(where) for where in stored.copied}
        found = self._ask(lambda: self.door.ends(stored.spec, remote)) if remote else {}
        return {
            where: end._replace(copied_to=stored.copied[where].copied_to)
            for where, end in (found or {}).items()
        }

    def _ask(self, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except ClusterFault as fault:
            self.note(str(fault), fault.hint)
            logger.info("round of checkpoints flow=%s error=%s", self.flow.name, fault)
            return None


def _finish(answer: FlowReadiness, round_: _Round, now: datetime, duration_ms: int) -> None:
    """Write how the round went; what failed has its time, what succeeded keeps its own."""
    # A little less than the interval, so that the next tick of the clock finds the flow due.
    hold_s = HOLD.total_seconds() if round_.is_held else settings.CHECKPOINT_INTERVAL_S
    rest_s = max(min(hold_s, settings.CHECKPOINT_INTERVAL_S), 2 * duration_ms / 1000)
    rest = timedelta(seconds=rest_s - 0.5)
    row = FlowReadiness.objects.filter(pk=answer.pk)
    values: dict[str, object] = {
        "claimed_until": now + rest,
        "duration_ms": duration_ms,
        "error": round_.problem,
        "hint": round_.hint,
    }
    if round_.is_done:
        values["succeeded_at"] = now
    row.update(**values)
    if not round_.problem:
        row.update(failing_since=None)
    else:
        row.filter(failing_since=None).update(failing_since=now)


def _mark_of(flow: ReplicationFlow, stored: StoredFacts) -> str:
    """Return a hash of the settings by which groups are judged, of this flow and its neighbours."""
    others = [[one.name, one.topics, one.topics_exclude] for one in stored.others]
    text = json.dumps([[getattr(flow, name) for name in _MARKED], others, str(thresholds())])
    return hashlib.sha256(text.encode()).hexdigest()

"""Checkpoint lag: the rules, without any I/O or clock.

Per group and source partition
    C1  Checkpoint age: now minus the timestamp of its record. It grows while a group rests, too: only where
        the group has committed since (`behind`) does an old checkpoint mean anything.
    C2  Behind: the group's committed offset minus the checkpoint's upstream offset, both on the source. A
        group that was set back is not behind; the reason says that the checkpoint is ahead of it.
    C3  Where the group would resume without a plan: at its own committed offset on the target where it has
    one,
        else at the checkpoint (clients that call RemoteClusterUtils), else not known.
    C4  Read again: from there to the true place, which is between the certificate's bounds: so between
        lo - resume and hi - resume, never below zero. Without an upper bound the second one is unknown.
        Where no record is between lo and the true place, it is lo - resume.
    C5  Skipped: the other way round. Above zero for certain when resuming there is behind the true place's
        upper bound.
    C6  At risk: records of the source that the target does not have, and their distance in record timestamps
        (`jobs.replication.flow.lag`): no latency that goes stale when nothing flows.
    C7  Order: a group commits while it is measured. Its commit says that it went back, or that the target is
        ahead of it, only when it was read after the checkpoint and after the group's offset on the target.
    C8  Without a later offset sync the copy's end bounds what is read again now; and a checkpoint that was
        just written may know of offset syncs that were not read here yet: nothing contradicts it so soon.
    C9  Beyond the end: a commit above the high watermark that was read after it is of no record that is
        there. It is translated to nothing, and nothing is counted from it. The same on the target.
    C10 Repeated by a plan: what a plan says of the committed offset, which is what it says once the group has
        stopped. While it commits a plan finds newer commits, of which offset syncs say less: the most that it
        may say of any commit from here to the source's end is a bound of its own.
    C11 Offsets are counted, not records: transaction markers and compaction make these numbers upper bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.reasons import (
    CheckpointReason,
)
from jobs.replication.offset_sync_store import TOO_OLD
from jobs.replication.translation.sync_history import (
    Certificate,
    ComingCommits,
    repeated_at_most,
    repeats_nothing,
)

_R = CheckpointReason
# Offset syncs are read within some seconds; a checkpoint that is older has all of its own read here.
SYNCS_READ_WITHIN_MS = 10_000


class SeenCheckpoint(NamedTuple):
    """A checkpoint; `at_ms` is the timestamp of its record, None: it has none."""

    upstream: int
    downstream: int
    at_ms: int | None


class Bounds(NamedTuple):
    """At least `lo` and at most `hi` of something; `hi` None: nothing bounds it."""

    lo: int
    hi: int | None


class ResumeBy(StrEnum):
    """What decides where a group resumes without a plan."""

    GROUP = "group"
    CHECKPOINT = "checkpoint"
    NOTHING = "nothing"


class TopicState(StrEnum):
    """What is known of the topic of checkpoints."""

    READ = "read"
    MISSING = "missing"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What is true of a group as a whole.

    `is_there`: the source knows it. `is_selected`: the flow's patterns name it. `has_members` on the source,
    `is_active_on_target` there; None: unknown. `is_failed_over`: a plan moved it to the target, where it
    stays. `is_commit_newer`: its commits are known to be newer than what they are compared with.
    `left_out` says what of its offsets is beyond the limits, empty for nothing.
    """

    is_there: bool = True
    is_selected: bool = True
    has_members: bool | None = None
    is_active_on_target: bool | None = False
    checkpoints: TopicState = TopicState.READ
    is_failed_over: bool = False
    is_commit_newer: bool = True
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What is known of a group on one source partition; None is unknown or absent, as it says.

    `committed` on the source (None: never), `synced` the group's own offset on the target (None: it has
    none), `certificate` and `mm2` for the committed offset now (None: no offset sync). `position` is the next
    source offset to be copied (None: nothing was copied). `at_risk` records the target does not have and
    `at_risk_ms` their distance in time (None: unknown). `remote_log_start` is where the copy begins,
    `remote_end` where it ends, read after all others, and `log_start_offset` and `end_offset` are the
    source's (None: unknown). `source_most` and `target_most` are the highest offsets that a group can have
    committed on each side, read after `committed` and `synced` (None: unknown).
    `coming` is what offset syncs say of commits to come (None: nothing). `is_streams_internal`: Kafka Streams
    made the topic for this group, and the copy has another name.
    """

    where: TopicPartition
    committed: int | None = None
    checkpoint: SeenCheckpoint | None = None
    certificate: Certificate | None = None
    mm2: int | None = None
    synced: int | None = None
    position: int | None = None
    at_risk: int | None = None
    at_risk_ms: int | None = None
    remote_log_start: int | None = None
    remote_end: int | None = None
    log_start_offset: int | None = None
    end_offset: int | None = None
    is_selected: bool = True
    is_streams_internal: bool = False
    coming: ComingCommits | None = None
    source_most: int | None = None
    target_most: int | None = None

    @property
    def is_beyond_end(self) -> bool:
        """Whether the committed offset is beyond the end of the source partition."""
        return _is_above(self.committed, self.source_most)

    @property
    def is_beyond_target_end(self) -> bool:
        """Whether the group's own offset on the target is beyond the end of the remote partition."""
        return _is_above(self.synced, self.target_most)

    @property
    def is_empty(self) -> bool:
        """Whether the source partition is known to hold nothing."""
        return self.end_offset is not None and self.end_offset <= (self.log_start_offset or 0)


@dataclass(frozen=True, slots=True)
class CheckpointLag:
    """What follows for a group on one partition; None is unknown. See the rules above."""

    age_ms: int | None
    behind: int | None
    resume: int | None
    resume_by: ResumeBy
    reread: Bounds | None
    skipped: Bounds | None
    duplicates: Bounds | None
    duplicates_coming: Bounds | None
    reason: CheckpointReason


def measure_checkpoint(facts: PartitionFacts, group: GroupFacts, now_ms: int) -> CheckpointLag:
    """Return the lag of a checkpoint.

    `duplicates` is what a failover by a plan repeats once the group has stopped, `duplicates_coming` while it
    commits.
    """
    kept = facts.checkpoint
    age_ms = None if kept is None or kept.at_ms is None else max(now_ms - kept.at_ms, 0)
    behind = None
    if kept is not None and facts.committed is not None and not facts.is_beyond_end:
        behind = max(facts.committed - kept.upstream, 0)
    resume, resume_by = _resume_of(facts)
    proof = _until_end(facts)
    duplicates = _by_a_plan(facts)
    skipped = _passed(proof, resume) if _is_comparable(facts, group, resume, age_ms) else None
    return CheckpointLag(
        age_ms=age_ms,
        behind=behind,
        resume=resume,
        resume_by=resume_by,
        reread=_ahead(facts, proof, resume),
        skipped=skipped,
        duplicates=duplicates,
        duplicates_coming=duplicates if group.has_members is False else _coming(facts, duplicates),
        reason=_reason_of(facts, group, skipped),
    )


def add_bounds(every: list[Bounds]) -> Bounds:
    """Return the sum; unbounded as soon as one of them is."""
    highs = [bounds.hi for bounds in every]
    known = [high for high in highs if high is not None]
    return Bounds(sum(b.lo for b in every), sum(known) if len(known) == len(highs) else None)


def _is_above(offset: int | None, most: int | None) -> bool:
    return offset is not None and most is not None and offset > most


def _resume_of(facts: PartitionFacts) -> tuple[int | None, ResumeBy]:
    if facts.synced is not None:
        return facts.synced, ResumeBy.GROUP
    if facts.checkpoint is not None:
        return facts.checkpoint.downstream, ResumeBy.CHECKPOINT
    return None, ResumeBy.NOTHING


def _until_end(facts: PartitionFacts) -> Certificate | None:
    """Return the certificate, bounded by the copy's end where no later offset sync bounds it."""
    proof, end = facts.certificate, facts.remote_end
    if proof is None or proof.hi is not None or end is None:
        return proof
    return proof._replace(hi=max(proof.lo, end))


def _is_comparable(
    facts: PartitionFacts, group: GroupFacts, resume: int | None, age_ms: int | None
) -> bool:
    """Return whether what is known can contradict where the group would resume (rules C7 and C8)."""
    if not group.is_commit_newer or facts.is_beyond_target_end:
        return False
    kept, proof = facts.checkpoint, facts.certificate
    if kept is None or proof is None or proof.hi is not None or resume is None:
        return True
    is_new = age_ms is not None and age_ms < SYNCS_READ_WITHIN_MS
    is_claimed = resume <= kept.downstream and kept.upstream <= (facts.committed or 0)
    return not (is_new and is_claimed)


def _width(facts: PartitionFacts, proof: Certificate) -> int | None:
    if repeats_nothing(proof, facts.committed or 0):
        return 0
    return None if proof.hi is None else max(proof.hi - proof.lo, 0)


def _by_a_plan(facts: PartitionFacts) -> Bounds | None:
    """Return what a plan says of the committed offset (`repeated_at_most`)."""
    proof, committed, position = facts.certificate, facts.committed, facts.position
    if proof is None or committed is None:
        return None
    target = max(proof.lo, facts.remote_log_start or 0)
    not_copied = None if position is None else max(committed - position, 0)
    return Bounds(0, repeated_at_most(proof, committed, target, facts.remote_end, not_copied))


def _coming(facts: PartitionFacts, stopped: Bounds | None) -> Bounds | None:
    """Return the most that a plan says of any commit from the committed offset to the source's end."""
    if stopped is None or facts.certificate is None:
        return stopped
    coming, there, position = facts.coming, facts.remote_end, facts.position
    here = facts.end_offset if facts.source_most is None else facts.source_most
    if None in (stopped.hi, there, here, position) or coming is None:
        return Bounds(0, None)
    lo = facts.certificate.lo if coming.gap is None else coming.lo
    width = max((there or 0) - max(lo, facts.remote_log_start or 0), coming.gap or 0)
    return Bounds(0, max(stopped.hi or 0, width + max((here or 0) - (position or 0), 0)))


def _ahead(facts: PartitionFacts, proof: Certificate | None, resume: int | None) -> Bounds | None:
    """Return how many offsets with records the true place is ahead of where the group resumes."""
    if proof is None or resume is None or facts.is_beyond_target_end:
        return None
    width, least = _width(facts, proof), max(proof.lo - resume, 0)
    return Bounds(least, None if width is None else max(proof.lo + width - resume, 0))


def _passed(proof: Certificate | None, resume: int | None) -> Bounds | None:
    """Return how far the group's resume offset is ahead of the true place."""
    if proof is None or resume is None:
        return None
    return Bounds(0 if proof.hi is None else max(resume - proof.hi, 0), max(resume - proof.lo, 0))


def _reason_of(
    facts: PartitionFacts, group: GroupFacts, skipped: Bounds | None
) -> CheckpointReason:
    outside = _outside(facts, group)
    if outside is not None:
        return outside
    if facts.is_beyond_end:
        return _R.BEYOND_END
    if facts.is_beyond_target_end:
        return _R.BEYOND_TARGET_END
    if facts.synced is not None and skipped is not None and skipped.lo:
        return _R.TARGET_AHEAD
    if facts.checkpoint is None:
        return _why_none(facts, group)
    return _how_current(facts, group, facts.checkpoint)


def _outside(facts: PartitionFacts, group: GroupFacts) -> CheckpointReason | None:
    """Return why no checkpoint is expected here."""
    if not group.is_selected:
        return _R.GROUP_FILTERED
    if facts.is_streams_internal:
        return _R.STREAMS_INTERNAL
    if not facts.is_selected:
        return _R.TOPIC_FILTERED
    if group.is_failed_over:
        return _R.FAILED_OVER
    if not group.is_there:
        return _R.GROUP_GONE
    return _R.NEVER_COMMITTED if facts.committed is None else None


def _why_none(facts: PartitionFacts, group: GroupFacts) -> CheckpointReason:
    if group.checkpoints is TopicState.UNREADABLE:
        return _R.UNREADABLE
    if group.checkpoints is TopicState.MISSING:
        return _R.NO_TOPIC
    if facts.mm2 is None and facts.certificate is None:
        return _R.NOT_COPIED if facts.position is None else _R.NO_SYNC
    if facts.mm2 == TOO_OLD:
        return _R.BEFORE_FIRST_SYNC if _is_before_all(facts.certificate) else _R.FORGOTTEN
    return _R.IDLE if group.has_members is False else _R.NOT_EMITTED


def _is_before_all(proof: Certificate | None) -> bool:
    """Return whether nothing but the first offset sync bounds a place, and that from above."""
    return proof is None or (len(proof.evidence) <= 1 and proof.hi is not None and not proof.exact)


def _how_current(
    facts: PartitionFacts, group: GroupFacts, kept: SeenCheckpoint
) -> CheckpointReason:
    committed = facts.committed or 0
    if committed == kept.upstream or (committed < kept.upstream and not group.is_commit_newer):
        return _R.CURRENT
    if committed < kept.upstream:
        return _R.REWOUND
    if facts.mm2 == TOO_OLD:
        return _R.FORGOTTEN
    is_better = facts.mm2 is not None and facts.mm2 > kept.downstream
    return _R.NOT_YET if is_better or facts.mm2 is None else _R.COARSE

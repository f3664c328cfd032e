"""Failover readiness of groups, topics and flows, with loss and repetition: the rules, without any I/O.

A verdict is made of obstacles; each has a step on the ladder READY, CAUTION, UNKNOWN, BLOCKED, and the worst
decides. What is not known is an obstacle of its own: it is never READY (green). A group that is excluded by
the flow's patterns, was deleted on the source, or was failed over by a plan, is NOT_COVERED and counts
nowhere.

    BLOCKED   records would be skipped, or the resume offset is not known
    UNKNOWN   a number that decides is missing or too old
    WARNING   it can be done, at a price that is above the thresholds or by a way that needs a person
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.numbers import largest_of
from jobs.replication.checkpoints.lag import (
    Bounds,
    CheckpointLag,
    GroupFacts,
    PartitionFacts,
    ResumeBy,
    add_bounds,
)
from jobs.replication.checkpoints.obstacles import STEPS, TEXTS, Obstacle, Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason

_O = Obstacle
# Nothing of these can fail over: they are shown, and count nowhere.
_OUTSIDE = frozenset(
    {
        CheckpointReason.GROUP_FILTERED,
        CheckpointReason.TOPIC_FILTERED,
        CheckpointReason.STREAMS_INTERNAL,
        CheckpointReason.GROUP_GONE,
        CheckpointReason.FAILED_OVER,
    }
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where READY ends. Times in ms, numbers in records.

    A loss above `rpo_ms` is WARNING, above `blocked_rpo_ms` BLOCKED; repeating more than `reread` records is
    WARNING; what is judged by data older than `stale_ms` is UNKNOWN.
    """

    rpo_ms: int = 60_000
    blocked_rpo_ms: int = 600_000
    reread: int = 10_000
    stale_ms: int = 180_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a verdict is as it is: one obstacle, of how many of the parts, and what to do about it."""

    obstacle: Obstacle
    readiness: Readiness
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class Part:
    """A group on one partition: its numbers and obstacles."""

    facts: PartitionFacts
    lag: CheckpointLag
    obstacles: tuple[Obstacle, ...]
    is_covered: bool = True

    @property
    def readiness(self) -> Readiness:
        """The worst of its obstacles; NOT_COVERED when it does not count."""
        if not self.is_covered:
            return Readiness.NOT_COVERED
        return worst(STEPS[obstacle] for obstacle in self.obstacles)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for a group-topic, a group, a topic or a flow.

    `rpo_records` and `rpo_ms` are what the target does not have; `reread` what is repeated when groups resume
    by themselves, `duplicates` by a plan once they have stopped, `duplicates_coming` by a plan while they
    commit. None is unknown.
    """

    readiness: Readiness
    evidence: tuple[Evidence, ...] = ()
    rpo_records: int | None = None
    rpo_ms: int | None = None
    reread: Bounds | None = None
    skipped: Bounds | None = None
    duplicates: Bounds | None = None
    duplicates_coming: Bounds | None = None
    parts: int = 0


def judge_partition(
    facts: PartitionFacts, lag: CheckpointLag, group: GroupFacts, limits: Thresholds
) -> Part:
    """Return a group on one partition with its obstacles."""
    if lag.reason in _OUTSIDE:
        return Part(facts, lag, (), is_covered=False)
    found = [*_of_data(facts, limits), *_of_place(facts, lag, limits)]
    return Part(facts, lag, tuple(found))


def judge_group(
    parts: Sequence[Part],
    group: GroupFacts,
    *,
    stale: str = "",
    other_topics: Sequence[str] = (),
) -> Verdict:
    """Return the verdict over the partitions of a group, or over those of one of its topics.

    `stale` names what it is judged by and is old; `other_topics` are those that no flow copies, without the
    internal ones of Kafka Streams.
    """
    covered = [part for part in parts if part.is_covered]
    if not (covered or group.left_out) or not group.is_selected:
        return Verdict(Readiness.NOT_COVERED, parts=len(parts))
    own = list(_of_group(group, stale=stale, other_topics=other_topics))
    total = _total(covered, [*own, *_grouped(covered)])
    if group.left_out:
        # Numbers over some of its partitions are not those of the group.
        return Verdict(total.readiness, evidence=total.evidence, parts=total.parts)
    return total


def judge_flow(
    groups: Iterable[Verdict],
    data: Verdict,
    *,
    stale: str = "",
    left_out: str = "",
    differs: str = "",
) -> Verdict:
    """Return the verdict over groups and over the copied data (`judge_data`), for a topic or a flow.

    The loss is that of the data, with every reader; repetitions add up over groups. `stale` as above,
    `left_out` says which groups are beyond the limits, `differs` what a copy audit found.
    """
    counted = [one for one in groups if one.readiness is not Readiness.NOT_COVERED]
    evidence = list(data.evidence)
    if stale:
        evidence.append(_evidence(_O.STALE, f"{stale}: "))
    if left_out:
        evidence.append(_evidence(_O.LEFT_OUT, f"{left_out} "))
    if differs:
        evidence.append(_evidence(_O.COPY_DIFFERS, f"{differs} "))
    evidence += _told_of(counted)
    return Verdict(
        readiness=worst(
            [*(one.readiness for one in counted), *(each.readiness for each in evidence)]
        ),
        evidence=_worst_first(evidence),
        rpo_records=data.rpo_records,
        rpo_ms=data.rpo_ms,
        reread=_sum_or_none([one.reread for one in counted]),
        skipped=_sum_or_none([one.skipped for one in counted]),
        duplicates=_sum_or_none([one.duplicates for one in counted]),
        duplicates_coming=_sum_or_none([one.duplicates_coming for one in counted]),
        parts=len(counted),
    )


def judge_data(lags: Iterable[tuple[str, int | None, int | None]], limits: Thresholds) -> Verdict:
    """Return what would be lost of copied partitions: (name, records missing, their time in ms)."""
    rows = list(lags)
    if not rows:
        nothing = _evidence(_O.DATA_UNKNOWN, "No partition was measured: ")
        return Verdict(Readiness.UNKNOWN, (nothing,))
    found: list[tuple[Obstacle, str]] = []
    for name, records, ms in rows:
        found += [(obstacle, name) for obstacle in _loss(records, ms, limits)]
    return Verdict(
        readiness=worst(STEPS[obstacle] for obstacle, _ in found),
        evidence=_counted(found, len(rows), "partition"),
        rpo_records=_all_known([records for _, records, _ in rows]),
        rpo_ms=largest_of(ms for _, _, ms in rows).value,
        parts=len(rows),
    )


def worst(steps: Iterable[Readiness]) -> Readiness:
    """Return the worst of several answers; READY when there are none."""
    return max(steps, key=lambda step: step.rank, default=Readiness.READY)


def _of_data(facts: PartitionFacts, limits: Thresholds) -> list[Obstacle]:
    if facts.position is None and facts.certificate is None and not facts.is_empty:
        return [_O.NOT_COPIED]
    return _loss(facts.at_risk, facts.at_risk_ms, limits)


def _loss(records: int | None, ms: int | None, limits: Thresholds) -> list[Obstacle]:
    if records is None or (records and ms is None):
        return [_O.DATA_UNKNOWN]
    if not records or ms is None or ms <= limits.rpo_ms:
        return []
    return [_O.LOSES_TOO_MUCH if ms > limits.blocked_rpo_ms else _O.LOSES]


def _of_place(facts: PartitionFacts, lag: CheckpointLag, limits: Thresholds) -> list[Obstacle]:
    """Return the obstacles to resuming at the right offset."""
    beyond = _of_ends(facts)
    if facts.is_beyond_end:
        return beyond
    if facts.is_empty:
        return beyond
    if facts.committed is None:
        return [_O.NEVER_COMMITTED]
    proof = facts.certificate
    if proof is None:
        return [] if facts.position is None else [_O.NO_TRANSLATION]
    found = [*beyond, *_of_resume(lag, limits)]
    start = facts.remote_log_start
    if start is not None and proof.hi is not None and proof.hi < start:
        found.append(_O.DELETED_ON_TARGET)
    repeated = lag.duplicates.hi if lag.duplicates else None
    if repeated is None:
        found.append(_O.UNBOUNDED)
    elif repeated > limits.reread and _O.REPEATS not in found:
        found.append(_O.REPEATS)
    return found


def _of_ends(facts: PartitionFacts) -> list[Obstacle]:
    found = [_O.BEYOND_END] if facts.is_beyond_end else []
    return [*found, *([_O.BEYOND_TARGET_END] if facts.is_beyond_target_end else [])]


def _of_resume(lag: CheckpointLag, limits: Thresholds) -> Iterable[Obstacle]:
    if lag.resume_by is ResumeBy.NOTHING:
        yield _O.NO_RESUME
    if lag.skipped is not None and lag.skipped.lo:
        yield _O.SKIPS
    elif lag.skipped is not None and lag.skipped.hi:
        yield _O.MAY_SKIP
    if lag.reread is not None and max(lag.reread.lo, lag.reread.hi or 0) > limits.reread:
        yield _O.REPEATS


def _of_group(group: GroupFacts, *, stale: str, other_topics: Sequence[str]) -> Iterable[Evidence]:
    if group.is_active_on_target:
        yield _evidence(_O.ACTIVE_ON_TARGET, "")
    if group.is_active_on_target is None:
        yield _evidence(_O.TARGET_UNKNOWN, "")
    if stale:
        yield _evidence(_O.STALE, f"{stale}: ")
    if group.left_out:
        yield _evidence(_O.LEFT_OUT, f"{group.left_out} ")
    if not group.is_commit_newer:
        yield _evidence(_O.STALE, "Committed offsets on the source: ")
    if other_topics:
        named = ", ".join(other_topics[:5]) + (" and others" if len(other_topics) > 5 else "")  # noqa: PLR2004  a handful
        yield _evidence(_O.OTHER_TOPICS, f"{named}: ")


def _total(parts: Sequence[Part], evidence: Sequence[Evidence]) -> Verdict:
    return Verdict(
        readiness=worst(each.readiness for each in evidence),
        evidence=_worst_first(evidence),
        rpo_records=_all_known([part.facts.at_risk for part in parts]),
        rpo_ms=_most([part.facts.at_risk_ms for part in parts]),
        reread=_sum_or_none([part.lag.reread for part in parts]),
        skipped=_sum_or_none([part.lag.skipped for part in parts]),
        duplicates=_sum_or_none([part.lag.duplicates for part in parts]),
        duplicates_coming=_sum_or_none([part.lag.duplicates_coming for part in parts]),
        parts=len(parts),
    )


def _grouped(parts: Sequence[Part]) -> tuple[Evidence, ...]:
    found = [(one, str(part.facts.where)) for part in parts for one in part.obstacles]
    return _counted(found, len(parts), "partition")


def _counted(found: Sequence[tuple[Obstacle, str]], of: int, noun: str) -> tuple[Evidence, ...]:
    """Return one piece of evidence per obstacle, with how often it is there and one example."""
    names: dict[Obstacle, list[str]] = {}
    for obstacle, name in found:
        names.setdefault(obstacle, []).append(name)
    told = [
        _evidence(
            obstacle,
            f"{named[0]}: " if of == 1 else f"{len(named)} of {of} {noun}s, as {named[0]}: ",
        )
        for obstacle, named in names.items()
    ]
    return _worst_first(told)


def _told_of(groups: Sequence[Verdict]) -> list[Evidence]:
    """Return the obstacles of groups, each once with how many groups have it."""
    counts: dict[Obstacle, int] = {}
    for one in groups:
        for each in one.evidence:
            counts[each.obstacle] = counts.get(each.obstacle, 0) + 1
    return [_evidence(o, f"{n} of {len(groups)} groups: ") for o, n in counts.items()]


def _evidence(obstacle: Obstacle, place: str) -> Evidence:
    text, hint = TEXTS[obstacle]
    return Evidence(obstacle, STEPS[obstacle], f"{place}{text}", hint)


def _worst_first(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple(sorted(evidence, key=lambda each: -each.readiness.rank))


def _all_known(values: Sequence[int | None]) -> int | None:
    """Return the sum; None when one of them is unknown: half a loss is not reported as the loss."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _most(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _sum_or_none(values: Sequence[Bounds | None]) -> Bounds | None:
    """Return the sum of what is known; None when nothing is. Something unknown leaves it unbounded."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    total = add_bounds(known)
    return total if len(known) == len(values) else Bounds(total.lo, None)

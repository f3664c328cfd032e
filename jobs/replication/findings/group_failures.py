"""Groups that would skip records when they fail over, and checkpoints that do not come any more. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.replication.checkpoints.obstacles import BEYOND_END
from jobs.replication.findings.checks import STALE, of
from jobs.replication.findings.codes import Code
from jobs.replication.findings.memory import CommitMark, FlowMemory
from jobs.replication.findings.snapshot import CheckpointsSnapshot, FlowSnapshot, GroupSnapshot
from jobs.severity import Severity


def remember_commits(snapshot: FlowSnapshot, before: FlowMemory) -> FlowMemory:
    """Return the memory with whether groups have committed since the newest checkpoint."""
    checkpoints, groups = snapshot.checkpoints, snapshot.groups
    if checkpoints is None or groups is None or not checkpoints.exists:
        return before
    total, known = sum(group.committed or 0 for group in groups), before.commits
    if known is None or known.newest_at != checkpoints.newest_at:
        return replace(before, commits=CommitMark(checkpoints.newest_at, total, None))
    if known.gone_on_since is None and total > known.committed:
        return replace(before, commits=known._replace(gone_on_since=snapshot.at))
    return before


@check(*of(Code.CHECKPOINTS_STALE, Code.CHECKPOINTS_MISSING))
def find_stale_checkpoints(snapshot: FlowSnapshot, memory: FlowMemory) -> Iterator[Finding]:
    """Yield that no checkpoint comes although groups commit, or that there is no topic of checkpoints."""
    checkpoints = snapshot.checkpoints
    if checkpoints is None or not snapshot.should_move:
        return
    if not checkpoints.exists:
        if snapshot.is_watched and snapshot.groups:
            yield _missing(snapshot, checkpoints)
        return
    mark = memory.commits
    since = mark.gone_on_since if mark is not None else None
    if since is not None and snapshot.at - since >= snapshot.limit(Code.CHECKPOINTS_STALE, STALE):
        yield _stale(snapshot, checkpoints, since)


@check(*of(Code.GROUP_AHEAD))
def find_groups_ahead(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield groups whose offset on the target lies behind records that they have not read on the source.

    `sync.group.offsets` only ever moves a target group forward: after the group went back on the source, its
    target offset stays where it was, and who fails over skips what lies between. One finding per group,
    whatever the number of partitions; none about a group that a plan moved, or that has members there.
    """
    by_group: dict[str, list[GroupSnapshot]] = {}
    for one in snapshot.groups or ():
        if not (one.is_active_on_target or one.is_failed_over) and _skipped_at_least(one):
            by_group.setdefault(one.group, []).append(one)
    for places in by_group.values():
        yield _ahead(snapshot, places)


@check(*of(Code.GROUP_BEYOND_END, Code.GROUP_BEYOND_TARGET_END))
def find_groups_beyond_end(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield groups whose committed offset is beyond the end of its partition, once per group and side.

    `end` is read after the commit, so a group that commits meanwhile is never beyond it.
    """
    here, there = dict[str, list[GroupSnapshot]](), dict[str, list[GroupSnapshot]]()
    for one in snapshot.groups or ():
        if one.is_beyond_end:
            here.setdefault(one.group, []).append(one)
        if one.is_beyond_target_end:
            there.setdefault(one.group, []).append(one)
    for places in here.values():
        first = places[0]
        text = (
            f"{first.group} has committed {first.committed:,} of {first.where} on {snapshot.source}"
        )
        todo = (
            f"Set its offset on {snapshot.source} (kafka-consumer-groups.sh --reset-offsets). Until then it "
            "gets no checkpoint there, and a plan blocks it."
        )
        yield _beyond(Code.GROUP_BEYOND_END, places, text, first.end, todo)
    for places in there.values():
        first = places[0]
        text = (
            f"On {snapshot.target} {first.group} has committed {first.target_committed:,} of the copy of "
            f"{first.where}"
        )
        todo = "A failover plan sets its offsets there."
        yield _beyond(Code.GROUP_BEYOND_TARGET_END, places, text, first.target_end, todo)


def _beyond(
    code: Code, places: list[GroupSnapshot], text: str, end: int | None, todo: str
) -> Finding:
    first = places[0]
    more = f" (and so at {len(places) - 1} more)" if len(places) > 1 else ""
    return Finding(
        code,
        Severity.CRITICAL,
        f"{text}, beyond the end of the partition ({end:,}){more}: {BEYOND_END}",
        todo,
        subject=first.group,
        topic=first.where.topic if len({one.where.topic for one in places}) == 1 else "",
        partition=first.where.partition if len(places) == 1 else None,
        evidence={
            **_offsets(first),
            "partition": str(first.where),
            "partitions_beyond_end": len(places),
            "end_offset": end,
        },
    )


def _skipped_at_least(one: GroupSnapshot) -> int:
    """Return how far the target's offset is ahead of what is proved, else of the checkpoint; 0: not."""
    if one.target_committed is None or one.committed is None:
        return 0
    if one.is_beyond_end or one.is_beyond_target_end:
        return 0
    if one.target_at_most is not None:
        return max(one.target_committed - one.target_at_most, 0)
    return 0 if one.checkpoint is None else max(one.target_committed - one.checkpoint[1], 0)


def _missing(snapshot: FlowSnapshot, checkpoints: CheckpointsSnapshot) -> Finding:
    return Finding(
        Code.CHECKPOINTS_MISSING,
        Severity.WARNING,
        f"{checkpoints.topic} does not exist on {snapshot.target}: MirrorMaker 2 translates no group's "
        "offsets.",
        "Check that its checkpoint connector runs (emit.checkpoints.enabled) and which groups it selects.",
        evidence={"checkpoints_topic": checkpoints.topic, "groups": len(snapshot.groups or ())},
    )


def _stale(snapshot: FlowSnapshot, checkpoints: CheckpointsSnapshot, since: datetime) -> Finding:
    newest = checkpoints.newest_at
    return Finding(
        Code.CHECKPOINTS_STALE,
        Severity.WARNING,
        f"Groups on {snapshot.source} commit offsets, but {checkpoints.topic} has had no checkpoint for "
        f"{(snapshot.at - (newest or since)).total_seconds() / 60:.0f} min: a failover would reprocess more "
        "and more records.",
        "Check that the checkpoint connector runs and may read the offset syncs and its own checkpoints "
        "(READ on both topics).",
        evidence={
            "checkpoint_age_s": int((snapshot.at - newest).total_seconds()) if newest else None,
            "groups_went_on_for_s": int((snapshot.at - since).total_seconds()),
        },
        since=since,
    )


def _ahead(snapshot: FlowSnapshot, places: list[GroupSnapshot]) -> Finding:
    """Return the finding about a group: certain as soon as one of its partitions is."""
    proved = [one for one in places if one.target_at_most is not None]
    told = proved or places
    worst = max(told, key=_skipped_at_least)
    group, skipped = worst.group, sum(map(_skipped_at_least, told))
    count = f"{len(told)} partition" + ("s" if len(told) > 1 else "")
    amount = f"would skip at least {skipped:,}" if proved else f"may skip {skipped:,}"
    safe = worst.target_at_most if proved else (worst.checkpoint or (0, 0))[1]
    topics = {one.where.topic for one in told}
    return Finding(
        Code.GROUP_AHEAD,
        Severity.CRITICAL if proved else Severity.WARNING,
        f"{group} {amount} offsets of {count} if it failed over now: on {snapshot.target} its offset of "
        f"{worst.where} is {worst.target_committed:,}, ahead of "
        f"{'what it has read on ' + snapshot.source if proved else 'its checkpoint'} ({safe:,}).",
        f"If {group} was used on {snapshot.target} since, it resumes there: change nothing. If it went back "
        f"on {snapshot.source}, its offset on {snapshot.target} stayed where it was: fail over with a plan, "
        f"which sets all its offsets ({worst.where} to {safe:,} at most).",
        subject=group,
        topic=worst.where.topic if len(topics) == 1 else "",
        partition=worst.where.partition if len(told) == 1 else None,
        evidence={
            **_offsets(worst),
            "partition": str(worst.where),
            "partitions_ahead": len(told),
            "offsets_skipped_at_least" if proved else "offsets_ahead_of_checkpoint": skipped,
        },
    )


def _offsets(group: GroupSnapshot) -> dict[str, int | None]:
    upstream, downstream = group.checkpoint or (None, None)
    return {
        "source_committed_offset": group.committed,
        "target_committed_offset": group.target_committed,
        "checkpoint_upstream_offset": upstream,
        "checkpoint_downstream_offset": downstream,
        "target_at_most_offset": group.target_at_most,
    }

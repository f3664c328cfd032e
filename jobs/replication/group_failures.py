"""Groups that would skip records when they fail over, and checkpoints that do not come any more. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.finding import Code, Finding, FindingSeverity
from jobs.replication.flow_memory import CommitMark, FlowMemory
from jobs.replication.flow_picture import CheckpointsPicture, FlowPicture, GroupPicture

# Checkpoints are emitted once a minute, and only after an offset sync has come.
CHECKPOINTS_STALE_AFTER = timedelta(minutes=10)


def remember_commits(picture: FlowPicture, before: FlowMemory) -> FlowMemory:
    """Return the memory with whether groups have gone on since the newest checkpoint."""
    checkpoints, groups = picture.checkpoints, picture.groups
    if checkpoints is None or groups is None or not checkpoints.exists:
        return before
    total, known = sum(group.committed or 0 for group in groups), before.commits
    if known is None or known.newest_at != checkpoints.newest_at:
        return replace(before, commits=CommitMark(checkpoints.newest_at, total, None))
    if known.gone_on_since is None and total > known.committed:
        return replace(before, commits=known._replace(gone_on_since=picture.at))
    return before


def find_stale_checkpoints(picture: FlowPicture, memory: FlowMemory) -> Iterator[Finding]:
    """Yield that no checkpoint comes although groups go on, or that there is no topic of checkpoints."""
    checkpoints = picture.checkpoints
    if checkpoints is None or not picture.should_move:
        return
    if not checkpoints.exists:
        if picture.is_watched and picture.groups:
            yield _missing(picture, checkpoints)
        return
    mark = memory.commits
    since = mark.gone_on_since if mark is not None else None
    if since is not None and picture.at - since >= CHECKPOINTS_STALE_AFTER:
        yield _stale(picture, checkpoints, since)


def find_groups_ahead(picture: FlowPicture) -> Iterator[Finding]:
    """Yield groups whose offset on the target lies behind records that they have not read on the source.

    `sync.group.offsets` only ever moves a target group forward: after the group went back on the source, its
    target offset stays where it was, and who fails over skips what lies between.
    """
    for group in picture.groups or ():
        if group.target_committed is None or group.committed is None or group.is_active_on_target:
            continue
        proved, told = group.target_at_most, group.checkpoint
        if proved is not None and group.target_committed > proved:
            yield _ahead(picture, group, group.target_committed - proved)
        elif proved is None and told is not None and group.target_committed > told[1]:
            yield _perhaps_ahead(picture, group, told)


def _missing(picture: FlowPicture, checkpoints: CheckpointsPicture) -> Finding:
    return Finding(
        Code.CHECKPOINTS_MISSING,
        FindingSeverity.WARN,
        f"{checkpoints.topic} does not exist on {picture.target}: MirrorMaker 2 translates no group's "
        "offsets.",
        "Check that its checkpoint connector runs (emit.checkpoints.enabled) and which groups it selects.",
        evidence={"checkpoints_topic": checkpoints.topic, "groups": len(picture.groups or ())},
    )


def _stale(picture: FlowPicture, checkpoints: CheckpointsPicture, since: datetime) -> Finding:
    newest = checkpoints.newest_at
    return Finding(
        Code.CHECKPOINTS_STALE,
        FindingSeverity.RISK,
        f"Groups on {picture.source} go on, but {checkpoints.topic} has had no checkpoint for "
        f"{(picture.at - (newest or since)).total_seconds() / 60:.0f} min: who fails over repeats ever more.",
        "Check that the checkpoint connector runs and may read the offset syncs and its own checkpoints "
        "(READ on both topics).",
        evidence={
            "checkpoint_age_s": int((picture.at - newest).total_seconds()) if newest else None,
            "groups_went_on_for_s": int((picture.at - since).total_seconds()),
        },
        since=since,
    )


def _ahead(picture: FlowPicture, group: GroupPicture, skipped: int) -> Finding:
    return Finding(
        Code.GROUP_AHEAD,
        FindingSeverity.CRIT,
        f"{group.group} would skip at least {skipped:,} offsets of {group.where} if it failed over now: "
        "its offset on "
        f"{picture.target} is ahead of what it has read on {picture.source}.",
        f"It went back on {picture.source}, and synced groups only go forward. Set its offset on "
        f"{picture.target} to "
        f"{group.target_at_most:,} at most, or fail over with a plan of crosslog.",
        subject=_subject(group.group, group.where),
        topic=group.where.topic,
        partition=group.where.partition,
        evidence={**_offsets(group), "offsets_skipped_at_least": skipped},
    )


def _perhaps_ahead(picture: FlowPicture, group: GroupPicture, told: tuple[int, int]) -> Finding:
    return Finding(
        Code.GROUP_AHEAD,
        FindingSeverity.RISK,
        f"{group.group} may skip records of {group.where} if it failed over now: its offset on "
        f"{picture.target} is "
        f"{(group.target_committed or 0) - told[1]:,} ahead of its checkpoint.",
        f"It probably went back on {picture.source}; synced groups only go forward. Set its offset on "
        f"{picture.target} to {told[1]:,}, which skips nothing, or fail over with a plan of crosslog.",
        subject=_subject(group.group, group.where),
        topic=group.where.topic,
        partition=group.where.partition,
        evidence=_offsets(group),
    )


def _offsets(group: GroupPicture) -> dict[str, int | None]:
    upstream, downstream = group.checkpoint or (None, None)
    return {
        "source_committed_offset": group.committed,
        "target_committed_offset": group.target_committed,
        "checkpoint_upstream_offset": upstream,
        "checkpoint_downstream_offset": downstream,
        "target_at_most_offset": group.target_at_most,
    }


def _subject(group: str, where: TopicPartition) -> str:
    return f"{group} {where}"

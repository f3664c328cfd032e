"""Which commits must be queried again before a conclusion, and the result.

Commits are stored some seconds before the checkpoints are read, and a group commits meanwhile: a checkpoint
that is newer than the stored commit looks like a group that went back. Only a commit that was read after the
checkpoint, and after the group's offset on the target, says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from console.replication.checkpoints.rounds.facts import StoredFacts
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import SeenCheckpoint
from jobs.replication.checkpoints.topic import GroupPartition

Fresh = Mapping[str, Mapping[TopicPartition, CommittedOffset]]


def groups_to_ask(stored: StoredFacts, checkpoints: CheckpointsRead) -> list[str]:
    """Return the covered groups whose stored commit may be older than their checkpoint or target offset."""
    return [
        group
        for group, commits in stored.commits.items()
        if stored.names.has_group(group)
        and any(
            _may_be_older(committed, *_compared_with(stored, checkpoints, group, where))
            for where, committed in commits.items()
            if stored.names.has_topic(where.topic)
        )
    ]


def take_commits(stored: StoredFacts, asked: Collection[str], fresh: Fresh) -> frozenset[str]:
    """Replace stored commits by the ones that were queried again; return the groups without a result."""
    unproven = set()
    for group in asked:
        commits = stored.commits[group]
        for where in [where for where in commits if stored.names.has_topic(where.topic)]:
            found = fresh.get(group, {}).get(where)
            if found is None or found.offset is None:
                unproven.add(group)
            else:
                commits[where] = found.offset
    return frozenset(unproven)


def _compared_with(
    stored: StoredFacts, checkpoints: CheckpointsRead, group: str, where: TopicPartition
) -> tuple[SeenCheckpoint | None, int | None]:
    remote = stored.names.remote(where)
    kept = checkpoints.checkpoints.get(GroupPartition(group, remote))
    return kept, stored.synced.get(group, {}).get(remote)


def _may_be_older(committed: int | None, kept: SeenCheckpoint | None, synced: int | None) -> bool:
    """A commit at or behind the checkpoint's upstream offset is as new as the checkpoint, and as all of
    the target that the checkpoint covers."""
    if committed is None:
        return False
    if synced is not None and (kept is None or synced > kept.downstream):
        return True
    return kept is not None and kept.upstream > committed

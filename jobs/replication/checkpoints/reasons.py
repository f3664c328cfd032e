"""Reasons for the state of a group's checkpoint: each with its sentence, its hint and its rank."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from jobs.replication.checkpoints.obstacles import BEYOND_END


class CheckpointReason(StrEnum):
    """What there is to say of a checkpoint: why there is none, why it is behind, or that it is not."""

    CURRENT = "current"
    BEYOND_END = "beyond_end"
    BEYOND_TARGET_END = "beyond_target_end"
    NOT_YET = "not_yet"
    COARSE = "coarse"
    REWOUND = "rewound"
    TARGET_AHEAD = "target_ahead"
    GROUP_FILTERED = "group_filtered"
    TOPIC_FILTERED = "topic_filtered"
    STREAMS_INTERNAL = "streams_internal"
    GROUP_GONE = "group_gone"
    FAILED_OVER = "failed_over"
    NEVER_COMMITTED = "never_committed"
    UNREADABLE = "unreadable"
    NO_TOPIC = "no_topic"
    NOT_COPIED = "not_copied"
    NO_SYNC = "no_sync"
    BEFORE_FIRST_SYNC = "before_first_sync"
    FORGOTTEN = "forgotten"
    IDLE = "idle"
    NOT_EMITTED = "not_emitted"


_R = CheckpointReason
SENTENCES: dict[CheckpointReason, str] = {
    _R.CURRENT: "The checkpoint is at the group's committed offset.",
    _R.BEYOND_END: f"The committed offset is beyond the end of the source partition: {BEYOND_END}",
    _R.BEYOND_TARGET_END: "The group's offset on the target is beyond the end of the remote partition: "
    f"{BEYOND_END}",
    _R.NOT_YET: "The group has committed since; the next checkpoint follows.",
    _R.COARSE: "The group has committed since, but the offset syncs kept by MirrorMaker 2 allow no later "
    "checkpoint.",
    _R.REWOUND: "The group was reset to an earlier offset on the source; the checkpoint is ahead of it until "
    "the next one.",
    _R.TARGET_AHEAD: "The group's committed offset on the target is ahead of the translated offset.",
    _R.GROUP_FILTERED: "The flow's patterns exclude this group: it gets no checkpoint.",
    _R.TOPIC_FILTERED: "The flow's patterns exclude this topic: it is not replicated.",
    _R.STREAMS_INTERNAL: "An internal topic of Kafka Streams: the application creates its own on the target, "
    "so no copy of it is missing.",
    _R.GROUP_GONE: "The group was deleted on the source; its last checkpoint is still there.",
    _R.FAILED_OVER: "A failover plan of this flow moved the group to the target, and it has no members "
    "on the source.",
    _R.NEVER_COMMITTED: "The group never committed an offset here: there is nothing to translate.",
    _R.UNREADABLE: "The checkpoints topic could not be read: whether a checkpoint exists is not known.",
    _R.NO_TOPIC: "The checkpoints topic does not exist: this flow has no checkpoints.",
    _R.NOT_COPIED: "No record of this partition was replicated yet.",
    _R.NO_SYNC: "This partition has no offset sync yet, so its offsets cannot be translated.",
    _R.BEFORE_FIRST_SYNC: "The group's offset is older than the first offset sync of this partition.",
    _R.FORGOTTEN: "MirrorMaker 2 keeps 64 offset syncs per partition: all are newer than the group's offset.",
    _R.IDLE: "The group has no members, and no checkpoint was written since it last committed.",
    _R.NOT_EMITTED: "The offset can be translated, but no checkpoint was written yet.",
}
# What a person should hear of first, where partitions of a group differ.
_GRAVEST = (
    _R.TARGET_AHEAD,
    _R.BEYOND_END,
    _R.BEYOND_TARGET_END,
    _R.UNREADABLE,
    _R.NO_TOPIC,
    _R.NO_SYNC,
    _R.NOT_COPIED,
    _R.BEFORE_FIRST_SYNC,
    _R.FORGOTTEN,
    _R.REWOUND,
    _R.NEVER_COMMITTED,
    _R.NOT_EMITTED,
    _R.IDLE,
    _R.COARSE,
    _R.NOT_YET,
    _R.FAILED_OVER,
    _R.GROUP_GONE,
    _R.CURRENT,
    _R.STREAMS_INTERNAL,
    _R.TOPIC_FILTERED,
    _R.GROUP_FILTERED,
)
HINTS: dict[CheckpointReason, str] = {
    _R.BEYOND_END: "Set the group's offset on the source; no checkpoint is written for it.",
    _R.BEYOND_TARGET_END: "A failover plan sets its offsets on the target.",
    _R.TARGET_AHEAD: "Starting the group on the target would skip records. A failover plan sets the exact "
    "offset.",
    _R.NOT_YET: "MirrorMaker 2 writes checkpoints every 60 s (emit.checkpoints.interval.seconds).",
    _R.COARSE: "A failover plan sets the certified offset instead.",
    _R.REWOUND: "A group offset synced to the target before stays ahead: check what would be skipped.",
    _R.GROUP_FILTERED: "Change groups or groups_exclude of the flow.",
    _R.TOPIC_FILTERED: "Change topics or topics_exclude of the flow, or let another flow copy it.",
    _R.UNREADABLE: "Give crosslog's account READ on the checkpoints topic of the target.",
    _R.NO_TOPIC: "Run MirrorMaker 2's checkpoint connector, or let crosslog write checkpoints.",
    _R.NO_SYNC: "Check that offset syncs are written, and that crosslog reads them from the right cluster.",
    _R.BEFORE_FIRST_SYNC: "The group has to read further; until then it would start at the beginning of the "
    "remote topic and reprocess records.",
    _R.FORGOTTEN: "A failover plan sets the certified offset instead.",
    _R.IDLE: "MirrorMaker 2 looks for groups every 10 minutes (refresh.groups.interval.seconds).",
    _R.NOT_EMITTED: "MirrorMaker 2 looks for groups every 10 minutes (refresh.groups.interval.seconds).",
}


def reason_text(reason: CheckpointReason) -> str:
    """Return the sentence of a reason, and what to do where there is something."""
    return f"{SENTENCES[reason]} {HINTS.get(reason, '')}".strip()


def gravest(reasons: Iterable[CheckpointReason]) -> CheckpointReason | None:
    """Return the reason that a person should hear of first; None when there are none."""
    return min(reasons, key=_GRAVEST.index, default=None)

"""What there is to say of a group's checkpoint: each reason with its sentence, its hint and its place."""

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
    _R.CURRENT: "The checkpoint stands at the group's committed offset.",
    _R.BEYOND_END: f"The committed offset lies beyond the end of the source partition: {BEYOND_END}",
    _R.BEYOND_TARGET_END: "The group's offset on the target lies beyond the end of the remote partition: "
    f"{BEYOND_END}",
    _R.NOT_YET: "The group has gone on since; the next checkpoint brings it forward.",
    _R.COARSE: "The group has gone on since, but the offset syncs kept by MirrorMaker 2 tell no later place.",
    _R.REWOUND: "The group went back on the source; the checkpoint is ahead of it until the next one.",
    _R.TARGET_AHEAD: "The group's own offset on the target is ahead of the true place.",
    _R.GROUP_FILTERED: "The flow's patterns leave this group out: no checkpoint of it is written.",
    _R.TOPIC_FILTERED: "The flow's patterns leave this topic out: it is not copied.",
    _R.STREAMS_INTERNAL: "An internal topic of Kafka Streams: its application makes its own on the target, "
    "so no copy of it is missing.",
    _R.GROUP_GONE: "The group was deleted on the source; its last checkpoint is still there.",
    _R.FAILED_OVER: "A failover plan of this flow moved the group to the target, and it has no members "
    "on the source.",
    _R.NEVER_COMMITTED: "The group never committed an offset here, so there is nothing to translate.",
    _R.UNREADABLE: "The topic of checkpoints could not be read: nobody knows whether there is one.",
    _R.NO_TOPIC: "The topic of checkpoints does not exist: nothing writes checkpoints for this flow.",
    _R.NOT_COPIED: "Nothing of this partition was copied yet.",
    _R.NO_SYNC: "There is no offset sync of this partition yet, so no offset of it can be translated.",
    _R.BEFORE_FIRST_SYNC: "The group's offset is older than the first offset sync of this partition.",
    _R.FORGOTTEN: "MirrorMaker 2 keeps 64 offset syncs per partition: all are newer than the group's offset.",
    _R.IDLE: "The group has no members, and no checkpoint was written since it last committed.",
    _R.NOT_EMITTED: "It can be translated, but no checkpoint was written yet.",
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
    _R.BEYOND_TARGET_END: "A plan sets its offsets on the target.",
    _R.TARGET_AHEAD: "Starting the group there would skip records; a plan sets the offset back.",
    _R.NOT_YET: "MirrorMaker 2 writes checkpoints every 60 s (emit.checkpoints.interval.seconds).",
    _R.COARSE: "A plan for a failover goes on at the certified offset instead.",
    _R.REWOUND: "A group offset synced to the target before stays ahead: look at what would be skipped.",
    _R.GROUP_FILTERED: "Change groups or groups_exclude of the flow.",
    _R.TOPIC_FILTERED: "Change topics or topics_exclude of the flow, or let another flow copy it.",
    _R.UNREADABLE: "Give crosslog's account READ on the topic of checkpoints on the target.",
    _R.NO_TOPIC: "Run MirrorMaker 2's checkpoint connector, or let crosslog write checkpoints.",
    _R.NO_SYNC: "Look whether offset syncs are kept, and whether crosslog reads them where they are.",
    _R.BEFORE_FIRST_SYNC: "The group has to read on, or goes on at the beginning of the copy and repeats.",
    _R.FORGOTTEN: "A plan for a failover goes on at the certified offset instead.",
    _R.IDLE: "MirrorMaker 2 looks for groups every 10 minutes (refresh.groups.interval.seconds).",
    _R.NOT_EMITTED: "MirrorMaker 2 looks for groups every 10 minutes (refresh.groups.interval.seconds).",
}


def reason_text(reason: CheckpointReason) -> str:
    """Return the sentence of a reason, and what to do where there is something."""
    return f"{SENTENCES[reason]} {HINTS.get(reason, '')}".strip()


def gravest(reasons: Iterable[CheckpointReason]) -> CheckpointReason | None:
    """Return the reason that a person should hear of first; None when there are none."""
    return min(reasons, key=_GRAVEST.index, default=None)

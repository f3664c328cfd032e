"""Obstacles to a failover: each with its readiness, its sentence and its advice.

Another answer to "can I fail over now?" counts only after rounds have found it for a stated time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# Why a commit beyond the end of its partition is no place to resume, and what the application does with it.
BEYOND_END = (
    "it is of another life of the topic, or of a log that was truncated. The application would start where "
    "auto.offset.reset says."
)


class Readiness(StrEnum):
    """The answer, best first; `caution`, the word of releases up to 0.5, is read as WARNING."""

    NOT_COVERED = "not_covered"
    READY = "ready"
    WARNING = "warning"
    UNKNOWN = "unknown"
    BLOCKED = "blocked"

    @classmethod
    def _missing_(cls, value: object) -> Readiness | None:
        return cls.WARNING if value == "caution" else None

    @property
    def rank(self) -> int:
        """How bad it is: 0 for what does not count, 1 for ready, 4 for blocked."""
        return _LADDER.index(self)

    @property
    def colour(self) -> str:
        """green, amber or red; grey for unknown and for what does not count."""
        return ("grey", "green", "amber", "grey", "red")[self.rank]


_LADDER = list(Readiness)


class Obstacle(StrEnum):
    """What prevents a failover of a group without loss or repetition."""

    BEYOND_END = "beyond_end"
    BEYOND_TARGET_END = "beyond_target_end"
    SKIPS = "skips"
    NO_TRANSLATION = "no_translation"
    NOT_COPIED = "not_copied"
    DELETED_ON_TARGET = "deleted_on_target"
    ACTIVE_ON_TARGET = "active_on_target"
    LOSES_TOO_MUCH = "loses_too_much"
    DATA_UNKNOWN = "data_unknown"
    UNBOUNDED = "unbounded"
    STALE = "stale"
    LEFT_OUT = "left_out"
    TARGET_UNKNOWN = "target_unknown"
    MAY_SKIP = "may_skip"
    LOSES = "loses"
    REPEATS = "repeats"
    NO_RESUME = "no_resume"
    NEVER_COMMITTED = "never_committed"
    OTHER_TOPICS = "other_topics"
    COPY_DIFFERS = "copy_differs"


_O = Obstacle
STEPS: dict[Obstacle, Readiness] = {
    **dict.fromkeys(
        (
            _O.BEYOND_END,
            _O.BEYOND_TARGET_END,
            _O.SKIPS,
            _O.NO_TRANSLATION,
            _O.NOT_COPIED,
            _O.DELETED_ON_TARGET,
            _O.ACTIVE_ON_TARGET,
            _O.LOSES_TOO_MUCH,
        ),
        Readiness.BLOCKED,
    ),
    **dict.fromkeys(
        (_O.DATA_UNKNOWN, _O.UNBOUNDED, _O.STALE, _O.TARGET_UNKNOWN, _O.LEFT_OUT), Readiness.UNKNOWN
    ),
    **dict.fromkeys(
        (
            _O.MAY_SKIP,
            _O.LOSES,
            _O.REPEATS,
            _O.NO_RESUME,
            _O.NEVER_COMMITTED,
            _O.OTHER_TOPICS,
            _O.COPY_DIFFERS,
        ),
        Readiness.WARNING,
    ),
}
TEXTS: dict[Obstacle, tuple[str, str]] = {
    _O.BEYOND_END: (
        f"The committed offset is beyond the end of the source partition: {BEYOND_END}",
        "Set the group's offset on the source (kafka-consumer-groups.sh --reset-offsets), or plan "
        "without this partition.",
    ),
    _O.BEYOND_TARGET_END: (
        f"The group's offset on the target is beyond the end of the remote partition: {BEYOND_END}",
        "A failover plan sets its offsets on the target.",
    ),
    _O.SKIPS: (
        "The target offset is ahead of the source offset: records would be skipped.",
        "Do not start the group on the target yet: a failover plan sets the exact offset.",
    ),
    _O.NO_TRANSLATION: (
        "The group's offset cannot be translated: there is no offset sync to prove it.",
        "Check that offset syncs are written and read; until then the group would start from the beginning.",
    ),
    _O.NOT_COPIED: (
        "No record of the partition was replicated.",
        "Check that the flow is running and selects this topic.",
    ),
    _O.DELETED_ON_TARGET: (
        "The remote partition starts after the group's offset: records between are deleted on the target.",
        "The group would lose these records. Compare the retention of both topics.",
    ),
    _O.ACTIVE_ON_TARGET: (
        "The group has members on the target now.",
        "If the group was failed over already, change nothing. Otherwise stop these members first: "
        "offsets of a group with members cannot be set.",
    ),
    _O.LOSES_TOO_MUCH: (
        "The replication lag is above the limit: too many records would be lost.",
        "Wait until the flow has caught up, or accept the loss.",
    ),
    _O.DATA_UNKNOWN: (
        "The replication lag is not known.",
        "Check when the flow was last measured: one of its clusters may not answer.",
    ),
    _O.UNBOUNDED: (
        "The number of records to be reprocessed has no upper bound yet.",
        "The next offset sync after the group's offset sets one. No record is skipped.",
    ),
    _O.STALE: (
        "The measurements behind this answer are too old.",
        "Check when both clusters and the flow were last collected.",
    ),
    _O.LEFT_OUT: (
        "Groups or offsets above the limit were not checked.",
        "Find out which application creates so many groups or offsets, and delete those that are not needed.",
    ),
    _O.TARGET_UNKNOWN: (
        "It is not known whether the group has members on the target.",
        "Check when the target's groups were last collected.",
    ),
    _O.MAY_SKIP: (
        "The target offset may be ahead of the source offset: records may be skipped.",
        "A failover plan sets the certified offset, which skips none.",
    ),
    _O.LOSES: ("The target lags behind the source.", "Wait until the flow has caught up."),
    _O.REPEATS: (
        "Many records would be reprocessed.",
        "A failover plan sets the certified offset, which repeats the fewest.",
    ),
    _O.NO_RESUME: (
        "The target has no checkpoint and no committed offset of the group.",
        "A failover plan sets the group's offsets on the target.",
    ),
    _O.NEVER_COMMITTED: (
        "The group never committed on the source: on the target, auto.offset.reset decides where it starts.",
        "Let it commit once, or choose its start offset.",
    ),
    _O.OTHER_TOPICS: (
        "The group also reads topics that no flow replicates to the target.",
        "Replicate these topics as well, or the group will not find them on the target.",
    ),
    _O.COPY_DIFFERS: (
        "The records of the target differ from those of the source.",
        "The page of the audit has the offsets of the records. Audit again after the repair.",
    ),
}


# For so long rounds must have found another answer before it counts.
HOLD = timedelta(seconds=5)
# UNKNOWN says that a number is missing: a broker that restarts must not change the answer.
UNKNOWN_HOLD = timedelta(seconds=30)
# A round may start a little before its time.
_EARLY = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Held:
    """The answer that counts; where the last round found another one: `found`, since when in a row.

    `differs_since` is since when every round found another one than `counts`, whichever it was.
    """

    counts: Readiness
    found: Readiness | None = None
    found_since: datetime | None = None
    differs_since: datetime | None = None

    def __post_init__(self) -> None:
        if (self.found is None) != (self.found_since is None):
            raise ValueError("what was found and since when belong together")


def follow(before: Held | None, found: Readiness, now: datetime) -> Held:
    """Return what counts after a round that found an answer at `now`; the first answer counts at once."""
    if before is None or found is before.counts:
        return Held(found)
    is_same = found is before.found
    after = Held(
        before.counts,
        found,
        before.found_since if is_same else now,
        before.differs_since or now,
    )
    return Held(found) if _counts(after, now) else after


def _counts(held: Held, now: datetime) -> bool:
    hold = UNKNOWN_HOLD if held.found is Readiness.UNKNOWN else HOLD
    return any(
        since is not None and now - since >= span - _EARLY
        for since, span in ((held.found_since, hold), (held.differs_since, UNKNOWN_HOLD))
    )

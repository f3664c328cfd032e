"""What can stand between a group and a failover: each obstacle with its step, its words and what to do.

Another answer to "can I fail over now?" counts only after rounds have found it for a stated time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# Why a commit beyond the end of its partition is no place to go on, and what the application does with it.
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
        """green, amber or red, as people ask for it; grey for what does not count."""
        return ("grey", "green", "amber", "amber", "red")[self.rank]


_LADDER = list(Readiness)


class Obstacle(StrEnum):
    """What stands between a group and a failover without loss or repetition."""

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
        ),
        Readiness.WARNING,
    ),
}
TEXTS: dict[Obstacle, tuple[str, str]] = {
    _O.BEYOND_END: (
        f"The committed offset lies beyond the end of the source partition: {BEYOND_END}",
        "Set the group's offset on the source (kafka-consumer-groups.sh --reset-offsets), or plan "
        "without this partition.",
    ),
    _O.BEYOND_TARGET_END: (
        f"The group's offset on the target lies beyond the end of the remote partition: {BEYOND_END}",
        "A plan sets its offsets on the target.",
    ),
    _O.SKIPS: (
        "Going on where the target says now would skip records that the group has not read.",
        "Do not start it there as it is: a plan sets its offsets back to the certified place.",
    ),
    _O.NO_TRANSLATION: (
        "Nobody can say where the group goes on: there is no offset sync to prove it.",
        "Look whether offset syncs are written and followed; until then it would begin anew.",
    ),
    _O.NOT_COPIED: (
        "Nothing of the partition was copied.",
        "Look at the flow: does it run, and does it copy this topic?",
    ),
    _O.DELETED_ON_TARGET: (
        "The copy begins behind the place where the group goes on: what lies between is gone there.",
        "Compare retention of both topics; the group would lose these records.",
    ),
    _O.ACTIVE_ON_TARGET: (
        "The group has members on the target now.",
        "If it was failed over already, it resumes there: leave it. Otherwise stop these members first: "
        "offsets of a group with members cannot be set.",
    ),
    _O.LOSES_TOO_MUCH: (
        "The copy is too far behind the source.",
        "Wait until the flow has caught up, or accept the loss.",
    ),
    _O.DATA_UNKNOWN: (
        "Nobody knows how far the copy is behind the source.",
        "Look at the flow's freshness: one of its clusters may not answer.",
    ),
    _O.UNBOUNDED: (
        "Nothing bounds from above how much would be repeated.",
        "The next offset sync behind the group's offset will; skipping nothing is certain.",
    ),
    _O.STALE: (
        "What this is judged by is old.",
        "Look at the freshness of both clusters and of the flow.",
    ),
    _O.LEFT_OUT: (
        "What is left out is not judged.",
        "Find out who makes so many groups or offsets, and delete those that are not needed.",
    ),
    _O.TARGET_UNKNOWN: (
        "Nobody knows whether the group has members on the target.",
        "Look at the freshness of the target's groups.",
    ),
    _O.MAY_SKIP: (
        "Going on where the target says now may skip records.",
        "A plan goes on at the certified place instead, which skips none.",
    ),
    _O.LOSES: ("The copy is behind the source.", "Wait until the flow has caught up."),
    _O.REPEATS: (
        "Many records would be read again.",
        "A plan goes on at the certified place, which repeats the fewest.",
    ),
    _O.NO_RESUME: (
        "The target does not say where the group goes on: no checkpoint, no offset of the group.",
        "A plan sets the group's offsets there before it starts.",
    ),
    _O.NEVER_COMMITTED: (
        "The group never committed here: on the target it begins where auto.offset.reset says.",
        "Let it commit once, or decide where it is to begin.",
    ),
    _O.OTHER_TOPICS: (
        "The group also reads topics that no flow copies to the target.",
        "Copy them as well, or expect the group to miss them there.",
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

"""What is done with a dead letter: sent again, put into quarantine, or skipped, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.tracing.replay.headers import Place
from jobs.tracing.tiers import Ends


class Content(StrEnum):
    """Which bytes are sent: those of the dead letter, or of the original record."""

    LETTER = "letter"
    ORIGINAL = "original"


class Action(StrEnum):
    """What is done with a dead letter."""

    SEND = "send"
    QUARANTINE = "quarantine"
    SKIP = "skip"


class Tier(StrEnum):
    """Where the bytes of a record are."""

    LOCAL = "local"
    REMOTE = "remote"
    GONE = "gone"
    UNKNOWN = "unknown"


class Letter(NamedTuple):
    """A dead letter; `replays` is 0 without a count, None for a count that cannot be read."""

    place: Place
    original_topic: str | None
    original_partition: int | None
    original_offset: int | None
    replays: int | None

    @property
    def original(self) -> Place | None:
        """The original record; None where a part of the pointer is missing."""
        topic, partition, offset = self[1:4]
        if topic is None or partition is None or offset is None:
            return None
        return Place(topic, partition, offset)


class Planned(NamedTuple):
    """What is done with a letter; `target_partition` None: by the key; `source`: where the bytes are."""

    action: Action
    reason: str | None
    source: Place | None = None
    tier: Tier = Tier.UNKNOWN
    target_topic: str | None = None
    target_partition: int | None = None


@dataclass(slots=True)
class Planner:
    """Decides about dead letters, one after the other in the order in which they are sent.

    `target` "": the original topic of each. `topics` has all targets and sources that exist and may be
    described, `logs` the sources with known offsets. `letter_topics` are those that letters are read from.
    """

    content: Content
    target: str
    max_replays: int
    quarantine_topic: str
    letter_topics: frozenset[str]
    topics: Mapping[str, TopicDescription]
    logs: Mapping[TopicPartition, Ends]
    _planned: set[Place] = field(default_factory=set)

    def plan(self, letter: Letter) -> Planned:
        """Return what is done with a letter."""
        original = letter.original
        if original is not None and original in self._planned:
            return Planned(Action.SKIP, "duplicate")
        found = self._planned_alone(letter)
        if original is not None and found.action is not Action.SKIP:
            self._planned.add(original)
        return found

    def _planned_alone(self, letter: Letter) -> Planned:
        action, reason = Action.SEND, None
        source = letter.place if self.content is Content.LETTER else letter.original
        target = self.target or letter.original_topic
        if letter.replays is None or letter.replays + 1 > self.max_replays:
            reason = "unreadable_count" if letter.replays is None else "max_replays"
            action, source, target = Action.QUARANTINE, letter.place, self.quarantine_topic
        if source is None or not target:
            return Planned(Action.SKIP, reason or "no_original")
        topic = self.topics.get(target)
        if topic is None or topic.is_internal or target in self.letter_topics:
            reason = "internal_target" if topic and topic.is_internal else "target_is_source"
            return Planned(Action.SKIP, reason if topic else "no_target")
        number = letter.original_partition
        is_there = number is not None and 0 <= number < len(topic.partitions)
        is_same = action is Action.SEND and target == letter.original_topic
        partition = number if is_there and is_same else None
        log = self.logs.get(TopicPartition(source.topic, source.partition), Ends())
        if log.log_start is None or log.end is None:
            is_there = source.topic in self.topics
            return Planned(Action.SKIP, "source_unknown" if is_there else "no_source", source)
        if not log.log_start <= source.offset < log.end:
            missing = "removed" if source.offset < log.log_start else "behind_log_end"
            return Planned(Action.SKIP, missing, source, Tier.GONE)
        tier = Tier.UNKNOWN
        if log.local_start is not None:
            tier = Tier.LOCAL if source.offset >= log.local_start else Tier.REMOTE
        return Planned(action, reason, source, tier, target, partition)

"""The four ways to get another replica into the ISR of plain Apache Kafka, by their names."""

from __future__ import annotations

from enum import StrEnum


class ActorKind(StrEnum):
    """Who or what makes the reaction; the value is stable, for programs."""

    FENCED_STANDBY = "fenced_standby"
    HELD_BACK_REPLICA = "held_back_replica"
    REASSIGN_TO_SPARE = "reassign_to_spare"
    RELAX_MIN_ISR = "relax_min_isr"

    @property
    def words(self) -> str:
        """The name for people."""
        return _WORDS[self]


_WORDS = {
    ActorKind.FENCED_STANDBY: "Fenced standby broker",
    ActorKind.HELD_BACK_REPLICA: "Held-back replica",
    ActorKind.REASSIGN_TO_SPARE: "Reassignment to a spare",
    ActorKind.RELAX_MIN_ISR: "min.insync.replicas relaxed",
}

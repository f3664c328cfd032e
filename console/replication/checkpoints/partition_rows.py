"""The partitions of a group as its page shows them: from the stored document to values for people."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.frame.pages.states import Severity
from console.replication.checkpoints.text import SEVERITIES, WORDS, span_of
from console.replication.flows.models import GroupReadiness
from jobs.replication.checkpoints.lag import CheckpointReason, ResumeBy, reason_text
from jobs.replication.checkpoints.obstacles import TEXTS, Obstacle, Readiness
from jobs.replication.offset_sync_store import TOO_OLD

MOST_PLACES = 500
_RESUME = {
    ResumeBy.GROUP.value: "the group's offset there",
    ResumeBy.CHECKPOINT.value: "the checkpoint",
    ResumeBy.NOTHING.value: "nothing says where",
}


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition of a group; `stored` is the document, the rest is made for people."""

    stored: dict[str, Any]
    age_s: float | None

    @property
    def name(self) -> str:
        """The partition on the source."""
        return f"{self.stored['topic']}-{self.stored['partition']}"

    @property
    def word(self) -> str:
        """The readiness as people say it."""
        return WORDS[Readiness(self.stored["readiness"])]

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITIES[Readiness(self.stored["readiness"])]

    @property
    def is_exact(self) -> bool:
        """Whether the certified place is one offset."""
        return self.stored["lo"] is not None and self.stored["lo"] == self.stored["hi"]

    @property
    def mm2_is_too_old(self) -> bool:
        """Whether MirrorMaker 2 says that the offset is older than all it keeps."""
        return bool(self.stored["mm2"] == TOO_OLD)

    @property
    def reread(self) -> str:
        """What is read twice when the group goes on by itself."""
        return span_of(*(self.stored["reread"] or (None, None)))

    @property
    def skipped(self) -> str:
        """What would be skipped then; empty when nothing is."""
        lo, hi = self.stored["skipped"] or (0, 0)
        return span_of(lo, hi) if hi else ""

    @property
    def resume_by(self) -> str:
        """What says where the group goes on by itself."""
        return _RESUME[self.stored["resume_by"]]

    @property
    def reason(self) -> str:
        """What there is to say of the checkpoint."""
        return reason_text(CheckpointReason(self.stored["reason"]))

    @property
    def obstacles(self) -> list[str]:
        """What stands in the way here, as sentences."""
        return [TEXTS[Obstacle(word)][0] for word in self.stored["obstacles"]]

    @property
    def evidence(self) -> str:
        """The offset syncs that prove the certified place."""
        return ", ".join(
            f"{up:,} \N{RIGHTWARDS ARROW} {down:,}" for up, down in self.stored["evidence"]
        )


def partition_rows_of(row: GroupReadiness, now: datetime) -> list[PartitionRow]:
    """Return the partitions of a group, worst first; no more than a page can hold."""
    now_ms = int(now.timestamp() * 1000)
    places = [PartitionRow(one, _age_s(one["checkpoint_at_ms"], now_ms)) for one in row.partitions]
    places.sort(
        key=lambda one: (
            -Readiness(one.stored["readiness"]).rank,
            one.stored["topic"],
            one.stored["partition"],
        )
    )
    return places[:MOST_PLACES]


def _age_s(at_ms: int | None, now_ms: int) -> float | None:
    return None if at_ms is None else max(now_ms - at_ms, 0) / 1000

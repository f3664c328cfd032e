"""Groups of the target beside the same groups of the source: whether going over would skip records.

MirrorMaker 2 (4.3.1) writes offsets of synced groups only forward: when a group goes back on the source, the
target's stays where it was, and a consumer that goes over skips what it was to read again. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.sync_history import Certificate


class Ahead(StrEnum):
    """How sure it is that the target's group is ahead of what the source's group has read."""

    SURELY = "surely"
    MAYBE = "maybe"


class AheadOfSource(NamedTuple):
    """A group that would skip records on the target, or might; `where` has its name on the target."""

    group: str
    where: TopicPartition
    target_offset: int
    certificate: Certificate
    sure: Ahead

    @property
    def skipped(self) -> int:
        """How many offsets are skipped at most."""
        return self.target_offset - self.certificate.lo

    @property
    def at_least(self) -> int:
        """How many offsets are skipped for sure; 0 when maybe none is."""
        hi = self.certificate.hi
        return 0 if hi is None else max(self.target_offset - hi, 0)

    def __str__(self) -> str:
        upper = f"{self.at_least} to " if self.at_least != self.skipped else ""
        verb = "skips" if self.sure is Ahead.SURELY else "may skip"
        return (
            f"Group {self.group} stands at {self.target_offset} of {self.where}, and what it has read on the "
            f"source ends at {self.certificate.lo}: going over {verb} {upper}{self.skipped} offsets. "
            "Set its offset back before it goes over, unless it was used on the target on purpose."
        )


def find_ahead_of_source(
    group: str,
    certificates: Mapping[TopicPartition, Certificate],
    committed: Mapping[TopicPartition, CommittedOffset],
) -> Iterator[AheadOfSource]:
    """Yield where a group of the target is ahead of the translation of its offset on the source.

    `certificates` by the partition's name on the target. Nothing is said of partitions without one. Between
    `lo` and `hi` nobody can tell; without a `hi` everything above `lo` is `maybe`.
    """
    for where, certificate in sorted(certificates.items()):
        found = committed.get(where)
        if found is None or found.offset is None or found.offset <= certificate.lo:
            continue
        is_sure = certificate.hi is not None and found.offset > certificate.hi
        sure = Ahead.SURELY if is_sure else Ahead.MAYBE
        yield AheadOfSource(group, where, found.offset, certificate, sure)

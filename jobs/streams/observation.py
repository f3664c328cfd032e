"""What one cluster tells of one Kafka Streams application at one moment: everything the rest follows from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jobs import limits
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.group_members import ClassicGroup, StreamsGroup


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """A topic; partitions that did not answer are absent from the maps.

    `starts` and `ends` are offsets (the end is the high watermark), `newest_ms` the largest record timestamp,
    `sizes` the bytes of the leader's log; `settings` are those that were read (`cleanup.policy` ...).
    `replicas` is how many the partition with the fewest has, None: not known.
    """

    partitions: int
    starts: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    newest_ms: Mapping[int, int] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    replicas: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What changes between rebalances: offsets, sizes, commits."""

    observed_at_ms: int
    topics: Mapping[str, TopicFacts]
    committed: Mapping[TopicPartition, CommittedOffset]


@dataclass(frozen=True, slots=True)
class Observation:
    """One application's group and topics as one cluster told them.

    `topics` holds the topics that members read and those whose names begin with the application's id.
    `generation` is None where nothing tells it: DescribeGroups does not. `group_ids` are all groups of the
    cluster, so that topics of an application with a longer name are not taken for this one's. `faults` are
    sentences on what could not be asked.
    """

    group: ClassicGroup | StreamsGroup
    observed_at_ms: int
    topics: Mapping[str, TopicFacts]
    committed: Mapping[TopicPartition, CommittedOffset]
    generation: int | None = None
    group_ids: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()

    @property
    def facts(self) -> Facts:
        """What lag is reckoned from: of commits those of partitions that may exist."""
        committed = _seen_commits(self.committed, self.topics)
        return Facts(self.observed_at_ms, self.topics, committed)


def _seen_commits(
    committed: Mapping[TopicPartition, CommittedOffset], topics: Mapping[str, TopicFacts]
) -> dict[TopicPartition, CommittedOffset]:
    """Return the commits of partitions that may exist; stream time that is too long to keep is not known."""
    found: dict[TopicPartition, CommittedOffset] = {}
    counts = {name: one.partitions for name, one in topics.items()}
    left, unseen = limits.COMMITS, limits.PLACES
    for place, one in sorted(committed.items()):
        unseen -= place.topic not in counts
        if limits.may_exist(*place, counts) and (place.topic in counts or unseen >= 0):
            size = len(one.metadata)
            is_kept = size <= min(limits.COMMIT, left)
            left -= size if is_kept else 0
            found[place] = one if is_kept else replace(one, metadata="")
    return found

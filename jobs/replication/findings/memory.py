"""State between two looks at a flow, so that a standstill can be detected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from jobs.cluster.descriptions import TopicPartition


class Mark(NamedTuple):
    """A partition that is behind: its position, since when, and where the source ended then."""

    position: int
    since: datetime
    end: int


class IdMark(NamedTuple):
    """The id of a topic, the one before it ("" for none), and when the change was seen."""

    topic_id: str
    before: str = ""
    changed_at: datetime | None = None


class CommitMark(NamedTuple):
    """The newest checkpoint, what all groups had committed then, and since when they have committed more."""

    newest_at: datetime | None
    committed: int
    gone_on_since: datetime | None


@dataclass(frozen=True, slots=True)
class FlowMemory:
    """The marks of one flow.

    `behind` holds only partitions with something to copy; `no_data` partitions at whose position nothing but
    markers follows, with the end up to which that is known. `total` is the sum of all positions and
    `moved_at` when it last changed.
    """

    behind: Mapping[TopicPartition, Mark] = field(default_factory=dict)
    no_data: Mapping[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    total: int | None = None
    moved_at: datetime | None = None
    source_ids: Mapping[str, IdMark] = field(default_factory=dict)
    target_ids: Mapping[str, IdMark] = field(default_factory=dict)
    commits: CommitMark | None = None

    def to_mapping(self) -> dict[str, Any]:
        commits = self.commits
        return {
            "behind": [[*w, m.position, _s(m.since), m.end] for w, m in self.behind.items()],
            "no_data": [[*where, *span] for where, span in self.no_data.items()],
            "total": self.total,
            "moved_at": _s(self.moved_at),
            "source_ids": _ids_out(self.source_ids),
            "target_ids": _ids_out(self.target_ids),
            "commits": commits
            and [_s(commits.newest_at), commits.committed, _s(commits.gone_on_since)],
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> FlowMemory:
        """Read what `to_mapping` wrote; an empty mapping is a flow that was not looked at yet."""
        if not values:
            return cls()
        commits = values["commits"]
        return cls(
            {
                TopicPartition(topic, number): Mark(position, _known(since), end)
                for topic, number, position, since, end in values["behind"]
            },
            {TopicPartition(t, p): (first, end) for t, p, first, end in values["no_data"]},
            values["total"],
            _at(values["moved_at"]),
            _ids_in(values["source_ids"]),
            _ids_in(values["target_ids"]),
            CommitMark(_at(commits[0]), commits[1], _at(commits[2])) if commits else None,
        )


def _ids_out(ids: Mapping[str, IdMark]) -> dict[str, list[Any]]:
    return {topic: [m.topic_id, m.before, _s(m.changed_at)] for topic, m in ids.items()}


def _ids_in(values: Mapping[str, Any]) -> dict[str, IdMark]:
    return {topic: IdMark(one, before, _at(at)) for topic, (one, before, at) in values.items()}


def _s(at: datetime | None) -> float | None:
    return None if at is None else at.timestamp()


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else _known(seconds)


def _known(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)

"""What folding one record needs: the tables, and the little that is remembered besides them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.quorum.history.change_builders import ChangePosition
from jobs.quorum.history.changes import AnyChange
from jobs.quorum.image.tables import ImageTables

# So many names of deleted topics are remembered, to recognise one that comes back.
REMEMBERED_TOPICS = 100_000


@dataclass(slots=True)
class MetadataDelta:
    """Tables, and state outside of them.

    `deleted` are the last ids of names whose topic is gone. `topic_being_created` is the topic whose
    creation is being read: Kafka writes a TopicRecord, its configs and its partitions one behind the other.
    """

    tables: ImageTables = field(default_factory=ImageTables)
    deleted: dict[str, str] = field(default_factory=dict)
    topic_being_created: str | None = None

    def remember_deleted(self, name: str, topic_id: str) -> None:
        """Remember the id of a topic that is gone; the oldest is forgotten when there are too many."""
        self.deleted.pop(name, None)
        self.deleted[name] = topic_id
        if len(self.deleted) > REMEMBERED_TOPICS:
            del self.deleted[next(iter(self.deleted))]


Data = Mapping[str, Any]
FoldRecord = Callable[[MetadataDelta, ChangePosition, Data], Iterable[AnyChange]]

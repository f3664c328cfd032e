"""Headers of a record that is sent again: which are left out, and which say that it is a replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

# How often a record was replayed (decimal), the dead letter that it is a replay of, and the plan.
COUNT, OF, PLAN = "crosslog-replay-count", "crosslog-replay-of", "crosslog-replay-plan"
# What Spring for Apache Kafka, Kafka Streams, Kafka Connect and MassTransit add to a record that failed.
# Spring counts attempts in the header: with it, a replay would be a dead letter at its first failure.
_OF_FAILURES = (
    "kafka_dlt-",
    "retry_topic-",
    "springDeserializerException",
    "__streams.errors.",
    "__connect.errors.",
    "MT-Fault-",
)
_OWN = frozenset({COUNT, OF, PLAN})

Header = tuple[str, bytes | None]


class Place(NamedTuple):
    """A record by its topic, partition and offset."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def replay_headers(
    headers: Sequence[Header], letter: Place, plan_id: str, replays: int | None, *, is_failed: bool
) -> list[Header]:
    """Return the headers of a record with those of a replay.

    `replays`: the count to state, None: none. With `is_failed`, headers of failures stay.
    """
    kept = [
        (name, value)
        for name, value in headers
        if name not in _OWN and (is_failed or not name.startswith(_OF_FAILURES))
    ]
    count = [] if replays is None else [(COUNT, str(replays).encode())]
    return [*kept, *count, (OF, str(letter).encode()), (PLAN, plan_id.encode())]

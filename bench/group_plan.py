"""A failover plan of all groups of the benchmark's flow, with both clusters' answers from memory."""

from __future__ import annotations

import random
import time
from typing import Any

from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    PartitionDescription,
    TopicDescription,
    TopicPartition,
)
from jobs.replication.failover.evidence import Evidence, Leg, Side, Way
from jobs.replication.failover.read_evidence import EvidenceRequest, Route
from jobs.replication.translation.translator import Translator

SETTINGS = {"cleanup.policy": ConfigValue("delete"), "retention.ms": ConfigValue("604800000")}


class GivenClusters:
    """Both clusters' answers for `groups` groups with `partitions` offsets each, on `topics` topics."""

    def __init__(
        self, known: Translator, groups: int, partitions: int, topics: int, records: int
    ) -> None:
        self._known = known
        self._size = (groups, partitions, topics, records)

    def route(self, flow: Any) -> Route:
        """Return the flow and what is known of its offset syncs."""
        return Route(flow.spec(), self._known, int(time.time() * 1000))

    def evidence(self, asking: EvidenceRequest) -> Evidence:
        """Return what both clusters say now."""
        now_ms = int(time.time() * 1000)
        records = self._size[3]
        here, there = self._side("east", now_ms), self._side("west", now_ms)
        (route,) = asking.routes
        leg = Leg(
            route.flow, Way.FORWARD, self._known, dict.fromkeys(here.ranges, records),
            {where: kept.end_offset for where, kept in there.ranges.items()}, now_ms,
        )  # fmt: skip
        return Evidence(now_ms, here, there, (leg,))

    def _side(self, alias: str, now_ms: int) -> Side:
        groups, partitions, topics, records = self._size
        is_origin, lot = alias == "east", random.Random(7)
        prefix, end = ("", records) if is_origin else ("east.", records + records // 50)
        names = [f"{prefix}t{number}" for number in range(topics)]
        rows = tuple(PartitionDescription(n, 1, (1,), (1,)) for n in range(partitions))
        committed: dict[str, dict[TopicPartition, CommittedOffset]] = {
            f"group-{number:05}": {
                TopicPartition(names[number % topics], partition): CommittedOffset(
                    lot.randrange(records)
                )
                for partition in range(partitions)
            }
            for number in range(groups)
        }
        return Side(
            alias, f"id-{alias}", committed_at_ms=now_ms,
            groups={name: GroupDescription(name, "Empty", "classic", 0) for name in committed},
            committed=committed if is_origin else {name: {} for name in committed},
            topics={n: TopicDescription(n, f"id-{n}", is_internal=False, partitions=rows) for n in names},
            ranges={TopicPartition(n, p): OffsetRange(0, end, end) for n in names for p in range(partitions)},
            configs=dict.fromkeys(names, SETTINGS),
        )  # fmt: skip

"""Two clusters on paper: what they would say, and a destination whose groups can be set."""

from __future__ import annotations

from dataclasses import replace

from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    PartitionDescription,
    TopicDescription,
    TopicPartition,
)
from jobs.replication.failover.evidence import Evidence, Leg, Side, Way
from jobs.replication.failover.model import Direction, FailoverPlan, FailoverRequest
from jobs.replication.failover.planner import make_plan
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import Translator

NOW_MS = 1_795_000_000_000
ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
GROUP = "billing"


def connection(alias: str) -> Connection:
    return Connection.from_mapping({"alias": alias, "bootstrap_servers": f"{alias}.example:9092"})


def flow(**settings) -> FlowSpec:
    values = {"topics": ("orders", "clicks")} | settings
    return FlowSpec("to west", connection("east"), connection("west"), **values)


def topic(name: str, partitions: int = 1, topic_id: str = "") -> TopicDescription:
    rows = tuple(PartitionDescription(number, 1, (1,), (1,)) for number in range(partitions))
    return TopicDescription(name, topic_id or f"id-{name}", is_internal=False, partitions=rows)


def empty(group: str = GROUP, **fields) -> GroupDescription:
    values = {"state": "Empty", "type": "classic", "member_count": 0} | fields
    return GroupDescription(group, **values)


def offsets(start: int, end: int) -> OffsetRange:
    return OffsetRange(start, end, end)


def settings(**values: str) -> dict[str, ConfigValue]:
    known = {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "max.message.bytes": "1048588",
    }
    known |= {name.replace("_", "."): value for name, value in values.items()}
    return {name: ConfigValue(value) for name, value in known.items()}


def failover_evidence(
    *,
    committed: int | None = 150,
    before: int | None = None,
    syncs=((100, 40), (200, 140)),
    copied_to: int = 201,
    here_end: int = 201,
    there: tuple[int, int] = (0, 141),
    **fields,
) -> Evidence:
    """Return evidence of one group on one partition that moves from east to west.

    `here` and `destination` change fields of the two sides.
    """
    own = {} if committed is None else {ORDERS: CommittedOffset(committed)}
    here = Side(
        "east", "id-east", committed_at_ms=NOW_MS, groups={GROUP: empty()}, committed={GROUP: own},
        topics={"orders": topic("orders")}, ranges={ORDERS: offsets(0, here_end)},
        configs={"orders": settings()},
    )  # fmt: skip
    west = Side(
        "west", "id-west", committed_at_ms=NOW_MS, groups={GROUP: empty(state="Dead")},
        committed={GROUP: {} if before is None else {REMOTE: CommittedOffset(before)}},
        topics={"east.orders": topic("east.orders")}, ranges={REMOTE: offsets(*there)},
        configs={"east.orders": settings()},
    )  # fmt: skip
    leg = Leg(
        fields.get("flow") or flow(), Way.FORWARD, Translator({ORDERS: syncs}),
        {ORDERS: copied_to}, {ORDERS: there[1]}, NOW_MS,
    )  # fmt: skip
    here, west = replace(here, **fields.get("here", {})), replace(west, **fields.get("west", {}))
    return Evidence(NOW_MS, here, west, fields.get("legs") or (leg,))


def failback_evidence(
    *,
    committed: int = 120,
    position: int = 201,
    copied_end: int = 141,
    here_end: int = 141,
    **fields,
) -> Evidence:
    """Return evidence of the group that moves back from west to east, against the same flow."""
    west = Side(
        "west", "id-west", committed_at_ms=NOW_MS, groups={GROUP: empty()},
        committed={GROUP: {REMOTE: CommittedOffset(committed)}},
        topics={"east.orders": topic("east.orders")}, ranges={REMOTE: offsets(0, here_end)},
        configs={"east.orders": settings()},
    )  # fmt: skip
    east = Side(
        "east", "id-east", committed_at_ms=NOW_MS, groups={GROUP: empty()},
        committed={GROUP: {ORDERS: CommittedOffset(100)}},
        topics={"orders": topic("orders")}, ranges={ORDERS: offsets(0, 201)},
        configs={"orders": settings()},
    )  # fmt: skip
    leg = Leg(
        flow(), Way.BACK, Translator({ORDERS: ((100, 40), (200, 140))}),
        {ORDERS: position}, {ORDERS: copied_end}, NOW_MS,
    )  # fmt: skip
    west, east = replace(west, **fields.get("here", {})), replace(east, **fields.get("east", {}))
    return Evidence(NOW_MS, west, east, fields.get("legs") or (leg,))


def plan_of(found: Evidence | None = None, **wish) -> FailoverPlan:
    evidence = found or failover_evidence()
    direction = Direction.FAILBACK if evidence.origin.alias == "west" else Direction.FAILOVER
    return make_plan("to west", FailoverRequest(direction, **wish), evidence)


class PaperDoor:
    """A destination on paper: offsets that can be set, and what goes wrong when a test wants it."""

    def __init__(self, committed=None, **fields) -> None:
        self.offsets = {w: CommittedOffset(o) for w, o in (committed or {}).items()}
        self.described = fields.get("described") or empty()
        self.refuses = fields.get("refuses") or {}
        self.fault = fields.get("fault")
        self.calls: list[str] = []

    def describe(self, group):
        return self.described

    def committed(self, group):
        return dict(self.offsets)

    def alter(self, group, offsets):
        self.calls.append("alter")
        if self.fault is not None:
            raise self.fault
        done = {w: one for w, one in offsets.items() if w not in self.refuses}
        self.offsets |= done
        return {where: self.refuses.get(where) for where in offsets}

    def delete(self, group, partitions):
        self.calls.append("delete")
        for where in partitions:
            self.offsets.pop(where, None)
        return dict.fromkeys(partitions)

    def plain(self) -> dict[TopicPartition, int | None]:
        return {where: one.offset for where, one in self.offsets.items()}

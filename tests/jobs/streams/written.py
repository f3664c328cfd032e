"""Bytes as members of a classic group write them (version 11), and groups made of them."""

import struct
from uuid import UUID

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.group_members import ClassicGroup, ClassicMember
from jobs.streams.observation import Observation, TopicFacts

NO_REBALANCE = 2**63 - 1
NOW_MS = 1_800_000_000_000


def int32(*numbers):
    return struct.pack(f">{len(numbers)}i", *numbers)


def text16(value):
    content = value.encode()
    return struct.pack(">h", len(content)) + content


def text32(value):
    content = value.encode()
    return int32(len(content)) + content


def listed(parts):
    return int32(len(parts)) + b"".join(parts)


def process(number):
    return str(UUID(int=number))


def of_topology(named):
    return struct.pack(">h", len(named)) + named.encode() if named else struct.pack(">h", -1)


def subscription_info(
    number, endpoint="", sums=(), version=11, error=0, joins=1, tags=(), named=""
):
    if version > 11:
        return int32(version, version)
    found = [int32(*task) + struct.pack(">q", total) + of_topology(named) for task, total in sums]
    written = [text32(name) + text32(value) for name, value in tags]
    return (
        int32(version, version)
        + UUID(int=number).bytes
        + text32(endpoint)
        + listed(found)
        + struct.pack(">b", joins)
        + int32(error)
        + listed(written)
    )


def host_map(routes, topics):
    found = []
    for endpoint, places in routes.items():
        host, _, port = endpoint.rpartition(":")
        numbers = [int32(topics.index(topic), partition) for topic, partition in places]
        found.append(text16(host) + int32(int(port)) + listed(numbers))
    return listed(found)


def task_bytes(task, named):
    return int32(*task, len(named)) + named.encode("utf-16-be")


def assignment_info(
    active=(), standby=(), routes=None, standby_routes=None, next_ms=NO_REBALANCE, named=""
):
    """`active` are tasks in the order of their partitions, `standby` is (task, places)."""
    routes, standby_routes = routes or {}, standby_routes or {}
    topics = sorted(
        {topic for one in (routes, standby_routes) for own in one.values() for topic, _ in own}
    )
    copies = [
        task_bytes(task, named)
        + listed([text16(topic) + int32(number) for topic, number in places])
        for task, places in standby
    ]
    return (
        int32(11, 11)
        + listed([task_bytes(task, named) for task in active])
        + listed(copies)
        + listed([int32(at) + text16(topic) for at, topic in enumerate(topics)])
        + host_map(routes, topics)
        + host_map(standby_routes, topics)
        + int32(0)
        + struct.pack(">q", next_ms)
    )


def partitions_of(places):
    by_topic = {}
    for topic, number in places:
        by_topic.setdefault(topic, []).append(number)
    return listed(
        [text16(topic) + listed([int32(one) for one in own]) for topic, own in by_topic.items()]
    )


def subscription(user_data, topics=("orders",), rack=""):
    head = struct.pack(">h", 3) + listed([text16(one) for one in topics])
    return head + int32(len(user_data)) + user_data + int32(0) + int32(-1) + text16(rack)


def assignment(places, user_data):
    return struct.pack(">h", 3) + partitions_of(places) + int32(len(user_data)) + user_data


def member(number, metadata, given, thread=1, host="/10.0.0.1"):
    client = f"app-{process(number)}-StreamThread-{thread}-consumer"
    return ClassicMember(f"{client}-member", None, client, host, metadata, given)


def group(*members, state="Stable", protocol="stream"):
    return ClassicGroup("app", state, "consumer", protocol, members)


def two_processes(
    *, second_endpoint="h2:2", sums=True, next_ms=NO_REBALANCE, copies=True, named=""
):
    """Two processes share the four tasks of `orders`, each with a standby of the other's."""
    mine = {1: [("orders", 0), ("orders", 2)], 2: [("orders", 1), ("orders", 3)]}
    endpoints = {1: "h1:1", 2: second_endpoint}
    routes = {endpoints[one]: mine[one] for one in mine if endpoints[one]}
    crossed = {endpoints[one]: mine[3 - one] for one in mine if endpoints[one] and copies}
    members = []
    for one, places in mine.items():
        told = [((0, number), -2) for _, number in places]
        told += [((0, number), 40) for _, number in mine[3 - one]] if copies else []
        standby = (
            [((0, number), [(topic, number)]) for topic, number in mine[3 - one]] if copies else ()
        )
        info = subscription_info(one, endpoints[one], told if sums else (), named=named)
        given = assignment_info(
            [(0, number) for _, number in places], standby, routes, crossed, next_ms, named
        )
        members.append(
            member(one, subscription(info), assignment(places, given), host=f"/10.0.0.{one}")
        )
    return group(*members)


def facts(partitions, end=100, **more):
    numbers = range(partitions)
    return TopicFacts(
        partitions,
        dict.fromkeys(numbers, 0),
        dict.fromkeys(numbers, end),
        dict.fromkeys(numbers, NOW_MS - 1_000),
        dict.fromkeys(numbers, 5_000),
        more,
    )


TOPICS = {
    "orders": facts(4),
    "app-totals-changelog": facts(4, 50, **{"cleanup.policy": "compact"}),
}


def observation(of, topics=None, commits=None, group_ids=()):
    committed = {
        TopicPartition(*place): CommittedOffset(offset, metadata)
        for place, (offset, metadata) in (commits or {}).items()
    }
    return Observation(of, NOW_MS, topics or TOPICS, committed, group_ids=frozenset(group_ids))

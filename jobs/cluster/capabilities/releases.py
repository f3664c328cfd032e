"""Which Kafka release a broker is, as far as its answer to ApiVersions tells, and with which a request came.

Checked with answers of real brokers, tests/conformance/api_versions. Source: the `validVersions` of Kafka's
message definitions and `MetadataVersion`, by release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.protocol.transport.apis import SupportedApi
from jobs.cluster.protocol.transport.versions import BrokerVersions

# The oldest that answers crosslog at all: ApiVersions 3 (KIP-511).
OLDEST = "2.4"
TOO_OLD = (
    f"crosslog reads clusters of Kafka {OLDEST} and newer, copies whole batches from 2.7 on, and writes them "
    "exactly once from 2.8 on."
)
_KEYS = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "LeaderAndIsr": 4,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "JoinGroup": 11,
    "FindCoordinator": 10,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "DeleteTopics": 20,
    "InitProducerId": 22,
    "AddPartitionsToTxn": 24,
    "EndTxn": 26,
    "DescribeAcls": 29,
    "CreateAcls": 30,
    "DescribeConfigs": 32,
    "DescribeLogDirs": 35,
    "CreatePartitions": 37,
    "OffsetDelete": 47,
    "DescribeQuorum": 55,
    "DescribeCluster": 60,
    "DescribeProducers": 61,
    "DescribeTransactions": 65,
    "ListTransactions": 66,
    "ConsumerGroupDescribe": 69,
    "DescribeTopicPartitions": 75,
    "ShareGroupDescribe": 77,
    "StreamsGroupDescribe": 89,
    "DescribeShareGroupOffsets": 90,
}
# What brokers of every kind offer to clients from a release on. 3.4 has nothing of its own.
_CAME: dict[str, dict[str, int]] = {
    "2.4": {"Produce": 8, "Metadata": 9, "OffsetDelete": 0},
    "2.5": {"OffsetFetch": 7, "DescribeAcls": 2, "CreateAcls": 2, "CreatePartitions": 2},
    "2.6": {"ListGroups": 4, "DescribeLogDirs": 2},
    "2.7": {"Fetch": 12, "DeleteTopics": 5},
    "2.8": {"Produce": 9, "Metadata": 11, "DescribeCluster": 0, "DescribeProducers": 0},
    "3.0": {"ListOffsets": 7, "OffsetFetch": 8, "FindCoordinator": 4, "ListTransactions": 0},
    "3.1": {"Fetch": 13, "Metadata": 12},
    "3.2": {"JoinGroup": 9, "DescribeLogDirs": 3},
    "3.3": {"DescribeAcls": 3, "DescribeLogDirs": 4},
    "3.5": {"Fetch": 15, "ListOffsets": 8},
    "3.6": {"AddPartitionsToTxn": 4},
    "3.7": {"Produce": 10, "Fetch": 16},
    "3.8": {"Produce": 11, "ListGroups": 5, "ConsumerGroupDescribe": 0},
    "3.9": {"Fetch": 17, "ListOffsets": 9},
    "4.0": {"Produce": 12, "Metadata": 13, "DescribeGroups": 6, "DescribeCluster": 2},
    "4.1": {"Produce": 13, "Fetch": 18},
    "4.2": {"ListOffsets": 11, "OffsetCommit": 10},
    "4.3": {"DescribeLogDirs": 5},
}
# What does not tell a release: requests of transactions (the preview of KRaft had none) and of KRaft alone.
_ALSO_CAME: dict[str, dict[str, int]] = {
    "2.7": {"InitProducerId": 4},
    "3.0": {"DescribeTransactions": 0},
    "2.8": {"AddPartitionsToTxn": 3, "EndTxn": 3},
    "3.3": {"DescribeQuorum": 0},
    "3.8": {"DescribeTopicPartitions": 0},
    "3.9": {"DescribeQuorum": 2},
    "4.1": {"ShareGroupDescribe": 1, "DescribeShareGroupOffsets": 0},
    "4.2": {"StreamsGroupDescribe": 0, "DescribeShareGroupOffsets": 1},
}
# The highest metadata.version that brokers of a release know; the first with KRaft for production is 3.3.
_LEVELS = {
    "3.3": 7,
    "3.4": 8,
    "3.5": 11,
    "3.6": 14,
    "3.7": 19,
    "3.8": 20,
    "3.9": 21,
    "4.0": 25,
    "4.1": 27,
    "4.2": 29,
    "4.3": 30,
}
NEWEST = max(_CAME)
# Brokers with ZooKeeper never offer these.
KRAFT_ONLY = frozenset(
    _KEYS[name]
    for name in (
        "DescribeQuorum",
        "DescribeTopicPartitions",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
        "DescribeShareGroupOffsets",
    )
)
_WITHOUT_OWN, _BEFORE_IT, _LEADER_AND_ISR_OF_IT = "3.4", "3.3", 7
METADATA_VERSION = "metadata.version"


class Mode(StrEnum):
    """How a broker keeps its metadata."""

    KRAFT = "KRaft"
    ZOOKEEPER = "ZooKeeper"
    MIGRATION = "ZooKeeper and KRaft, as while it migrates"
    UNKNOWN = "ZooKeeper or KRaft before 3.3"


@dataclass(frozen=True, slots=True)
class Release:
    """A broker's release: `text` for a person ("3.9", "3.3 or 3.4", "4.3 or newer", "not known").

    `at_least` is the release that it surely has; "" where what it offers contradicts itself, and then `why`
    says in what.
    """

    text: str
    at_least: str = ""
    why: str = ""


def tell_release(versions: BrokerVersions) -> Release:
    """Return the release of a broker: not known where it has parts of one and lacks parts of an older one."""
    offered = {release: list(_split(versions, release)) for release in _CAME}
    has = [release for release, found in offered.items() if any(ok for _, ok in found)]
    if not has:
        return Release(f"older than {OLDEST}")
    newest = has[-1]
    lacking = [
        (name, release)
        for release, found in offered.items()
        if number(release) <= number(newest)
        for name, ok in found
        if not ok
    ]
    if lacking:
        own = next(name for name, ok in offered[newest] if ok)
        without = ", ".join(f"{name} of Kafka {release}" for name, release in lacking[:3])
        return Release(
            "not known", why=f"it offers {own} as Kafka {newest} does, without {without}"
        )
    return _with_level(newest, versions)


def mode_of(versions: BrokerVersions) -> Mode:
    """Return how a broker keeps its metadata; brokers with ZooKeeper offer LeaderAndIsr, and no quorum."""
    if METADATA_VERSION in versions.supported or _offers(versions, "DescribeQuorum", 0):
        return Mode.KRAFT
    return Mode.ZOOKEEPER if _offers(versions, "LeaderAndIsr", 0) else Mode.UNKNOWN


def came_with(api: SupportedApi, version: int) -> str:
    """Return the release with which a version of a request came; `OLDEST` for all older ones."""
    for table in (_CAME, _ALSO_CAME):
        for release, requests in table.items():
            if any(_KEYS[name] == api.key and v == version for name, v in requests.items()):
                return release
    return OLDEST


def level_text(level: int) -> str:
    """Return a metadata.version with the release that brought it."""
    release = next((one for one, most in _LEVELS.items() if level <= most), None)
    return f"{level} (Kafka {release})" if release else f"{level} (newer than Kafka {NEWEST})"


def number(release: str) -> tuple[int, ...]:
    """Return a release as numbers that compare; () for one that is not known."""
    return tuple(int(part) for part in release.split(".")) if release else ()


def _with_level(newest: str, versions: BrokerVersions) -> Release:
    level = versions.supported.get(METADATA_VERSION)
    if level is None:
        if newest == NEWEST:
            return Release(f"{newest} or newer", newest)
        if newest == _BEFORE_IT and _offers(versions, "LeaderAndIsr", 0):
            is_next = _offers(versions, "LeaderAndIsr", _LEADER_AND_ISR_OF_IT)
            newest = _WITHOUT_OWN if is_next else newest
        elif newest == _BEFORE_IT:
            return Release(f"{_BEFORE_IT} or {_WITHOUT_OWN}", newest)
        return Release(newest, newest)
    by_level = next((one for one, most in _LEVELS.items() if level <= most), None)
    if by_level is None and newest == NEWEST:
        return Release(f"newer than {newest}", newest)
    if by_level == newest or (by_level == _WITHOUT_OWN and newest == _BEFORE_IT):
        return Release(by_level, by_level)
    theirs = f"Kafka {by_level}" if by_level else f"a Kafka newer than {NEWEST}"
    why = f"its requests are those of Kafka {newest}, its metadata.version {level} is that of {theirs}"
    return Release("not known", why=why)


def _split(versions: BrokerVersions, release: str) -> Iterator[tuple[str, bool]]:
    for name, version in _CAME[release].items():
        yield f"{name} {version}", _offers(versions, name, version)


def _offers(versions: BrokerVersions, name: str, version: int) -> bool:
    return versions.ranges.get(_KEYS[name], (0, -1))[1] >= version

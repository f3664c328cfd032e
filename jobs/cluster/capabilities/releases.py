"""Which Kafka release a broker is, as far as its answer to ApiVersions tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from jobs.cluster.capabilities.needs import KEYS
from jobs.cluster.protocol.transport.apis import BrokerVersions
from jobs.cluster.protocol.transport.kafka_releases import OLDEST, RELEASES

_CAME: dict[str, str] = RELEASES["came"]
_LEVELS: dict[str, int] = RELEASES["levels"]
NEWEST = max(_CAME)
# Brokers with ZooKeeper never offer these.
KRAFT_ONLY = {
    *("DescribeQuorum", "DescribeTopicPartitions", "ShareGroupDescribe", "StreamsGroupDescribe"),
    "DescribeShareGroupOffsets",
}
_KEYS = {**KEYS, "LeaderAndIsr": 4, "JoinGroup": 11}
_WITHOUT_OWN, _BEFORE_IT, _LEADER_AND_ISR_OF_IT = "3.4", "3.3", 7
METADATA_VERSION = "metadata.version"
NOT_KNOWN = "not known"
_LIMIT_SINCE = "3.7"


class Mode(StrEnum):
    """How a broker keeps its metadata."""

    KRAFT = "KRaft"
    ZOOKEEPER = "ZooKeeper"
    MIGRATION = "ZooKeeper and KRaft, as while it migrates"
    UNKNOWN = NOT_KNOWN


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
        return Release(NOT_KNOWN, why=f"it offers {own} as Kafka {newest} does, without {without}")
    return _with_level(newest, versions)


def mode_of(versions: BrokerVersions) -> Mode:
    """Return how a broker keeps its metadata; brokers with ZooKeeper offer LeaderAndIsr, and no quorum."""
    if METADATA_VERSION in versions.supported or _offers(versions, "DescribeQuorum", 0):
        return Mode.KRAFT
    return Mode.ZOOKEEPER if _offers(versions, "LeaderAndIsr", 0) else Mode.UNKNOWN


def level_text(level: int) -> str:
    """Return a metadata.version with the release that brought it."""
    release = next((one for one, most in _LEVELS.items() if level <= most), None)
    return f"{level} (Kafka {release})" if release else f"{level} (newer than Kafka {NEWEST})"


def release_limits_min_isr(versions: BrokerVersions) -> bool | None:
    """Return whether a broker asks for no more in-sync replicas than there are (KAFKA-15583).

    None: its release is not known.
    """
    release = tell_release(versions)
    if release.at_least:
        return number(release.at_least) >= number(_LIMIT_SINCE)
    return None if release.why else False


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
    return Release(NOT_KNOWN, why=why)


def _split(versions: BrokerVersions, release: str) -> Iterator[tuple[str, bool]]:
    for word in _CAME[release].split():
        name, _, version = word.partition(":")
        yield f"{name} {version}", _offers(versions, name, int(version))


def _offers(versions: BrokerVersions, name: str, version: int) -> bool:
    return versions.ranges.get(_KEYS[name], (0, -1))[1] >= version

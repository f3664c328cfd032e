"""What works on a cluster, works another way, does not work, or is not known; pure rules.

Verdicts follow what brokers offer; their release only explains why something is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobs.cluster.capabilities.needs import CAPABILITIES, KEYS, Capability, Need, read_needs
from jobs.cluster.capabilities.releases import (
    KRAFT_ONLY,
    METADATA_VERSION,
    NOT_KNOWN,
    Mode,
    Release,
    level_text,
    mode_of,
    number,
    release_limits_min_isr,
    tell_release,
)
from jobs.cluster.protocol.transport.apis import BrokerVersions
from jobs.cluster.protocol.transport.kafka_releases import came_with, level_limits_min_isr

_WITH_FEATURES = "4.0"  # before it, what a feature switches on was a preview
_IDS_SINCE, _LOG_SINCE = "2.8", "3.0"
_COUNTS = {2: "two", 3: "three", 4: "four"}


class Verdict(StrEnum):
    """Whether crosslog can do something on a cluster."""

    WORKS = "works"
    ANOTHER_WAY = "another_way"
    LACKS = "does_not_work"
    UNKNOWN = "not_known"


@dataclass(frozen=True, slots=True)
class Judged:
    """A capability with its verdict; `why` is empty where it works, `since` the first release that has it."""

    code: str
    title: str
    verdict: Verdict
    why: str
    since: str


@dataclass(frozen=True, slots=True)
class ClusterVersions:
    """What each broker offers; `silent` says why a broker told nothing.

    `has_topic_ids` None: not known, as in a cluster without topics. `read_at` is when they said so, where
    that is kept.
    """

    brokers: Mapping[int, BrokerVersions]
    silent: Mapping[int, str] = field(default_factory=dict)
    has_topic_ids: bool | None = None
    read_at: datetime | None = None

    @property
    def releases(self) -> dict[int, Release]:
        """The release of each broker that answered."""
        return {number_: tell_release(one) for number_, one in sorted(self.brokers.items())}

    @property
    def mode(self) -> Mode:
        """How the cluster keeps its metadata."""
        modes = {mode_of(one) for one in self.brokers.values()}
        if {Mode.KRAFT, Mode.ZOOKEEPER} <= modes:
            return Mode.MIGRATION
        known = modes - {Mode.UNKNOWN}
        return known.pop() if known else Mode.UNKNOWN

    @property
    def text(self) -> str:
        """The versions of the brokers, for a person."""
        by_release: dict[str, list[int]] = defaultdict(list)
        for broker, release in self.releases.items():
            by_release[release.text].append(broker)
        told = [
            f"{_listed(ids)} on {'one that is ' if text == NOT_KNOWN else ''}{text}"
            for text, ids in by_release.items()
        ]
        if len(told) > 1:
            count = _COUNTS.get(len(told), str(len(told)))
            found = f"brokers on {count} versions: {', '.join(told)}"
        else:
            text = next(iter(by_release), NOT_KNOWN)
            found = f"Kafka {'version ' if text == NOT_KNOWN else ''}{text}"
        return f"{found}; {_brokers(self.silent)} did not tell" if self.silent else found

    @property
    def metadata_version(self) -> str:
        """The finalized metadata.version with its release; "" without KRaft, or not reported."""
        return level_text(self._level) if self._level > 0 else ""

    @property
    def _level(self) -> int:
        return max((v.features.get(METADATA_VERSION, 0) for v in self.brokers.values()), default=0)

    @property
    def limits_min_isr(self) -> bool | None:
        """Whether leaders ask for no more in-sync replicas than there are, see `effective_min_isr`.

        A broker that does not makes it False; None: not known of all.
        """
        if level_limits_min_isr(self._level):
            return True
        found = {release_limits_min_isr(one) for one in self.brokers.values()}
        if False in found:
            return False
        return None if None in found or not found or self.silent else True

    @property
    def lacking(self) -> list[Judged]:
        """What does not simply work."""
        return [one for one in self.judge() if one.verdict is not Verdict.WORKS]

    @property
    def working(self) -> str:
        """The titles of what works."""
        return in_words(self.judge(), Verdict.WORKS)

    def contradictions(self) -> list[str]:
        """Return what brokers offer that no release of Kafka does."""
        return [
            f"Broker {broker}: {release.why}. Something hides versions, as a proxy does, or it is not "
            "Apache Kafka."
            for broker, release in self.releases.items()
            if release.why
        ]

    def judge(self) -> list[Judged]:
        """Return the verdict on every capability."""
        return [_judge(one, self) for one in CAPABILITIES]

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values for `from_mapping`; what several brokers answer alike is there once."""
        answers: list[dict[str, Any]] = []
        for broker, one in sorted(self.brokers.items()):
            plain = _plain(one)
            known = next((a for a in answers if a["answer"] == plain), None)
            if known is None:
                answers.append({"brokers": [broker], "answer": plain})
            else:
                known["brokers"].append(broker)
        return {
            "answers": answers,
            "silent": {str(i): why for i, why in sorted(self.silent.items())},
            "has_topic_ids": self.has_topic_ids,
        }

    @classmethod
    def from_mapping(
        cls, values: Mapping[str, Any], read_at: datetime | None = None
    ) -> ClusterVersions:
        """Return what `to_mapping` wrote."""
        return cls(
            {
                broker: broker_versions(one["answer"])
                for one in values["answers"]
                for broker in one["brokers"]
            },
            {int(i): why for i, why in values["silent"].items()},
            values["has_topic_ids"],
            read_at,
        )


def broker_versions(values: Mapping[str, Any]) -> BrokerVersions:
    """Return a broker's answer from plain values: ranges by request number, features by name."""
    ranges = {int(key): (low, high) for key, (low, high) in values["ranges"].items()}
    return BrokerVersions(ranges, values["finalized"], supported=values["supported"])


def _plain(versions: BrokerVersions) -> dict[str, Any]:
    return {
        "ranges": {str(key): list(span) for key, span in sorted(versions.ranges.items())},
        "finalized": dict(versions.features),
        "supported": dict(versions.supported),
    }


@dataclass(frozen=True, slots=True)
class _Problem:
    text: str
    since: str = ""
    is_known: bool = True


def _judge(capability: Capability, versions: ClusterVersions) -> Judged:
    came = [_came(need) for need in read_needs(capability.needs)]
    since = max(
        [*came, _WITH_FEATURES] if capability.feature else came, key=number, default=_LOG_SINCE
    )
    verdict, why = _verdict(capability, versions)
    return Judged(capability.code, capability.title, verdict, why, since)


def _verdict(capability: Capability, versions: ClusterVersions) -> tuple[Verdict, str]:
    if not versions.brokers:
        return Verdict.UNKNOWN, "No broker has told its versions."
    found = list(_problems(capability, versions))
    lacking = [one for one in found if one.is_known]
    if lacking:
        worst = max(lacking, key=lambda one: number(one.since))
        if not capability.otherwise or _is_impossible(capability, versions):
            return Verdict.LACKS, worst.text
        others = [
            one for need in read_needs(capability.other_needs) if (one := _problem(need, versions))
        ]
        if not others:
            return Verdict.ANOTHER_WAY, f"{capability.otherwise} {worst.text}"
        is_known = any(one.is_known for one in others)
        return (Verdict.LACKS, worst.text) if is_known else (Verdict.UNKNOWN, others[0].text)
    return (Verdict.UNKNOWN, found[0].text) if found else (Verdict.WORKS, "")


def _problems(capability: Capability, versions: ClusterVersions) -> Iterator[_Problem]:
    if _is_impossible(capability, versions):
        yield _Problem("The cluster runs with ZooKeeper; this needs KRaft.")
        return
    if capability.on_kraft and not capability.needs and versions.mode is not Mode.KRAFT:
        how = f"The metadata mode is {versions.mode}"
        yield _Problem(f"{how}; this needs KRaft.", is_known=False)
    problems = [_problem(need, versions) for need in read_needs(capability.needs)]
    yield from filter(None, problems)
    levels = [one.features.get(capability.feature, 0) for one in versions.brokers.values()]
    if capability.feature and not any(problems) and not any(levels):
        yield _without_feature(capability.feature, versions)
    if capability.with_ids and not any(problems):
        yield from _without_ids(versions)


def _is_impossible(capability: Capability, versions: ClusterVersions) -> bool:
    return capability.on_kraft and versions.mode is Mode.ZOOKEEPER


def _without_ids(versions: ClusterVersions) -> Iterator[_Problem]:
    if versions.has_topic_ids is None:
        yield _Problem("No topic is visible that would tell.", is_known=False)
    elif not versions.has_topic_ids:
        yield _Problem(
            f"Topics have no ids: inter.broker.protocol.version of the brokers is below {_IDS_SINCE}."
        )


def _problem(need: Need, versions: ClusterVersions) -> _Problem | None:
    without = {i: one for i, one in versions.brokers.items() if not _offers(need, one)}
    is_there = not without if need.on_all else len(without) < len(versions.brokers)
    if versions.silent and (is_there if need.on_all else not is_there):
        text = f"{_brokers(versions.silent).capitalize()} did not tell whether it offers {_name(need)}."
        return _Problem(text, is_known=False)
    if not is_there:
        return _Problem(_why_not(need, without, versions), _came(need))
    return None


def _without_feature(feature: str, versions: ClusterVersions) -> _Problem:
    oldest = min(versions.releases.values(), key=lambda one: number(one.at_least))
    if oldest.at_least and number(oldest.at_least) < number(_WITH_FEATURES):
        text = f"A preview before Kafka {_WITH_FEATURES}: brokers may refuse it."
        return _Problem(text, is_known=False)
    if not any(one.features for one in versions.brokers.values()):
        return _Problem("No broker tells which features are finalized.", is_known=False)
    return _Problem(
        f"{feature} is not finalized at 1 or more: kafka-features.sh upgrade --feature {feature}=1"
    )


def _why_not(need: Need, without: Mapping[int, BrokerVersions], versions: ClusterVersions) -> str:
    key, since, releases = KEYS[need.name], _came(need), versions.releases
    whole = len(without) == len(versions.brokers)
    who = "No broker offers" if whole else f"{_brokers(without).capitalize()} {_not(without)} offer"
    lowest = [one.ranges[key][0] for one in without.values() if key in one.ranges]
    if lowest and min(lowest) > need.versions[-1]:
        return f"{who} {need.name} below version {min(lowest)}, which crosslog does not speak."
    if need.name in KRAFT_ONLY and any(mode_of(one) is Mode.ZOOKEEPER for one in without.values()):
        return f"{who} {_name(need)}: it needs KRaft and Kafka {since}."
    hiding = [i for i in without if number(releases[i].at_least) >= number(since)]
    if hiding:
        kafka = f"{_brokers(hiding).capitalize()} {'is' if len(hiding) == 1 else 'are'}"
        return (
            f"{who} {_name(need)}. {kafka} Kafka {releases[hiding[0]].text}, which has it since {since}: "
            "something hides it, as a proxy does."
        )
    return f"{who} {_name(need)}, which came with Kafka {since}."


def _offers(need: Need, versions: BrokerVersions) -> bool:
    lowest, highest = versions.ranges.get(KEYS[need.name], (0, -1))
    return any(lowest <= version <= highest for version in need.versions)


def _came(need: Need) -> str:
    return came_with(need.name, need.versions[0])


def _name(need: Need) -> str:
    return f"{need.name} {need.versions[0]}"


def _listed(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))


def _brokers(ids: Collection[int]) -> str:
    return f"broker{'' if len(ids) == 1 else 's'} {_listed(ids)}"


def _not(ids: Collection[int]) -> str:
    return "does not" if len(ids) == 1 else "do not"


def in_words(judged: Iterable[Judged], verdict: Verdict) -> str:
    """Return the titles of what has a verdict."""
    return "; ".join(one.title for one in judged if one.verdict is verdict)

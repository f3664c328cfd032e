"""Reads a cluster's snapshot from rows: as last collected, or at a time of the metadata log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast

from console.availability.controller_sites.sites import sites_of
from console.availability.placements.placements import CONFIG
from console.availability.status.models import AvailabilityRound, PartitionStatus
from console.availability.what_if.cluster_snapshots import (
    ClassNumbering,
    ClusterSnapshot,
    PartitionClass,
    TopicFacts,
    gaps_now,
    gaps_of_limit,
    gaps_of_moves,
    gaps_of_racks,
    gaps_of_topics,
)
from console.clusters.models import Broker, Cluster, CollectionRound, Noun, Partition, Topic
from console.quorum import queries as quorum
from jobs.availability.what_if.model.cluster import BrokerModel, ControllerModel
from jobs.cluster.capabilities.releases import METADATA_VERSION
from jobs.cluster.protocol.transport.kafka_releases import level_limits_min_isr

MIN_ISR, UNCLEAN = "min.insync.replicas", "unclean.leader.election.enable"
ELR_FEATURE = "eligible.leader.replicas.version"
NO_LEADER = -1
# A quorum observer that fetched so shortly before the description is alive, fenced or not.
FETCHES_WITHIN = timedelta(seconds=10)


class UnknownMoment(Exception):
    """The state at this time is unknown: it is before the history, or there is none."""


def read_now(cluster: Cluster) -> ClusterSnapshot:
    """Return a cluster as it was last collected; eleven queries, whatever its size."""
    log = quorum.log_of(cluster)
    known = _LogFacts.newest(log)
    numbering = ClassNumbering()
    partitions = _partitions_now(cluster, numbering)
    topics = list(_topics_now(cluster, partitions))
    brokers = _brokers_now(cluster, known)
    voters = placed_voters(_voters_now(log), brokers, sites_of(cluster))
    limits = cluster.offers.limits_min_isr
    return ClusterSnapshot(
        brokers,
        voters,
        known.has_elr,
        numbering.classes,
        topics,
        (
            *gaps_now(
                topics,
                brokers,
                voters,
                is_followed=log is not None and bool(log.next_offset),
                why_unjudged=_why_unjudged(log),
                of_one=_set_by_one_broker(cluster),
            ),
            *gaps_of_moves(numbering.classes, topics),
            *(() if limits is not None else gaps_of_limit(numbering.classes, topics)),
        ),
        seen_at(cluster),
        limits_min_isr=limits,
    )


def read_then(cluster: Cluster, at: datetime) -> ClusterSnapshot:
    """Return a cluster at a time of the metadata log; raises `UnknownMoment` with a sentence."""
    log = quorum.log_of(cluster)
    if log is None:
        raise UnknownMoment(
            f"crosslog has no metadata log of {cluster.alias}: only its current state is known."
        )
    try:
        moment = quorum.moment_at(log, at)
    except quorum.OutsideHistory as problem:
        raise UnknownMoment(str(problem)) from None
    known = _LogFacts.at(log, moment)
    numbering = ClassNumbering()
    numbers: dict[str, list[tuple[int, int]]] = {}
    states = quorum.states_then(log, moment, quorum.ChangeKind.PARTITION)
    for topic, partition, state in states.values_list("topic", "partition", "state").iterator():
        if state and state.get("replicas"):
            number = numbering.number(json.dumps(_placed(state)), lambda s=state: _class_then(s))
            numbers.setdefault(topic, []).append((partition, number))
    least_now = _least_now(cluster, numbers)
    topics = [
        _topic(name, known.least_of(name, least_now), known.configs_of(name), found)
        for name, found in sorted(numbers.items())
    ]
    brokers = _brokers_then(known)
    voters, unknown_voters = _voters_then(log, moment)
    voters = placed_voters(voters, brokers, sites_of(cluster))
    unknown_voters += gaps_of_racks(voters)
    gaps = [*_gaps_then(known, topics), *unknown_voters, *gaps_of_topics(topics)]
    limits = level_limits_min_isr(_level(log, moment, METADATA_VERSION))
    gaps += () if limits else gaps_of_limit(numbering.classes, topics)
    gaps += filter(None, [quorum.why_unsure(log, moment)])
    return ClusterSnapshot(
        brokers,
        voters,
        known.has_elr,
        numbering.classes,
        topics,
        tuple(gaps),
        at,
        limits_min_isr=limits,
    )


@dataclass(slots=True)
class _LogFacts:
    """What the metadata log says at a moment of brokers, settings and features."""

    log: Any = None
    moment: Any = None
    brokers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    # Settings of topics by name, and those of all brokers under "".
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    has_elr: bool = False

    @classmethod
    def newest(cls, log: Any) -> _LogFacts:
        """What counts now; settings of topics are collected from the cluster itself."""
        if log is None or not log.next_offset:
            return cls(log)
        moment = quorum.newest_moment(log)
        return cls.of(log, moment)

    @classmethod
    def of(cls, log: Any, moment: Any) -> _LogFacts:
        """What it says of brokers and features."""
        has_elr = _level(log, moment, ELR_FEATURE) > 0
        return cls(log, moment, _broker_states(log, moment), has_elr=has_elr)

    @classmethod
    def at(cls, log: Any, moment: Any) -> _LogFacts:
        """What counted then."""
        found = cls.of(log, moment)
        rows = quorum.states_then(log, moment, quorum.ChangeKind.CONFIG)
        for name, key, state in rows.values_list("topic", "key", "state"):
            kind, _, rest = key.partition(":")
            resource, _, setting = rest.rpartition(":")
            value = (state or {}).get("value")
            if kind == "TOPIC" and value is not None:
                found.configs.setdefault(name or resource, {})[setting] = value
            elif kind == "BROKER" and not resource and setting in {MIN_ISR, UNCLEAN} and value:
                found.defaults[setting] = value
        return found

    def least_of(self, topic: str, now: Mapping[str, int | None]) -> int | None:
        """Return min.insync.replicas of a topic: its own, the cluster's default, else what it is now."""
        own = self.configs.get(topic, {}).get(MIN_ISR) or self.defaults.get(MIN_ISR, "")
        return int(own) if own.isdecimal() else now.get(topic)

    def configs_of(self, topic: str) -> Mapping[str, str]:
        """Return the settings of a topic over the cluster's defaults."""
        return self.defaults | self.configs.get(topic, {})


def _broker_states(log: Any, moment: Any) -> dict[int, Mapping[str, Any]]:
    rows = quorum.states_then(log, moment, quorum.ChangeKind.BROKER).values_list("broker", "state")
    return {number: state for number, state in rows if number is not None and state}


def _level(log: Any, moment: Any, feature: str) -> int:
    rows = quorum.states_then(log, moment, quorum.ChangeKind.FEATURE).filter(name=feature)
    levels = [(state or {}).get("level") or 0 for state in rows.values_list("state", flat=True)]
    return max(levels, default=0)


def _partitions_now(
    cluster: Cluster, numbering: ClassNumbering
) -> dict[str, list[tuple[int, int]]]:
    """Return number and class of the partitions of each topic; lists stay text until they are new.

    What the room of availability follows is seconds old and knows the ELR; before its first round what was
    collected with the topics has to do.
    """
    moved = ("replicas", "isr", "adding", "removing")
    texts = {f"{name}_text": Cast(name, TextField()) for name in moved}
    told: Any
    if _status_round(cluster) is not None:
        texts |= {f"{name}_text": Cast(name, TextField()) for name in ("elr", "last_known_elr")}
        rows = PartitionStatus.objects.filter(cluster=cluster).order_by("topic", "partition")
        told = rows.annotate(**texts).values_list("topic", "partition", "leader", *texts)
    else:
        polled = Partition.objects.filter(cluster=cluster).order_by("topic_id", "partition")
        names = ("topic__name", "partition", "leader")
        told = polled.annotate(**texts).values_list(*names, *texts)
    found: dict[str, list[tuple[int, int]]] = {}
    for topic, number, *key in told.iterator(chunk_size=5000):
        held = tuple(key)
        known = numbering.found.get(held)
        if known is None:
            known = numbering.number(held, lambda k=held: _class_now(*k))
        found.setdefault(topic, []).append((number, known))
    return found


def _class_now(
    leader: int | None, replicas: str, isr: str, adding: str | None, removing: str, *elr: str | None
) -> PartitionClass:
    texts = (replicas, isr, removing, *(elr or (None, None)))
    lists = [tuple(json.loads(text) or ()) if text else () for text in texts]
    added = None if adding is None else tuple(json.loads(adding))
    return PartitionClass(lists[0], lists[1], leader, lists[3], lists[4], added, lists[2])


def _elr_of(state: Mapping[str, Any]) -> tuple[Any, Any]:
    return state.get("elr") or (), state.get("last_known_elr") or ()


def _placed(state: Mapping[str, Any]) -> list[Any]:
    moves = state.get("adding") or (), state.get("removing") or ()
    return [state["replicas"], state.get("isr"), state.get("leader"), *_elr_of(state), *moves]


def _class_then(state: Mapping[str, Any]) -> PartitionClass:
    replicas, isr, leader, *lists = _placed(state)
    alive = None if leader in {None, NO_LEADER} else leader
    return PartitionClass(tuple(replicas), tuple(isr or ()), alive, *map(tuple, lists))


def _topics_now(
    cluster: Cluster, partitions: Mapping[str, list[tuple[int, int]]]
) -> Iterable[TopicFacts]:
    rows = Topic.objects.filter(cluster=cluster).values_list(
        "name", "min_insync_replicas", "configs"
    )
    known = {name: (least, configs) for name, least, configs in rows}
    for name in sorted(partitions):
        least, configs = known.get(name, (None, {}))
        yield _topic(name, least, configs, partitions[name])


def _topic(
    name: str, least: int | None, configs: Mapping[str, str], found: list[tuple[int, int]]
) -> TopicFacts:
    ordered = sorted(found)
    return TopicFacts(
        name,
        least,
        {"true": True, "false": False}.get(configs.get(UNCLEAN, "")),
        configs.get(CONFIG) or "",
        [number for number, _ in ordered],
        [known for _, known in ordered],
    )


def _set_by_one_broker(cluster: Cluster) -> int:
    sources = ("STATIC_BROKER_CONFIG", "DYNAMIC_BROKER_CONFIG")
    return Topic.objects.filter(cluster=cluster, min_isr_source__in=sources).count()


def _least_now(cluster: Cluster, names: Iterable[str]) -> dict[str, int | None]:
    wanted = set(names)
    rows = Topic.objects.filter(cluster=cluster).values_list("name", "min_insync_replicas")
    return {name: least for name, least in rows if name in wanted}


def _brokers_now(cluster: Cluster, known: _LogFacts) -> list[BrokerModel]:
    """Return brokers; one that is fenced and still follows the metadata log is a fenced standby broker."""
    rows = Broker.objects.filter(cluster=cluster).order_by("broker_id")
    following = _followers(known.log)
    found = {}
    for number, rack, is_live in rows.values_list("broker_id", "rack", "is_live"):
        state = known.brokers.get(number, {})
        is_standby = not is_live and bool(state.get("is_fenced")) and number in following
        told = rack or state.get("rack") or None
        found[number] = BrokerModel(number, told, is_live or is_standby, is_standby)
    for number, state in known.brokers.items():
        if number not in found:
            is_standby = bool(state.get("is_fenced")) and number in following
            is_alive = is_standby or not state.get("is_fenced")
            found[number] = BrokerModel(number, state.get("rack") or None, is_alive, is_standby)
    return [found[number] for number in sorted(found)]


def _followers(log: Any) -> set[int]:
    """Return the nodes that fetched the metadata log just before the quorum was last described."""
    status = quorum.status_of(log) if log is not None else None
    if status is None or status.succeeded_at is None:
        return set()
    found = set()
    for row in status.replicas:
        fetched = row.get("last_fetch_at")
        is_leader = row.get("role") == "leader"
        at = datetime.fromisoformat(fetched) if fetched else None
        is_near = at is not None and status.succeeded_at - at <= FETCHES_WITHIN
        if is_leader or (is_near and "silent" not in row.get("words", ())):
            found.add(row["id"])
    return found


def _brokers_then(known: _LogFacts) -> list[BrokerModel]:
    """Return the brokers at that time; fenced ones count as dead, because their liveness is unknown."""
    return [
        BrokerModel(number, state.get("rack") or None, not state.get("is_fenced"))
        for number, state in sorted(known.brokers.items())
    ]


def placed_voters(
    voters: Iterable[ControllerModel], brokers: Iterable[BrokerModel], sites: Mapping[int, str]
) -> list[ControllerModel]:
    """Return voters with their racks: that of the broker with the same id, else the entered site."""
    racks = {one.broker_id: one.rack for one in brokers}
    return [
        replace(one, rack=racks.get(one.node_id) or sites.get(one.node_id) or None)
        for one in voters
    ]


def _why_unjudged(log: Any) -> str:
    """Return why the live voters are unknown; empty if they are known."""
    status = quorum.status_of(log) if log is not None else None
    return "" if status is None else status.unjudged


def _voters_now(log: Any) -> list[ControllerModel]:
    status = quorum.status_of(log) if log is not None else None
    if status is None or status.unjudged:
        return []
    return [
        ControllerModel(row["id"], None, "silent" not in row.get("words", ()))
        for row in status.replicas
        if row.get("role") != "observer"
    ]


def _voters_then(log: Any, moment: Any) -> tuple[list[ControllerModel], list[str]]:
    entry = quorum.voters_then(log, moment)
    if entry is None:
        return [], ["The voters of the quorum at that time are unknown."]
    voters = [ControllerModel(row["id"]) for row in entry.voters]
    gap = "The log does not record which controllers were alive: all voters count as alive."
    return voters, [gap]


def _gaps_then(known: _LogFacts, topics: list[TopicFacts]) -> Iterable[str]:
    taken = [t for t in topics if not known.configs.get(t.name, {}).get(MIN_ISR)]
    if taken and MIN_ISR not in known.defaults:
        yield (
            f"The log has no min.insync.replicas of {len(taken):,} topics: the current broker setting is "
            "used."
        )
    fenced = [str(n) for n, state in sorted(known.brokers.items()) if state.get("is_fenced")]
    if fenced:
        yield f"Fenced brokers count as dead, because the log does not record standbys: {', '.join(fenced)}."


def seen_at(cluster: Cluster) -> datetime | None:
    """Return how old the oldest part of the snapshot is; None before the first round."""
    rows = CollectionRound.objects.filter(cluster=cluster, noun__in=[Noun.BROKERS, Noun.TOPICS])
    rounds = dict(rows.values_list("noun", "succeeded_at"))
    times = [rounds.get(Noun.BROKERS), _status_round(cluster) or rounds.get(Noun.TOPICS)]
    known = [at for at in times if at is not None]
    return min(known) if len(known) == len(times) else None


def _status_round(cluster: Cluster) -> datetime | None:
    """Return the time of the last successful status round; None: never."""
    rows = AvailabilityRound.objects.filter(cluster=cluster, noun=AvailabilityRound.Noun.STATUS)
    return rows.values_list("succeeded_at", flat=True).first()

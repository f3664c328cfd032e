"""A cluster as JSON: what `ClusterModel.to_json` writes, and every way to write it down that is read.

Keys are compared without `_`, `-`, `.` and capitals, so that `min_insync_replicas`, `minInsyncReplicas` and
`min.insync.replicas` are one. Other keys are ignored, as a file may hold more, but misspelled keys of
important values are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from jobs.availability.what_if.model.cluster import (
    BrokerModel,
    ClusterModel,
    ControllerModel,
    InvalidCluster,
    PartitionModel,
)
from jobs.availability.what_if.model.describe_text import document_of_text
from jobs.availability.what_if.model.fields import Fields, Problems, fields_of
from jobs.availability.what_if.model.topics import PARTITION_KEYS, TopicReader
from jobs.cluster.protocol.transport.kafka_releases import level_limits_min_isr

MOST_PARTITIONS = 1_000_000
_KEYS = frozenset({
    "brokers", "racks", "sites", "voters", "controllers", "has_elr", "elr_enabled", "features",
    "promotes_itself", "is_promoting_itself", "topics", "partitions", "partition_count", "cases", "steps",
})  # fmt: skip
_NODE_KEYS = frozenset({
    "id", "broker_id", "node_id", "voter_id", "rack", "site", "broker_rack", "alive", "is_alive", "fenced",
    "standby", "is_standby",
})  # fmt: skip


def cluster_document(cluster: ClusterModel) -> dict[str, Any]:
    """Return the whole cluster as JSON values."""
    return {
        "brokers": [
            {
                "id": one.broker_id,
                "rack": one.rack,
                "alive": one.is_alive,
                "standby": one.is_standby,
            }
            for one in cluster.brokers.values()
        ],
        "voters": [
            {"id": one.node_id, "rack": one.rack, "alive": one.is_alive} for one in cluster.voters
        ],
        "has_elr": cluster.has_elr,
        "promotes_itself": cluster.promotes_itself,
        "partitions": [_partition_document(one) for one in cluster.partitions],
    }


def _partition_document(one: PartitionModel) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "replicas": list(one.replicas),
        "isr": list(one.isr),
        "leader": one.leader,
        "observers": list(one.observers),
        "elr": list(one.elr),
        "last_known_elr": list(one.last_known_elr),
        "min_insync_replicas": one.min_insync_replicas,
        "policy": None if one.policy is None else one.policy.value,
        "unclean_allowed": one.is_unclean_allowed,
        "sync_count": one.sync_count,
        "lagging": list(one.lagging),
        "lag_records": {str(id_): lag for id_, lag in one.lag_records.items()},
        "acted_on": one.is_acted_on,
        "adding": None if one.adding is None else list(one.adding),
        "removing": list(one.removing),
        "limits_min_isr": one.limits_min_isr,
    }


def read_cluster(document: Any) -> ClusterModel:
    """Return the cluster of a document; raises `InvalidCluster` with a sentence per field."""
    problems = Problems()
    if isinstance(document, str):
        document = document_of_text(document)
    if isinstance(document, list):
        document = {"topics": document}
    found = fields_of(document, "", problems)
    cluster = ClusterModel({}, ())
    if found is not None:
        cases = found.list_of("cases")
        cluster = _Reader(problems).read(found) if cases is None else _cases(cases, problems)
    if problems.found:
        raise InvalidCluster(problems.found)
    return cluster


def _cases(cases: list[Any], problems: Problems) -> ClusterModel:
    """Return the clusters of all simulations in one: each case brings brokers and a topic."""
    brokers: dict[int, BrokerModel] = {}
    partitions: list[PartitionModel] = []
    for index, one in enumerate(cases):
        case = fields_of(one, f"cases[{index}]", problems)
        if case is None or case.get("placement") is None:
            continue  # a rule in words
        cluster = _Reader(problems).read(case)
        for id_, broker in cluster.brokers.items():
            if brokers.setdefault(id_, broker).rack != broker.rack:
                where = f"{case.path('brokers')}.{id_}"
                problems.add(where, f"Broker {id_} is in rack {brokers[id_].rack} in another case.")
        partitions += cluster.partitions
    if not partitions:
        problems.add("cases", "No case has a placement to simulate.")
    _no_partition_twice(partitions, problems)
    return ClusterModel(brokers, tuple(partitions), promotes_itself=_knows_observers(partitions))


class _Reader:
    """Reads one cluster."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        # Brokers that are fenced or shut down, whose process may well be there.
        self.unsure: set[int] = set()

    def read(self, document: Fields) -> ClusterModel:
        brokers = self._brokers(document)
        document.refuse_near(_KEYS | PARTITION_KEYS)
        is_state = document.has("votersoffset", "kraftversion")
        limits = _limits_min_isr(document) if is_state else True
        topics = TopicReader(
            document, brokers, self.problems, knows_all=not is_state, limits_min_isr=limits
        )
        partitions = topics.read()
        if len(partitions) > MOST_PARTITIONS:
            self.problems.add("", f"More than {MOST_PARTITIONS:,} partitions are not taken.")
        if not partitions and not self.problems.found:
            self.problems.add(
                document.path("topics"), "A cluster has partitions: give topics or partitions."
            )
        for id_ in topics.strangers:
            brokers[id_] = BrokerModel(id_, is_alive=False)
        _no_partition_twice(partitions, self.problems)
        has_standby = any(one.is_standby for one in brokers.values())
        promotes = document.flag("promotesitself", "ispromotingitself")
        if promotes is None:
            promotes = _knows_observers(partitions) and not has_standby
        voters = self._voters(document, brokers)
        if document.has("votersoffset"):
            voters = _writing(voters)
        elr = self._elr(document, partitions)
        is_of_log = document.has("votersoffset")
        return ClusterModel(brokers, tuple(partitions), voters, elr, promotes, is_of_log)

    def _elr(self, document: Fields, partitions: list[PartitionModel]) -> bool:
        told = document.flag("haselr", "elrenabled")
        if told is not None:
            return told
        features = document.inner("features")
        if features is not None:  # entries may be left of the time when it was on
            return bool(features.get("eligibleleaderreplicasversion"))
        return any(one.elr for one in partitions)

    def _brokers(self, document: Fields) -> dict[int, BrokerModel]:
        found: dict[int, BrokerModel] = {}
        for id_, path, told in self._nodes(document, "brokers"):
            if id_ in found:
                self.problems.add(path, f"Broker {id_} is there twice.")
            fenced = told.flag("fenced") or False
            is_leaving = told.flag("incontrolledshutdown") or False
            standby = told.flag("standby", "isstandby") or False
            alive = told.flag("alive", "isalive")
            if alive is None:
                alive = standby or not fenced
                if fenced or is_leaving:
                    self.unsure.add(id_)
            found[id_] = BrokerModel(id_, told.rack(), alive, standby)
        if not found and document.get("brokers") is None:
            return self._brokers_of_racks(document)
        return found

    def _brokers_of_racks(self, document: Fields) -> dict[int, BrokerModel]:
        """Return the brokers of `racks` (or `sites`): rack -> ids."""
        found: dict[int, BrokerModel] = {}
        name = "racks" if document.get("racks") is not None else "sites"
        told = document.get(name)
        if not isinstance(told, Mapping):
            return found
        for rack, ids in told.items():
            path = f"{document.path(name)}.{rack}"
            for index, value in enumerate(ids if isinstance(ids, list) else ()):
                id_ = self.problems.node_id(value, f"{path}[{index}]")
                if id_ in found:
                    self.problems.add(path, f"Broker {id_} is in two racks.")
                elif id_ is not None:
                    found[id_] = BrokerModel(id_, str(rack))
        return found

    def _voters(
        self, document: Fields, brokers: Mapping[int, BrokerModel]
    ) -> tuple[ControllerModel, ...]:
        name = "voters" if document.get("voters") is not None else "controllers"
        found: dict[int, ControllerModel] = {}
        for id_, path, told in self._nodes(document, name):
            if id_ in found:
                self.problems.add(path, f"Voter {id_} is there twice.")
            same = brokers.get(id_)
            alive = told.flag("alive", "isalive")
            if alive is None and not told.has("alive", "isalive") and id_ not in self.unsure:
                alive = same is None or same.is_alive
            rack = told.rack() or (same.rack if same else None)
            found[id_] = ControllerModel(id_, rack, alive)
        return tuple(found.values())

    def _nodes(self, document: Fields, name: str) -> Iterator[tuple[int, str, Fields]]:
        """Yield id, path and fields of nodes: a list of ids or objects, or ids with their rack or object."""
        told = document.get(name)
        path = document.path(name)
        if isinstance(told, Mapping):
            pairs = [(key, f"{path}.{key}", value) for key, value in told.items()]
        elif isinstance(told, list):
            pairs = [(None, f"{path}[{index}]", value) for index, value in enumerate(told)]
        else:
            if told is not None:
                self.problems.add(
                    path, "A list of nodes, or an object of ids and racks, is wanted."
                )
            return
        for key, where, value in pairs:
            yield from self._node(key, where, value)

    def _node(self, key: Any, path: str, value: Any) -> Iterator[tuple[int, str, Fields]]:
        if key is not None and (value is None or isinstance(value, str)):
            value = {"rack": value}
        elif key is None and type(value) is int:
            value = {"id": value}
        told = fields_of(value, path, self.problems)
        if told is None:
            return
        told.refuse_near(_NODE_KEYS)
        id_ = (
            told.node_id("id", "brokerid", "nodeid", "voterid")
            if key is None
            else self.problems.node_id(key, path)
        )
        if id_ is not None:
            yield id_, path, told


def _writing(voters: tuple[ControllerModel, ...]) -> tuple[ControllerModel, ...]:
    """Return the voters of a metadata log: a majority of them lived, else it would not have been written."""
    if sum(one.is_alive is not False for one in voters) > len(voters) // 2 + 1:
        return voters
    return tuple(replace(one, is_alive=one.is_alive is not False) for one in voters)


def _limits_min_isr(document: Fields) -> bool | None:
    features = document.inner("features")
    level = None if features is None else features.number("metadataversion")
    return level_limits_min_isr(level or 0)


def _knows_observers(partitions: list[PartitionModel]) -> bool:
    return any(one.observers for one in partitions)


def _no_partition_twice(partitions: list[PartitionModel], problems: Problems) -> None:
    seen: set[tuple[str, int]] = set()
    for one in partitions:
        key = (one.topic, one.partition)
        if key in seen:
            problems.add(f"{one.topic}-{one.partition}", "This partition is there twice.")
        seen.add(key)

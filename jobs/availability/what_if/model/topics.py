"""The topics and partitions of a cluster that is written down as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from jobs.availability.placements.placement import Placement, assign_roles, check_placement
from jobs.availability.what_if.model.cluster import NO_LAG, BrokerModel, PartitionModel
from jobs.availability.what_if.model.fields import (
    LARGEST_OFFSET,
    Fields,
    Problems,
    fields_of,
    id_of,
)
from jobs.availability.what_if.model.settings import SETTING_KEYS, SettingsReader, TopicSettings
from jobs.near_names import plain_name

MOST_PARTITIONS_OF_A_TOPIC = 100_000
PARTITION_KEYS = frozenset({
    "topic", "name", "id", "partition", "partition_id", "partition_index", "index", "replicas", "assignment",
    "replica_nodes", "isr", "isrs", "in_sync_replicas", "in_sync", "isr_nodes", "leader", "leader_id",
    "observers", "elr", "eligible_leader_replicas", "last_known_elr", "sync_count", "lagging", "lag_records",
    "lag", "adding", "adding_replicas", "removing", "removing_replicas", "offline_replicas",
})  # fmt: skip
PARTITION_KEYS |= SETTING_KEYS
_PLAIN_KEYS = frozenset(map(plain_name, PARTITION_KEYS))
_TOPIC_KEYS = PARTITION_KEYS | {"partitions", "partition_count", "replication_factor"}
_REPLICAS = ("replicas", "assignment", "replicanodes")
_ISR = ("isr", "isrs", "insyncreplicas", "insync", "isrnodes")
_LEADER = ("leader", "leaderid")
_ADDING = ("adding", "addingreplicas")
_REMOVING = ("removing", "removingreplicas")
_OWN = tuple(plain_name(one) for one in SETTING_KEYS)
_REPLICA_KEYS = frozenset({"id", "broker", "broker_id", "node_id", "in_sync", "leader"})
# Whether a replica is in the ISR: Kafka UI, the REST proxy and Kafdrop; AKHQ.
_MARKS = ("insync", "isinsync", "insyncreplica", "isr")
# Keys that say by another name what decides; they are looked at where none of its own names is there.
_STAND_INS = (
    (_ISR, re.compile("isr|insync"), list),
    (_ADDING, re.compile("(to)?add(ed)?"), list),
    (_REMOVING, re.compile("(to)?removed?"), list),
    (_LEADER, re.compile("leader(broker|node)(id)?|leading"), int | Mapping),
)


class TopicReader:
    """Reads `topics`, `partitions` and `configs` of a document, or the one topic of a case.

    `knows_all`: replicas on brokers that are not named are refused; else those brokers are kept as
    `strangers`, which are dead. Without any broker all replicas are strangers of no rack, alive.
    """

    def __init__(
        self,
        document: Fields,
        brokers: dict[int, BrokerModel],
        problems: Problems,
        *,
        knows_all: bool,
        limits_min_isr: bool | None = True,
    ) -> None:
        self._document = document
        self._brokers = brokers
        self._racks = {one.broker_id: one.rack for one in brokers.values()}
        self._problems = problems
        self._knows_all = knows_all and bool(brokers)
        self._makes_brokers = not brokers
        self._limits = limits_min_isr
        self._settings: dict[str, TopicSettings] = {}
        self._reader = SettingsReader(document, problems)
        self._standby = {one.broker_id for one in brokers.values() if one.is_standby}
        self.strangers: set[int] = set()
        self._offline: set[int] = set()

    def read(self) -> list[PartitionModel]:
        """Return every partition."""
        base = self._reader.settings_in(self._document, TopicSettings(limits_min_isr=self._limits))
        found: list[PartitionModel] = []
        for topic, told in self._topics():
            told.refuse_near(_TOPIC_KEYS)
            settings = self._reader.settings_in(told, self._reader.configured(topic, base))
            self._settings[topic] = settings
            found += self._partitions_of(told, settings)
        for told in self._objects(self._document, "partitions"):
            topic = told.text("topic", "name") or self._document.text("topic", "name") or ""
            if not topic:
                self._problems.add(told.path("topic"), "The name of a topic is wanted.")
            if topic not in self._settings:
                self._settings[topic] = self._reader.configured(topic, base)
            found += self._partition(told, self._settings[topic])
        if not found and base.placement is not None:
            name = self._document.text("topic", "name", "id") or "topic"
            found += self._steady(self._document, replace(base, name=name), 1)
        if self._makes_brokers:
            dead = _silent(found, self._offline)
            self._brokers.update({one: BrokerModel(one, is_alive=False) for one in dead})
        return found

    def _topics(self) -> Iterator[tuple[str, Fields]]:
        """Yield name and fields of `topics`: a list of objects, or names with their object."""
        if isinstance(self._document.get("topics"), Mapping):
            path = self._document.path("topics")
            for name, value in self._document.get("topics").items():
                told = fields_of(value, f"{path}.{name}", self._problems)
                if told is not None:
                    yield str(name), told
            return
        for told in self._objects(self._document, "topics"):
            name = told.text("name", "topic")
            if name is None:
                self._problems.add(told.path("name"), "The name of a topic is wanted.")
            else:
                yield name, told

    def _objects(self, told: Fields, name: str) -> Iterator[Fields]:
        path, listed = told.path(name), told.get(name)
        if isinstance(
            listed, Mapping
        ):  # by their numbers, as confluent-kafka-python has partitions
            pairs = [(f"{path}.{key}", value) for key, value in listed.items()]
        else:
            listed = told.list_of(name) or ()
            pairs = [(f"{path}[{index}]", value) for index, value in enumerate(listed)]
        for where, one in pairs:
            found = fields_of(one, where, self._problems)
            if found is not None:
                yield found

    def _partitions_of(self, told: Fields, settings: TopicSettings) -> Iterator[PartitionModel]:
        listed = told.get("partitions")
        if isinstance(listed, list | Mapping):
            for one in self._objects(told, "partitions"):
                yield from self._partition(one, settings)
        elif told.get("partitioncount") is None or listed is not None:
            most = MOST_PARTITIONS_OF_A_TOPIC
            count = 1 if listed is None else told.number("partitions", least=1, largest=most)
            if told.get(*_REPLICAS) is not None and listed is None:
                yield from self._partition(told, settings)
            elif settings.placement is not None:
                yield from self._steady(told, settings, count or 0)
            else:
                where = told.path("partitions")
                self._problems.add(where, "A list of partitions is wanted, or a placement.")

    def _steady(
        self, told: Fields, settings: TopicSettings, count: int
    ) -> Iterator[PartitionModel]:
        """Yield partitions as a placement wants them, all brokers alive; the brokers of a rack take turns."""
        placement = settings.placement
        if placement is None:
            return
        if self._makes_brokers:
            self._problems.add(self._document.path("brokers"), "Brokers with racks are wanted.")
            return
        for path, sentence in check_placement(placement, self._racks).items():
            self._problems.add(f"{told.path('placement')}.{path}", sentence)
        if self._problems.found:
            return
        for number in range(count):
            replicas = placed_replicas(placement, self._racks, number)
            yield self._model(settings, number, replicas)

    def _model(
        self, settings: TopicSettings, number: int, replicas: tuple[int, ...]
    ) -> PartitionModel:
        """Return a partition where all that may be in the ISR and lives is in it."""
        placement = settings.placement
        roles = assign_roles(placement, replicas, self._racks)
        standby = self._standby
        observers = roles.observers
        isr = tuple(
            one
            for one in replicas
            if one not in observers and one not in standby and self._lives(one)
        )
        return PartitionModel(
            topic=settings.name,
            partition=number,
            replicas=replicas,
            isr=isr,
            leader=isr[0] if isr else None,
            observers=observers,
            min_insync_replicas=settings.min_insync_replicas
            or self._reader.of_brokers("min_insync_replicas", replicas),
            policy=settings.policy or (placement.policy if placement and observers else None),
            is_unclean_allowed=self._reader.of_brokers("is_unclean_allowed", replicas)
            if settings.is_unclean_allowed is None
            else settings.is_unclean_allowed,
            sync_count=placement.sync_count if placement else None,
            is_acted_on=bool(settings.is_acted_on),
            limits_min_isr=settings.limits_min_isr,
        )

    def _lives(self, broker_id: int) -> bool:
        broker = self._brokers.get(broker_id)
        return self._makes_brokers or (broker is not None and broker.is_alive)

    def _partition(self, told: Fields, settings: TopicSettings) -> Iterator[PartitionModel]:
        told.refuse_near(PARTITION_KEYS)
        self._refuse_stand_ins(told)
        number = told.number("partition", "partitionid", "partitionindex", "index", "id") or 0
        replicas = told.numbers(*_REPLICAS)
        if not replicas:
            self._problems.add(told.path("replicas"), "The brokers of the replicas are wanted.")
            return
        self._check_brokers(told, replicas)
        settings = self._reader.settings_in(told, settings) if told.has(*_OWN) else settings
        model = self._model(settings, number, replicas)
        yield self._with_state(told, replicas, model)

    def _check_brokers(self, told: Fields, replicas: tuple[int, ...]) -> None:
        unknown = [one for one in replicas if one not in self._brokers]
        self._offline.update(told.numbers("offlinereplicas") or ())
        listed = told.get(*_REPLICAS)
        # Metadata of clients (`isrs`, replicas as objects) lists the brokers that live.
        is_of_client = told.has("isrs") or isinstance(listed[0], Mapping)
        if unknown and self._knows_all and not is_of_client:
            known = ", ".join(map(str, sorted(self._brokers)))
            self._problems.add(
                told.path("replicas"), f"There is no broker {unknown[0]}; brokers are {known}."
            )
        elif self._makes_brokers:
            self._brokers.update({one: BrokerModel(one) for one in unknown})
        else:
            self.strangers.update(unknown)

    def _with_state(
        self, told: Fields, replicas: tuple[int, ...], model: PartitionModel
    ) -> PartitionModel:
        marked = self._marked_isr(told, replicas)
        isr = self._members(told, replicas, model.isr if marked is None else marked, *_ISR)
        observers = self._members(told, replicas, model.observers, "observers")
        adding = self._members(told, replicas, (), *_ADDING)
        if told.get(*_ISR) is None and marked is None:
            if told.has(*_ISR):
                where = told.path(next(one for one in _ISR if told.has(one)))
                self._problems.add(where, "A list is wanted, [] where nothing is in sync.")
            out = (*adding, *(observers if told.get("observers") is not None else ()))
            isr = tuple(one for one in isr if one not in out)
        is_unknown = told.has(*_ADDING) and told.get(*_ADDING) is None
        synced = told.number("synccount")
        acted_on = told.flag("actedon", "isactedon")
        return replace(
            model,
            isr=isr,
            leader=self._leader(told, isr),
            observers=observers,
            elr=self._members(told, replicas, (), "elr", "eligibleleaderreplicas"),
            last_known_elr=self._members(told, replicas, (), "lastknownelr"),
            sync_count=model.sync_count if synced is None else synced,
            lagging=self._members(told, replicas, (), "lagging"),
            lag_records=self._lags(told, replicas),
            is_acted_on=model.is_acted_on if acted_on is None else acted_on,
            adding=None if is_unknown else adding,
            removing=self._members(told, replicas, (), *_REMOVING),
        )

    def _members(
        self, told: Fields, replicas: tuple[int, ...], default: tuple[int, ...], *names: str
    ) -> tuple[int, ...]:
        found = told.numbers(*names)
        if found is None:
            return default
        other = [one for one in found if one not in replicas]
        if other:
            name = next(name for name in names if told.get(name) is not None)
            self._problems.add(told.path(name), f"Broker {other[0]} holds no replica of it.")
        return tuple(one for one in replicas if one in found)

    def _leader(self, told: Fields, isr: tuple[int, ...]) -> int | None:
        if not told.has(*_LEADER):
            return isr[0] if isr else None
        value = id_of(told.agree(*_LEADER).get(*_LEADER))
        if value is None or value == -1:
            return None
        leader = told.node_id(*_LEADER)
        if leader is not None and leader not in isr:
            where = told.path("leader" if told.get("leader") is not None else "leaderid")
            self._problems.add(where, f"Leader {leader} is not in the ISR.")
        return leader

    def _refuse_stand_ins(self, told: Fields) -> None:
        for key, meant, kind in _stand_ins(told.names):
            if isinstance(told.get(key), kind):
                where = told.path(key)
                name = where.rpartition(".")[2]
                self._problems.add(where, f"{name} is no key here; {meant} is wanted.")

    def _marked_isr(self, told: Fields, replicas: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the replicas that are marked as in sync; None where none has a mark."""
        listed = told.get(*_REPLICAS)
        marks: dict[str, bool | None] = {}
        for index, one in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(
                one, Mapping
            ):  # an id that is none is refused where the replicas are read
                where = f"{told.path('replicas')}[{index}]"
                replica = Fields(one, where, self._problems).refuse_near(_REPLICA_KEYS)
                marks[str(id_of(one))] = replica.flag(*_MARKS)
        if all(mark is None for mark in marks.values()):
            return None
        if None in marks.values():
            self._problems.add(
                told.path("replicas"), "Some are marked as in sync or not, some are not."
            )
        return tuple(one for one in replicas if marks.get(str(one)))

    def _lags(self, told: Fields, replicas: tuple[int, ...]) -> Mapping[int, int]:
        inner = told.inner("lagrecords", "lag")
        if inner is None:
            return NO_LAG
        found: dict[int, int] = {}
        for key, path, value in inner.entries():
            id_ = self._problems.node_id(key, path)
            what = "A number of records"
            lag = self._problems.number(value, path, what, LARGEST_OFFSET)
            if id_ is not None and id_ not in replicas:
                self._problems.add(path, f"Broker {id_} holds no replica of it.")
            elif id_ is not None and lag is not None:
                found[id_] = lag
        return found or NO_LAG


def _silent(partitions: list[PartitionModel], offline: set[int]) -> set[int]:
    """Return the brokers, named by replicas only, that cannot be alive, or are offline or eligible only.

    A living one would lead where there is no leader, and join the ISR.
    """
    idle = {id_ for one in partitions if one.leader is None for id_ in one.isr or one.elr}
    eligible = offline.union(*(one.elr for one in partitions))
    return idle | eligible.difference(*(one.isr for one in partitions))


@lru_cache(maxsize=4096)
def _stand_ins(keys: tuple[str, ...]) -> list[tuple[str, str, Any]]:
    """Return keys that may say what decides: key, the name that is wanted, the kind of its value."""
    return [
        (key, names[0], kind)
        for names, pattern, kind in _STAND_INS
        if not set(names) & set(keys)
        for key in keys
        if key not in _PLAIN_KEYS
        and (pattern.search(key) if names is _ISR else pattern.fullmatch(key))
    ]


def placed_replicas(
    placement: Placement, racks: Mapping[int, str | None], turn: int = 0
) -> tuple[int, ...]:
    """Return the replicas of a partition as a placement wants them: sync replicas first, then observers.

    The brokers of a rack take turns by `turn`; the placement must have passed `check_placement`.
    """
    here = {
        rack: sorted(id_ for id_, one in racks.items() if one == rack) for rack in placement.racks
    }
    turned = {
        rack: ids[turn % len(ids) :] + ids[: turn % len(ids)] for rack, ids in here.items() if ids
    }
    found: list[int] = []
    for one in (*placement.replicas, *placement.observers):
        free = [id_ for id_ in turned.get(one.rack, []) if id_ not in found]
        found += free[: one.count]
    return tuple(found)

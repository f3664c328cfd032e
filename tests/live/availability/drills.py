"""Drills: what a real cluster becomes, beside what was predicted, partition by partition."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.outcome import PartitionOutcome
from jobs.availability.what_if.simulation import Step, WhatIf, simulate
from jobs.lab.cluster import Cluster
from jobs.quorum.history.change_json import state_mapping
from tests.live.kafka_tools import image
from tests.waiting import PATIENCE, eventually

# Longer than a session of the drills' brokers: without a quorum, nobody was fenced in that time.
WRITE_WITHIN_MS = 9_000
AGREED_WITHIN_S = 40
Key = tuple[str, int]


@dataclass(frozen=True)
class Seen:
    """A partition of a real cluster; `leader` None: none, or one that is dead."""

    leader: int | None
    isr: frozenset[int]
    elr: frozenset[int]


class Drill:
    """A cluster that is broken on purpose, and its topics: name -> (replicas, settings).

    `standby`: a fenced standby broker, which is no voter; `asks`: what crosslog was asked to do for them.
    """

    def __init__(
        self,
        cluster: Cluster,
        topics: Mapping[str, tuple[list[int], dict[str, str]]],
        standby: int | None = None,
        **asks: object,
    ) -> None:
        self.cluster = cluster
        self.topics = topics
        self.standby = standby
        self.asks = asks

    @property
    def living(self) -> list[int]:
        """The nodes that run."""
        return [id_ for id_, node in self.cluster.nodes.items() if node.is_running]

    def make_topics(self) -> None:
        """Create the topics with their replicas and wait until all but standbys are in sync."""
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers})
        new = [
            NewTopic(name, 1, replica_assignment=[replicas], config=settings)
            for name, (replicas, settings) in self.topics.items()
        ]
        for created in admin.create_topics(new).values():
            created.result(30 * PATIENCE)
        self.wait_until_whole()

    def model(self) -> ClusterModel:
        """Return the cluster as a living node's metadata log and the running processes tell it.

        The document is what `crosslog state --json` prints, so that its way into what-if is tried, too.
        """
        told = state_mapping(image(self.cluster, self.living[0]))
        living = set(self.living)
        voters = [id_ for id_ in self.cluster.nodes if id_ != self.standby]
        document = {
            "kraftVersion": 1,
            "brokers": [
                {
                    **one,
                    "alive": one["brokerId"] in living,
                    "standby": one["brokerId"] == self.standby,
                }
                for one in told["brokers"]
            ],
            "voters": [{"id": id_, "alive": id_ in living} for id_ in voters],
            "topics": [
                {**one, **self.asks} for one in told["topics"] if one["name"] in self.topics
            ],
            "partitions": [one for one in told["partitions"] if one["topic"] in self.topics],
            "configs": told["configs"],
            "features": told["features"],
        }
        return ClusterModel.from_json(document)

    def predict(self, step: Step) -> WhatIf:
        """Return what a step will do to the cluster as it is now."""
        return simulate(self.model(), [step])

    def kill(self, *ids: int) -> None:
        """Kill nodes with SIGKILL."""
        for id_ in ids:  # at once: nobody is fenced between the first death and the last
            self.cluster.node(id_).pause()
        for id_ in ids:
            self.cluster.node(id_).kill()

    def bring_back(self, *ids: int) -> None:
        """Start nodes that were killed, and wait until all that run serve."""
        for id_ in ids:
            self.cluster.node(id_).start()
        self.cluster.wait_until_serving()

    def wait_until_whole(self) -> None:
        """Start everything that is dead and wait until every replica is in sync."""
        self.bring_back(*self.cluster.nodes)
        wanted = {name: {*replicas} - {self.standby} for name, (replicas, _) in self.topics.items()}
        eventually(lambda: {name: one.isr for (name, _), one in self.seen().items()} == wanted, 90)

    def seen(self) -> dict[Key, Seen]:
        """Return the partitions as the log of a living node tells them."""
        living = set(self.living)
        found = {}
        for topic, number, state in image(self.cluster, self.living[0]).partition_rows():
            if topic.name in self.topics:
                leader = state.leader if state.leader in living else None
                found[topic.name, number] = Seen(leader, frozenset(state.isr), frozenset(state.elr))
        return found

    def assert_came_true(self, predicted: WhatIf) -> None:
        """Wait until every partition is as predicted: leader, ISR and ELR; then try to write."""
        outcomes = predicted.steps[-1].partitions
        if predicted.quorum.has_majority:
            eventually(lambda: not self._differences(outcomes), AGREED_WITHIN_S, every=0.3)
        writable = {key_of(one): one.after.is_writable for one in outcomes}
        written = self.written(writable)
        # A busy machine may need longer than what cannot be written is given.
        late = [key for key, is_writable in writable.items() if is_writable and not written[key]]
        if late:
            eventually(lambda: all(self.written(late).values()), AGREED_WITHIN_S)
            written |= dict.fromkeys(late, True)
        assert writable == written
        assert self._differences(outcomes) == []
        if predicted.quorum.has_majority:
            eventually(lambda: self.can_change_metadata(60), AGREED_WITHIN_S)
        else:
            assert not self.can_change_metadata()

    def _differences(self, outcomes: Iterable[PartitionOutcome]) -> list[tuple[Any, ...]]:
        seen = self.seen()
        return [
            (key_of(one), seen[key_of(one)], one.after)
            for one in outcomes
            if not agrees(one, seen[key_of(one)])
        ]

    def written(self, keys: Iterable[Key]) -> dict[Key, bool]:
        """Write one record with acks=all to every partition; returns which took it."""
        found = dict.fromkeys(keys, False)

        def hear(error: Any, message: Any) -> None:
            found[message.topic(), message.partition()] = error is None

        producer = Producer(
            {
                "bootstrap.servers": self.cluster.bootstrap_servers,
                "acks": "all",
                "message.timeout.ms": WRITE_WITHIN_MS,
                "reconnect.backoff.max.ms": 500,
                "topic.metadata.refresh.fast.interval.ms": 100,
            }
        )
        for topic, number in found:
            producer.produce(topic, b"drill", partition=number, on_delivery=hear)
        assert producer.flush(WRITE_WITHIN_MS / 1000 + 60) == 0
        return found

    def can_change_metadata(self, within_s: float = 5) -> bool:
        """Return whether a topic can be created: only with a majority of the voters.

        It is deleted again: its one replica may be on a standby that is promoted just now.
        """
        admin = AdminClient({"bootstrap.servers": self.cluster.bootstrap_servers})
        new = NewTopic(f"probe-{uuid.uuid4().hex[:8]}", 1, 1)
        (created,) = admin.create_topics([new], request_timeout=within_s).values()
        try:
            created.result(within_s + 5)
        except (KafkaException, TimeoutError):
            return False
        admin.delete_topics([new.topic], request_timeout=60)[new.topic].result(90)
        return True


def key_of(one: PartitionOutcome) -> Key:
    return one.topic, one.partition


def agrees(one: PartitionOutcome, seen: Seen) -> bool:
    """Return whether a partition is as predicted; which of several died last is chance, so only how many."""
    state = one.after
    return (
        state.leader == seen.leader
        and _same(state.isr, seen.isr, is_exact=bool(state.elr) or state.leader is not None)
        and _same(
            state.elr, seen.elr, is_exact=len(one.before.isr) <= len(state.elr) + len(state.isr)
        )
    )


def _same(predicted: tuple[int, ...], seen: frozenset[int], *, is_exact: bool) -> bool:
    return set(predicted) == seen if is_exact else len(predicted) == len(seen)

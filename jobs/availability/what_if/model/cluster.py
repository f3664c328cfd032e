"""A cluster as far as losses matter: brokers with racks, partitions with their ISR, controllers. Pure.

The input of what-if, designer and advisor. The console makes it from its rows, the command line from a
document (`ClusterModel.from_json`, its form is in docs/formats.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from jobs.availability.placements.placement import PromotionPolicy

NO_LAG: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class BrokerModel:
    """A broker. `rack` None: it has none. `is_standby`: a fenced standby broker of plain Kafka."""

    broker_id: int
    rack: str | None = None
    is_alive: bool = True
    is_standby: bool = False


@dataclass(frozen=True, slots=True)
class ControllerModel:
    """A voter of the KRaft quorum. A broker with the same id is the same node (combined mode).

    `is_alive` None: not known.
    """

    node_id: int
    rack: str | None = None
    is_alive: bool | None = True


@dataclass(frozen=True, slots=True)
class PartitionModel:
    """A partition at one moment.

    `leader` None: none. `observers`: those of `replicas` that stay out of the ISR until promoted.
    `lagging`: replicas that are alive, but too far behind to join the ISR. `lag_records`: how far replicas
    outside the ISR are behind, where known. `policy` None: nothing promotes. `is_acted_on`: crosslog
    promotes for this topic (opt-in). `is_unclean_allowed`: unclean.leader.election.enable of the topic; None,
    as of `min_insync_replicas`: not known.
    `sync_count`: the sum of the placement's `replicas`; None: all replicas that are no observers. `adding`,
    `removing`: what a reassignment adds and removes; `adding` None: whether there is one is not known.
    `limits_min_isr`: see `severity.effective_min_isr`; without another word the newest Kafka is meant.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int | None
    observers: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    min_insync_replicas: int | None = 1
    policy: PromotionPolicy | None = None
    is_unclean_allowed: bool | None = False
    sync_count: int | None = None
    lagging: tuple[int, ...] = ()
    lag_records: Mapping[int, int] = field(default_factory=lambda: NO_LAG)
    is_acted_on: bool = False
    adding: tuple[int, ...] | None = ()
    removing: tuple[int, ...] = ()
    limits_min_isr: bool | None = True

    @property
    def asks_for_more(self) -> bool:
        """Whether min.insync.replicas asks for more replicas than there are."""
        return (self.min_insync_replicas or 1) > len(self.replicas)

    @property
    def added(self) -> tuple[int, ...]:
        """What a reassignment adds; where that is not known, all that are out of the ISR may be such."""
        if self.adding is not None:
            return self.adding
        return tuple(one for one in self.replicas if one not in self.isr)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas when the reassignment has ended."""
        return tuple(one for one in self.replicas if one not in self.removing)


class InvalidCluster(ValueError):
    """A cluster is refused. `problems`: path like `topics[0].partitions[3].isr` -> sentence, never empty."""

    def __init__(self, problems: dict[str, str]) -> None:
        super().__init__(
            "; ".join(f"{path}: {what}" if path else what for path, what in problems.items())
        )
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ClusterModel:
    """A cluster at one moment. Without `voters` the quorum is not known.

    `has_elr`: eligible.leader.replicas.version 1 (KIP-966). `promotes_itself`: brokers know observers and
    promote them; else observers are only those on standby brokers, and somebody has to promote.
    `is_of_log`: the voters are those of a metadata log, which does not tell which of them live.
    """

    brokers: Mapping[int, BrokerModel]
    partitions: Sequence[PartitionModel]
    voters: Sequence[ControllerModel] = ()
    has_elr: bool = False
    promotes_itself: bool = False
    is_of_log: bool = False

    @property
    def racks(self) -> dict[int, str | None]:
        """The rack of each broker."""
        return {one.broker_id: one.rack for one in self.brokers.values()}

    def voter_racks(self) -> dict[int, str | None]:
        """Return the rack of each voter: its own, else that of the broker with its id."""
        racks = self.racks
        return {one.node_id: one.rack or racks.get(one.node_id) for one in self.voters}

    def observers_of(self, partition: PartitionModel) -> tuple[int, ...]:
        """Return the replicas that this cluster really keeps out of the ISR, in the order of `replicas`.

        Brokers that promote by themselves keep the placement's observers out; on plain Kafka only fenced
        standby brokers are.
        """
        if self.promotes_itself:
            return tuple(one for one in partition.replicas if one in partition.observers)
        return tuple(
            one
            for one in partition.replicas
            if (broker := self.brokers.get(one)) is not None and broker.is_standby
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document of FILE.json; `from_json` makes an equal model of it."""
        from jobs.availability.what_if.model.document import cluster_document

        return cluster_document(self)

    @classmethod
    def from_json(cls, document: Any) -> ClusterModel:
        """Return the cluster of a document; raises `InvalidCluster` with a sentence per field.

        Taken are the form of `to_json` and its shorter ways to say things, `crosslog state --json`, a case
        with a placement and steps (tests/conformance/placements), and a whole file of cases.
        """
        from jobs.availability.what_if.model.document import read_cluster

        return read_cluster(document)

"""What a what-if answers: per partition, per topic, for the cluster and its quorum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from jobs.availability.status.severity import Severity


class RiskCode(StrEnum):
    """What happens to records that were acknowledged with acks=all, from nothing to the worst.

    EXPOSED: one copy is left in the ISR, the next loss may lose records. WAITING: no leader; nothing is
    lost if a replica that has everything comes back. UNCLEAN: an unclean election was made, what the new
    leader did not have is gone. LOST: no broker with a replica is alive.
    """

    NONE = "none"
    EXPOSED = "exposed"
    WAITING = "waiting"
    UNCLEAN = "unclean"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class DataAtRisk:
    """The risk with its sentence. `records`: how many, where the lag is known, else None."""

    code: RiskCode
    sentence: str
    records: int | None = None


class Promoter(StrEnum):
    """Who would promote an observer of a partition."""

    BROKER = "broker"
    CROSSLOG = "crosslog"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class IsrState:
    """A partition at one moment. Lists stand in the order of its replicas.

    `isr` is what stands in the metadata: without a majority of voters dead members stay in it, and without
    ELR the last member does. `leader` is None when the recorded one is dead. `is_writable`: acks=all works;
    None: that depends on min.insync.replicas, which is not known.
    """

    leader: int | None
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    observers_in_isr: tuple[int, ...]
    is_writable: bool | None
    severity: Severity


@dataclass(frozen=True, slots=True)
class PartitionOutcome:
    """A partition before and after a step.

    `needs_unclean`: there is no leader, and only an unclean election of a living replica would make one now.
    `promoted`, `demoted`: observers that entered the ISR, and living ones that left it, in this step.
    `min_insync_replicas` None: not known. `condition`: what depends on settings that are not known.
    """

    topic: str
    partition: int
    before: IsrState
    after: IsrState
    data_at_risk: DataAtRisk
    needs_unclean: bool
    promoter: Promoter
    promoted: tuple[int, ...] = ()
    demoted: tuple[int, ...] = ()
    min_insync_replicas: int | None = None
    condition: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether the step changed anything for it."""
        return self.before != self.after

    @property
    def became_unwritable(self) -> bool:
        """Whether it took writes with acks=all before, or may have, and takes none after."""
        return self.before.is_writable is not False and self.after.is_writable is False

    @property
    def is_harmed(self) -> bool:
        """Whether it is no longer writable, lost its leader or records."""
        lost_leader = self.before.leader is not None and self.after.leader is None
        return self.became_unwritable or lost_leader or self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether acknowledged records are gone, for good or until a dead broker returns with its disk."""
        return self.data_at_risk.code in {RiskCode.UNCLEAN, RiskCode.LOST}


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers over partitions (of a topic, of the cluster), after a step.

    `became_unwritable`: of those that were writable before, or may have been; `unknown`: whether they are
    writable depends on settings that are not known. `at_risk`: waiting, unclean or lost; `lost`: the
    last two; `exposed`: one copy left. `severities`: how many of each severity, all of them named.
    """

    partitions: int
    offline: int
    unwritable: int
    became_unwritable: int
    needs_unclean: int
    lost: int
    at_risk: int
    exposed: int
    leader_changes: int
    observers_in_isr: int
    severities: Mapping[Severity, int]
    worst: Severity
    unknown: int = 0


def count_outcomes(outcomes: Iterable[PartitionOutcome]) -> Counts:
    """Return the sums over partitions; of none all are 0 and the worst severity is OK."""
    found = list(outcomes)
    severities = Counter(one.after.severity for one in found)
    risks = Counter(one.data_at_risk.code for one in found)
    lost = risks[RiskCode.UNCLEAN] + risks[RiskCode.LOST]
    return Counts(
        partitions=len(found),
        offline=severities[Severity.OFFLINE],
        unwritable=sum(one.after.is_writable is False for one in found),
        became_unwritable=sum(one.became_unwritable for one in found),
        needs_unclean=sum(one.needs_unclean for one in found),
        lost=lost,
        at_risk=lost + risks[RiskCode.WAITING],
        exposed=risks[RiskCode.EXPOSED],
        leader_changes=sum(one.after.leader not in {None, one.before.leader} for one in found),
        observers_in_isr=sum(len(one.after.observers_in_isr) for one in found),
        severities={one: severities[one] for one in Severity},
        worst=max(severities, default=Severity.OK),
        unknown=sum(one.after.is_writable is None for one in found),
    )


@dataclass(frozen=True, slots=True)
class QuorumOutcome:
    """The quorum after a step. `voters` 0: not known; for partitions a majority is assumed.

    `unsure_ids`: voters of which it is not known whether they live; `is_undecided`: the majority depends on
    them, and is assumed for the partitions.
    `deadly_racks`: racks each of which alone would end the majority next; `deadly_nodes` likewise.
    """

    voters: int
    majority: int
    alive_ids: tuple[int, ...]
    missing_ids: tuple[int, ...]
    has_majority: bool
    failures_tolerated: int
    deadly_racks: tuple[str, ...] = ()
    deadly_nodes: tuple[int, ...] = ()
    sentence: str = ""
    unsure_ids: tuple[int, ...] = ()
    is_undecided: bool = False

    @property
    def is_known(self) -> bool:
        """Whether there is a verdict on the majority."""
        return self.voters > 0 and not self.is_undecided

    @property
    def verdict(self) -> str:
        """Whether there is a majority, in words."""
        if not self.is_known:
            return "unknown"
        return "majority" if self.has_majority else "no majority"


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What one step did."""

    name: str
    partitions: tuple[PartitionOutcome, ...]
    topics: Mapping[str, Counts]
    cluster: Counts
    quorum: QuorumOutcome

"""What a what-if answers: per partition, per topic, for the cluster and its quorum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jobs.availability.status.severity import Severity
from jobs.availability.what_if.model.cluster import ClusterModel


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
    """The promoter of observers of a partition."""

    BROKER = "broker"
    CROSSLOG = "crosslog"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class IsrState:
    """A partition at one moment. Lists are in the order of its replicas.

    `isr` is that of the metadata: without a majority of voters dead members stay in it, and without
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
    def is_stopped(self) -> bool:
        """Whether it is no longer writable, or lost its leader."""
        lost_leader = self.before.leader is not None and self.after.leader is None
        return self.became_unwritable or lost_leader

    @property
    def is_at_risk(self) -> bool:
        """Whether acknowledged records wait for a broker, or are gone."""
        return self.is_lost or self.data_at_risk.code is RiskCode.WAITING

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


@dataclass(frozen=True)
class StepOutcome:
    """What one step did."""

    name: str
    partitions: tuple[PartitionOutcome, ...]
    quorum: QuorumOutcome

    @cached_property
    def topics(self) -> Mapping[str, Counts]:
        """The sums of each topic, by name."""
        return count_topics(self.partitions)

    @cached_property
    def cluster(self) -> Counts:
        return count_outcomes(self.partitions)


def count_topics(outcomes: Iterable[PartitionOutcome]) -> dict[str, Counts]:
    """Return the sums of each topic, by name."""
    by_topic: dict[str, list[PartitionOutcome]] = {}
    for one in outcomes:
        by_topic.setdefault(one.topic, []).append(one)
    return {name: count_outcomes(found) for name, found in sorted(by_topic.items())}


def count_outcomes(outcomes: Sequence[PartitionOutcome]) -> Counts:
    """Return the sums over partitions; of none all are 0 and the worst severity is OK."""
    return counts_of(flags_of(outcomes).sum(axis=0))


def flags_of(outcomes: Sequence[PartitionOutcome]) -> NDArray[np.int64]:
    """Return a row per outcome: what `Counts` sums up, then its severity as a one in its place."""
    width = len(_FLAGS)
    found = np.zeros((len(outcomes), width + len(Severity)), dtype=np.int64)
    for row, one in enumerate(outcomes):
        found[row, :width] = [of(one) for of in _FLAGS.values()]
        found[row, width + one.after.severity] = 1
    return found


def counts_of(sums: Iterable[np.int64]) -> Counts:
    """Return the sums of rows of `flags_of` as `Counts`."""
    numbers = [int(one) for one in sums]
    width = len(_FLAGS)
    severities = dict(zip(Severity, numbers[width:], strict=True))
    worst = max((word for word, count in severities.items() if count), default=Severity.OK)
    named = dict(zip(_FLAGS, numbers[:width], strict=True))
    return Counts(partitions=sum(numbers[width:]), severities=severities, worst=worst, **named)


_FLAGS: Mapping[str, Callable[[PartitionOutcome], int]] = {
    "offline": lambda one: one.after.leader is None,
    "unwritable": lambda one: one.after.is_writable is False,
    "unknown": lambda one: one.after.is_writable is None,
    "became_unwritable": lambda one: one.became_unwritable,
    "needs_unclean": lambda one: one.needs_unclean,
    "lost": lambda one: one.is_lost,
    "at_risk": lambda one: one.is_at_risk,
    "exposed": lambda one: one.data_at_risk.code is RiskCode.EXPOSED,
    "leader_changes": lambda one: one.after.leader not in {None, one.before.leader},
    "observers_in_isr": lambda one: len(one.after.observers_in_isr),
}
# The places of these in a row of `flags_of`.
UNWRITABLE, AT_RISK = (list(_FLAGS).index(name) for name in ("unwritable", "at_risk"))
SEVERITIES = len(_FLAGS)


def quorum_outlook(
    cluster: ClusterModel, alive: AbstractSet[int], sure: AbstractSet[int] = frozenset()
) -> QuorumOutcome:
    """Return the quorum with these voters alive; ids of no voter do not count.

    Of those whose life is not known only `sure` ones, which came back, count as alive.

    Without a majority there is no change of an ISR, no promotion and no election at all: live leaders
    stay.
    """
    voters = sorted({one.node_id for one in cluster.voters})
    if not voters:
        sentence = "Unknown: voters not known. For the partitions a majority is assumed."
        return QuorumOutcome(
            0, 0, (), (), has_majority=True, failures_tolerated=0, sentence=sentence
        )
    unknown = {one.node_id for one in cluster.voters if one.is_alive is None} - sure
    unsure = [one for one in voters if one in alive and one in unknown]
    living = [one for one in voters if one in alive and one not in unknown]
    majority = len(voters) // 2 + 1
    spare = len(living) - majority
    most = spare + len(unsure)
    words = (
        _unsure(living, unsure, voters)
        if unsure
        else _sentence(len(living), len(voters), majority, spare)
    )
    if cluster.is_of_log and living:
        words += (
            " A metadata log does not tell which voters live: those without a fenced broker count as "
            "alive."
        )
    return QuorumOutcome(
        voters=len(voters),
        majority=majority,
        alive_ids=tuple(living),
        missing_ids=tuple(one for one in voters if one not in alive),
        has_majority=most >= 0,
        failures_tolerated=max(0, spare),
        deadly_racks=_deadly_racks(cluster, [*living, *unsure], most),
        deadly_nodes=tuple(living) if most == 0 else (),
        sentence=words,
        unsure_ids=tuple(unsure),
        is_undecided=spare < 0 <= most,
    )


def _deadly_racks(cluster: ClusterModel, living: list[int], spare: int) -> tuple[str, ...]:
    racks = cluster.voter_racks()
    here = {rack for one in living if (rack := racks[one]) is not None}
    if spare < 0:
        return ()
    return tuple(sorted(one for one in here if sum(racks[id_] == one for id_ in living) > spare))


def _unsure(living: list[int], unsure: list[int], voters: list[int]) -> str:
    """Return the sentence where the life of some voters is not known."""
    majority = len(voters) // 2 + 1
    spare = len(living) - majority
    these = f"voter{'s' * (len(unsure) > 1)} {', '.join(map(str, unsure))}"
    why = f"state of {these} unknown (fenced broker)"
    told = f"At least {len(living)} of {len(voters)} voters alive, {majority} needed; {why}"
    if spare >= 0:
        return f"{told}: majority; {f'{spare} more may fail' if spare else 'one more may end it'}."
    if spare + len(unsure) < 0:
        return f"{told}: no majority in any case."
    return f"{told}: Unknown. For the partitions a majority is assumed."


def _sentence(living: int, voters: int, majority: int, spare: int) -> str:
    alive = f"{living} of {voters} voters alive, {majority} needed"
    if spare < 0:
        return f"{alive}: no majority. No ISR change, no promotion, no election; live leaders stay."
    return f"{alive}: failures tolerated: {spare}."

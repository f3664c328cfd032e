"""What the availability report is built from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.reports.document import Gap
from jobs.reports.kinds.clusters.partition_time import TimeTotals
from jobs.reports.kinds.kind import OpenStep
from jobs.reports.kinds.objectives import ObjectiveResult
from jobs.reports.periods import Period


@dataclass(frozen=True, slots=True)
class Outage:
    """Partitions that lost their leader, or fell under min ISR, at one moment and until one moment.

    `end` None: it was ongoing when it was read. `ms` is its watched time in the period.
    """

    start: datetime
    end: datetime | None
    ms: int
    is_leaderless: bool
    first_partition: str
    partitions: int
    cause: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class IsrChurn:
    """Out-of-sync spans of a broker or a rack that began in the period, in ms of watched time."""

    name: str
    rack: str
    spans: int
    total_ms: int
    median_ms: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class UncleanElection:
    """A leader that was not in sync."""

    at: datetime
    partition: str
    leader: int | None
    isr_before: tuple[int, ...]
    href: str = ""


@dataclass(frozen=True, slots=True)
class RackLoss:
    """What the loss of a rack does to partitions: `unwritable` are those that refuse writes because of it.

    `unknown`: of them it depends on a min.insync.replicas that is not known. `has_quorum` None: the voters
    are not known.
    """

    rack: str
    unwritable: int
    offline: int
    partitions: int
    has_quorum: bool | None
    href: str = ""
    unknown: int = 0

    @property
    def loses_quorum(self) -> bool:
        """Whether the quorum is known to have no majority then."""
        return self.has_quorum is False

    @property
    def is_survived(self) -> bool | None:
        """Whether each partition still takes writes and has a leader, and the quorum a majority.

        None: of some partitions, or of the quorum, it is not known.
        """
        if self.unwritable or self.offline:
            return False
        return None if self.unknown and not self.loses_quorum else self.has_quorum


@dataclass(frozen=True, slots=True)
class RackOutlook:
    """Each rack lost by itself; `snapshot_at` is when the cluster was so (None: never collected).

    `is_at_end`: that is the end of the period; `why` is why it is not. `notes` is what is not known.
    """

    losses: tuple[RackLoss, ...] = ()
    snapshot_at: datetime | None = None
    is_at_end: bool = False
    why: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PeakSample:
    """Most partitions that were leaderless, and under min ISR, in a step of time; None: not watched."""

    at: datetime
    leaderless: int | None
    under_min_isr: int | None


@dataclass(frozen=True, slots=True)
class AnalysisTold:
    """Where the figures of a section come from when an analysis has them, or why it has not."""

    href: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class ClusterAvailability:
    """One cluster; `start` and `end` are what is covered, None where nothing is.

    `topics` and `classes` are in any order. `span_count` counts outages, partition by partition.
    `topic_href` is a page with a query, to which a topic is added as `topic_parameter`.
    """

    alias: str
    start: datetime | None = None
    end: datetime | None = None
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    totals: TimeTotals | None = None
    classes: tuple[TimeTotals, ...] = ()
    topics: tuple[TimeTotals, ...] = ()
    topic_count: int = 0
    outages: tuple[Outage, ...] = ()
    span_count: int = 0
    brokers: tuple[IsrChurn, ...] = ()
    racks: tuple[IsrChurn, ...] = ()
    unclean: tuple[UncleanElection, ...] = ()
    unclean_count: int = 0
    outlook: RackOutlook = RackOutlook()
    peaks: tuple[PeakSample, ...] = ()
    open_steps: tuple[OpenStep, ...] = ()
    analysis: AnalysisTold | None = None
    href: str = ""
    brokers_href: str = ""
    topic_href: str = ""
    topic_parameter: str = "topic"


@dataclass(frozen=True, slots=True)
class AvailabilityRecorded:
    """What was recorded of a period."""

    period: Period
    clusters: tuple[ClusterAvailability, ...] = ()
    objectives: tuple[ObjectiveResult, ...] = ()

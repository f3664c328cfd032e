"""What the quorum report is built from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.reports.document import Gap
from jobs.reports.periods import Period


@dataclass(frozen=True, slots=True)
class VoterChange:
    """A voter set that was written in the period; `change` is what differs from the one before."""

    at: datetime
    change: str
    voters: str
    is_committed: bool | None
    href: str = ""


@dataclass(frozen=True, slots=True)
class ElectionRecorded:
    """A controller that became leader; `gap_ms` is how long there was none before it, None: not known.

    `is_silence`: that is much longer than records of the log usually are apart.
    """

    at: datetime
    epoch: int
    leader: int
    gap_ms: int | None
    anomalies: tuple[str, ...] = ()
    href: str = ""
    is_silence: bool = False


@dataclass(frozen=True, slots=True)
class Silence:
    """A time without a controller that ended without an election."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class BrokerEvent:
    """A broker that was registered, unregistered, fenced, or returned."""

    at: datetime
    broker: int
    event: str
    cause: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class BrokerFenced:
    """How often a broker was fenced in the period and how long, as far as it lies in the period."""

    broker: int
    times: int
    returned: int
    fenced_ms: int
    href: str = ""


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting, or the level of a feature, that changed; None: it was not set."""

    at: datetime
    resource_type: str
    resource: str
    name: str
    before: str | int | None
    after: str | int | None
    href: str = ""


@dataclass(frozen=True, slots=True)
class FindingRecorded:
    """A finding of the period; `closed_at` None: it was open at the end of the period."""

    severity: str
    finding: str
    sentence: str
    todo: str
    opened_at: datetime
    closed_at: datetime | None = None

    @property
    def lasted_ms(self) -> int | None:
        """How long it lasted; None while it is open."""
        if self.closed_at is None:
            return None
        return round((self.closed_at - self.opened_at).total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class ControllerTime:
    """What an analysis says of the time without an active controller; `error`: why it says nothing.

    `is_silence`: the longest was much longer than records of the log usually are apart.
    """

    href: str
    error: str = ""
    spans: int = 0
    total_ms: int = 0
    longest_ms: int = 0
    longest_from: datetime | None = None
    start: datetime | None = None
    end: datetime | None = None
    is_silence: bool = False


@dataclass(frozen=True, slots=True)
class ClusterQuorum:
    """One cluster; `start` and `end` are what the metadata log covers, None where nothing is known.

    `leader_before` is who led at the begin (None: not known). `config_counts` are changes by resource type
    and resource. Counts are of all that there were, where only the first ones are given.
    """

    alias: str
    start: datetime | None = None
    end: datetime | None = None
    gaps: tuple[Gap, ...] = ()
    voters_before: str | None = None
    voters_after: str | None = None
    voter_changes: tuple[VoterChange, ...] = ()
    leader_before: int | None = None
    elections: tuple[ElectionRecorded, ...] = ()
    silences: tuple[Silence, ...] = ()
    controller_time: ControllerTime | None = None
    brokers: tuple[BrokerFenced, ...] = ()
    broker_events: tuple[BrokerEvent, ...] = ()
    configs: tuple[SettingChange, ...] = ()
    config_counts: tuple[tuple[str, str, int], ...] = ()
    features: tuple[SettingChange, ...] = ()
    findings: tuple[FindingRecorded, ...] = ()
    href: str = ""
    voters_href: str = ""
    brokers_href: str = ""
    settings_href: str = ""

    @property
    def config_count(self) -> int:
        """How many changes of settings there were."""
        return sum(count for *_, count in self.config_counts)


@dataclass(frozen=True, slots=True)
class QuorumRecorded:
    """What was recorded of a period."""

    period: Period
    clusters: tuple[ClusterQuorum, ...] = ()

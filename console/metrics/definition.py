"""What a metric is, what alerts and engines are about, and every counter; all others are in definitions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A gauge, or a counter when its name ends in `_total`; else a name ends with its unit, if it has one.

    An unknown value is an absent sample.
    """

    name: str
    labels: tuple[str, ...]
    help: str

    @property
    def is_counter(self) -> bool:
        """Whether it only grows."""
        return self.name.endswith("_total")


_FLOW = ("flow", "source", "target")

FLOW_RECORDS_TOTAL = Definition(
    "crosslog_flow_copied_records_total", _FLOW, "Records that the flow copied, over all its runs."
)
FLOW_BYTES_TOTAL = Definition(
    "crosslog_flow_copied_bytes_total",
    _FLOW,
    "Bytes that the flow copied: of batches, compressed as they are; on the record path of keys and values.",
)
FLOW_COMMITS_TOTAL = Definition(
    "crosslog_flow_commits_total",
    _FLOW,
    "Commits of positions; one that moved five partitions counts five.",
)
FLOW_RETRIES_TOTAL = Definition(
    "crosslog_flow_copy_retries_total", _FLOW, "What was tried again, over all runs of the flow."
)
QUORUM_ELECTIONS_TOTAL = Definition(
    "crosslog_quorum_leader_elections_total",
    ("cluster",),
    "Elections of a leader of the quorum that the followed metadata log tells.",
)
QUORUM_WITHOUT_TOTAL = Definition(
    "crosslog_quorum_without_controller_seconds_total",
    ("cluster",),
    "Time without an active controller that the followed metadata log tells: before elections, and silences "
    "that ended without one.",
)
UNCLEAN_TOTAL = Definition(
    "crosslog_availability_unclean_leader_elections_total",
    ("cluster",),
    "Unclean leader elections that the metadata log told, also those that are no longer kept; absent for a "
    "cluster whose log is not followed.",
)

COUNTERS = (
    FLOW_RECORDS_TOTAL, FLOW_BYTES_TOTAL, FLOW_COMMITS_TOTAL, FLOW_RETRIES_TOTAL,
    QUORUM_ELECTIONS_TOTAL, QUORUM_WITHOUT_TOTAL, UNCLEAN_TOTAL,
)  # fmt: skip

_CHECK = ("check", "severity", "state", "cluster", "flow")
OPEN_INCIDENTS = Definition(
    "crosslog_open_incidents",
    _CHECK,
    "Incidents that are not resolved, by the check of their cause; `state` is open, acknowledged or "
    "silenced. `flow` or `cluster` is where, both are empty for crosslog itself. 0 without a check for each "
    "severity.",
)
OPEN_FINDINGS = Definition(
    "crosslog_open_findings",
    _CHECK,
    "Open findings of every check, advice included; `state` is that of their incident, open without one.",
)
CHECKS_AGE = Definition(
    "crosslog_checks_age_seconds",
    (),
    "Time since the last round of checks; while none runs, findings and incidents do not change.",
)
DELIVERIES = Definition(
    "crosslog_deliveries",
    ("channel", "state"),
    "Reports and notifications by channel: pending, delivered, refused or gave_up; 0 for each state of a "
    "channel that is used.",
)
_ENGINE = ("host", "engine")
ENGINE_FLOWS = Definition("crosslog_engine_flows", _ENGINE, "Flows of a live engine.")
ENGINE_SLOTS = Definition(
    "crosslog_engine_slots", (*_ENGINE, "state"), "Its slots: running, starting or lost."
)
ENGINE_CPU = Definition(
    "crosslog_engine_cpu_cores", _ENGINE, "Cores that all its processes use together."
)
ENGINE_MEMORY = Definition("crosslog_engine_rss_bytes", _ENGINE, "Memory of all its processes.")
ENGINE_IN_FLIGHT = Definition(
    "crosslog_engine_in_flight_bytes", _ENGINE, "Bytes that are fetched and not acknowledged."
)
ENGINE_RESTARTS_TOTAL = Definition(
    "crosslog_engine_slot_restarts_total",
    _ENGINE,
    "Slots that ended unexpectedly and were started again, since the start of the engine.",
)
OF_ENGINES = (
    ENGINE_FLOWS, ENGINE_SLOTS, ENGINE_CPU, ENGINE_MEMORY, ENGINE_IN_FLIGHT, ENGINE_RESTARTS_TOTAL
)  # fmt: skip

OF_ALERTS = (OPEN_INCIDENTS, OPEN_FINDINGS, CHECKS_AGE, DELIVERIES)

"""The tiles and the tabs of a flow's page."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.replication.control.stages import was_read
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.queries import LAG, LAG_MS, RATE
from console.replication.flows.status import FlowState, count
from jobs.numbers import format_count, format_least, format_rate, format_span_ms, not_known
from jobs.replication.copy.contract import CopyState

ETA = (
    "ETA: remaining records divided by the catch-up rate, without paused partitions. Unknown while no record "
    "is replicated, or when the source grows as fast."
)
KEEPS_UP_S = 10
_CATCHING_UP = {FlowState.RUNNING, FlowState.DEGRADED}
# From two of them on (a minute from one), a duration is shown in this unit.
_UNITS = {"days": 86_400, "h": 3600, "min": 60}


def flow_facts(flow: ReplicationFlow) -> list[dict[str, Any]]:
    """Return lag, throughput and partitions as the facts component takes them."""
    failed = count(flow, CopyState.FAILED)
    return [
        {
            "label": "Replication lag (records)",
            "value": format_least(flow.lag, flow.unknown_count),
            "note": not_known(flow.unknown_count, flow.partition_count) or _how_long(flow),
            "definition": f"{LAG} {ETA}",
        },
        {
            "label": "Replication lag (time)",
            "value": format_least(flow.lag_ms, flow.unknown_ms_count, format_span_ms),
            "note": not_known(flow.unknown_ms_count, flow.partition_count)
            or "maximum of all partitions",
            "definition": LAG_MS,
        },
        {
            "label": "Throughput (records/s)",
            "value": format_rate(flow.rate_per_s),
            "note": "mean of the last 10 s",
            "definition": RATE,
        },
        {
            "label": "Partitions",
            "value": _partitions(flow, failed),
            "note": _states_in_words(flow),
            "severity": "critical" if failed else "",
            "href": reverse("replication:partitions", args=[flow.pk]),
        },
    ]


def flow_tabs(flow: ReplicationFlow, current: str, found: int = 0) -> list[dict[str, Any]]:
    """Return the tabs of a flow's page; `found` counts open findings above notice."""
    failed = count(flow, CopyState.FAILED)
    tabs: list[tuple[str, str, dict[str, Any]]] = [
        ("detail", "Overview", {}),
        (
            "partitions",
            "Partitions",
            {"count": failed or flow.partition_count, "is_bad": bool(failed)},
        ),
        ("findings", "Findings", {"count": found or None, "is_bad": bool(found)}),
        ("checkpoints", "Checkpoints", {}),
        ("failover", "Failover", {}),
        ("runs", "Runs", {}),
        ("control", "Runtime controls", {}),
        ("settings", "Settings", {}),
    ]
    if flow.is_watched:
        tabs = [tab for tab in tabs if tab[0] != "control"]
    return [
        {
            "label": label,
            "href": reverse(f"replication:{name}", args=[flow.pk]),
            "is_current": name == current,
            **more,
        }
        for name, label, more in tabs
    ]


def why_no_topics(flow: ReplicationFlow) -> str:
    """Return why the table of topics is empty: only a run that read the source knows that none matches."""
    if flow.measured_at is None:
        return "Not measured yet."
    if flow.is_watched:
        return "MirrorMaker 2 has no positions for a topic of this flow."
    if flow.run is None or not flow.run.is_live:
        return "No topics yet: the flow reads the topics of the source when it starts."
    if not was_read(flow):
        return "The flow is starting and has not read the topics of the source yet."
    return "No topic of the source matches the flow's topic patterns."


def _how_long(flow: ReplicationFlow) -> str:
    """Return the note with the ETA, or that it is unknown."""
    records = "total"
    if not flow.lag or flow.status.state not in _CATCHING_UP or _keeps_up(flow):
        return records
    if flow.eta_s is None:
        return f"{records} \N{MIDDLE DOT} ETA unknown"
    return f"{records} \N{MIDDLE DOT} ETA {about(flow.eta_s)}"


def _keeps_up(flow: ReplicationFlow) -> bool:
    """Return whether the lag is only what was produced since the last commit or two."""
    return (flow.lag or 0) <= (flow.rate_per_s or 0) * KEEPS_UP_S


def about(seconds: float) -> str:
    """Return a rounded duration: about 5 min."""
    for unit, size in _UNITS.items():
        if seconds >= (size if unit == "min" else 2 * size):
            return f"about {seconds / size:.0f} {unit}"
    return "less than a minute"


def _partitions(flow: ReplicationFlow, failed: int) -> str:
    if flow.partition_count is None:
        return format_count(None)
    good = flow.partition_count - failed
    return f"{format_count(good)} of {format_count(flow.partition_count)}"


def _states_in_words(flow: ReplicationFlow) -> str:
    parts = [f"{number} {state.replace('_', ' ')}" for state, number in flow.states.items()]
    return " \N{MIDDLE DOT} ".join(parts) or "not measured yet"

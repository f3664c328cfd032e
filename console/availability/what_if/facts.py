"""The first row of the what-if page: what is left, what is at risk, how the quorum stands."""

from __future__ import annotations

from typing import Any

from console.availability.what_if.simulation import WhatIfResult
from jobs.availability.what_if.outcome import QuorumOutcome
from jobs.numbers import format_count


def what_if_facts(answer: WhatIfResult) -> list[dict[str, Any]]:
    """Return what is writable after the last step, what has no leader, what is at risk."""
    counts = answer.counts
    writable = counts.partitions - counts.unwritable - counts.unknown
    return [
        {
            "label": "Still writable",
            "value": format_count(writable),
            "note": f"of {format_count(counts.partitions)} partitions, with acks=all"
            + (f"; {format_count(counts.unknown)} not known" if counts.unknown else ""),
            "definition": "Partitions with a leader and at least min.insync.replicas in the ISR.",
            **_graded(counts.unwritable, "crit"),
            **({"severity": "none"} if counts.unknown and not counts.unwritable else {}),
        },
        {
            "label": "Without a leader",
            "value": format_count(counts.offline),
            "note": _unclean_note(counts.needs_unclean),
            "definition": "Partitions that can be neither read nor written.",
            **_graded(counts.offline, "crit"),
        },
        {
            "label": "Data at risk",
            "value": format_count(counts.at_risk),
            "note": f"{format_count(counts.lost)} lost acknowledged records"
            if counts.lost
            else "partitions",
            "definition": "Partitions where acknowledged records wait for a broker to come back, are "
            "exposed to the next loss, or are gone.",
            **_graded(counts.at_risk, "crit" if counts.lost else "risk"),
        },
        {
            "label": "Leaders that move",
            "value": format_count(counts.leader_changes),
            "note": _observer_note(counts.observers_in_isr),
            "definition": "Partitions whose leader is another broker afterwards, or none.",
        },
    ]


def quorum_facts(quorum: QuorumOutcome, before: QuorumOutcome) -> list[dict[str, Any]]:
    """Return how the quorum of controllers stands."""
    fact: dict[str, Any] = {
        "label": "Quorum",
        "definition": "Controllers that vote: without a majority no leader is elected, no ISR changes and "
        "nothing is promoted.",
    }
    if not quorum.is_known:
        note = (
            "whether enough voters live is not known"
            if quorum.voters
            else "its voters are not known"
        )
        return [
            fact
            | {"value": format_count(None), "note": note, "severity": "none", "word": "Unknown"}
        ]
    alive = len(quorum.alive_ids)
    value = f"{format_count(alive)} of {format_count(quorum.voters)}"
    if not quorum.has_majority:
        note = f"{format_count(quorum.majority)} are needed"
        return [fact | {"value": value, "note": note, "severity": "crit", "word": "No majority"}]
    spare = quorum.failures_tolerated
    note = (
        f"{format_count(spare)} more may be lost, {format_count(before.failures_tolerated)} before"
    )
    return [fact | {"value": value, "note": note, "severity": "ok" if spare else "risk"}]


def _graded(count: int, severity: str) -> dict[str, Any]:
    return {"severity": severity if count else "ok"}


def _unclean_note(count: int) -> str:
    return f"{format_count(count)} need an unclean election" if count else "partitions"


def _observer_note(count: int) -> str:
    return f"{format_count(count)} with observers in the ISR" if count else "partitions"

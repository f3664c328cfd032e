"""The first row of an application's page."""

from __future__ import annotations

from typing import Any

from console.frame.pages.states import severity_of, spoken
from console.streams import labels
from console.streams.models import StreamsApplication
from jobs.numbers import format_count, format_least, format_percent, format_span_ms
from jobs.streams.application import Application


def application_facts(row: StreamsApplication, application: Application) -> list[dict[str, Any]]:
    """Return state, instances, tasks, lag and misrouted keys."""
    least = "at least " if row.left_out else ""
    return [
        {
            "label": "State",
            "value": spoken(row.state),
            "severity": severity_of(row.state).value,
            "note": _protocol(row, application),
            "definition": labels.STATE,
        },
        {
            "label": "Instances",
            "value": f"{least}{format_count(row.instances)}",
            "note": f"{least}{format_count(row.threads)} threads",
            "definition": labels.INSTANCES,
        },
        _tasks(row, least),
        {
            "label": "Input lag",
            "value": format_least(row.lag_records, row.lag_unknown_count or bool(least)),
            "note": _lag_note(row),
            "definition": labels.LAG_AT_MOST,
        },
        {
            "label": "Event-time lag",
            "value": format_span_ms(row.event_time_lag_ms),
            "definition": labels.EVENT_TIME_LAG,
        },
        _misrouted(row),
    ]


def _protocol(row: StreamsApplication, application: Application) -> str:
    text = f"{row.protocol} protocol"
    if application.generation is not None:
        text += f", epoch {format_count(application.generation)}"
    return text


def _lag_note(row: StreamsApplication) -> str:
    if row.lag_unknown_count:
        return f"records; of {format_count(row.lag_unknown_count)} source partitions not known"
    if not row.lag_at_most_ms:
        return "records"
    return f"records, the oldest at most {format_span_ms(row.lag_at_most_ms)} old"


def _tasks(row: StreamsApplication, least: str) -> dict[str, Any]:
    tasks = f"{least}{format_count(row.tasks)}"
    fact = {"label": "Tasks", "value": tasks, "definition": labels.TASKS}
    if row.tasks_without_thread:
        lost = format_count(row.tasks_without_thread)
        return fact | {"severity": "crit", "note": f"{lost} without an active thread"}
    known = row.tasks_without_thread is not None and row.tasks
    return fact | {"note": "each with an active thread" if known else ""}


def _misrouted(row: StreamsApplication) -> dict[str, Any]:
    fact: dict[str, Any] = {
        "label": "Misrouted keys",
        "value": format_percent(row.misrouted_share),
        "definition": labels.MISROUTED,
    }
    if row.answers_wrong is None:
        return fact | {"note": "what the application answers is not known"}
    if row.answers_wrong:
        return fact | {"severity": "risk", "word": "Wrong answers", "note": "of its worst store"}
    return fact | {"severity": "ok"}

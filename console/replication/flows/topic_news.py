"""What was done with remote topics lately, as the page of a flow tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.frame.pages.states import Severity
from console.replication.flows.models import ReplicationFlow


@dataclass(frozen=True, slots=True)
class TopicNews:
    """The last sync: `changes` are rows as in `topic_sync`; `findings` (not done) and `notes` (left alone,
    which is no reason to worry) are for `_finding.html`.
    """

    at: datetime
    changed_at: datetime | None
    changes: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    notes: list[dict[str, Any]]


def topic_news(flow: ReplicationFlow) -> TopicNews | None:
    """Return what a person should know of the last sync; None when there is nothing to know."""
    sync = flow.topic_sync
    if not (sync.get("changes") or sync.get("notes") or sync.get("failures")):
        return None
    return TopicNews(
        datetime.fromisoformat(sync["at"]),
        _moment(sync.get("changed_at")),
        [{**change, "before": change["from"]} for change in sync["changes"]],
        _findings(sync["failures"], Severity.RISK, "Not done"),
        _findings(sync["notes"], Severity.NOTICE, "Left alone"),
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _findings(
    notes: Iterable[Mapping[str, str]], severity: Severity, word: str
) -> list[dict[str, Any]]:
    return [
        {
            "severity": severity,
            "word": word,
            "what": " ".join(filter(None, [note["topic"], note["key"]])) or "The flow",
            "why": note["text"],
        }
        for note in notes
    ]

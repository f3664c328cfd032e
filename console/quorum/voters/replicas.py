"""The replicas of the metadata log as the page shows them: role and oddities as words, times as times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from console.frame.pages.states import Severity
from console.quorum.models import QuorumStatus

_ROLES = {
    "leader": ("Leader", Severity.OK),
    "voter": ("Voter", Severity.OK),
    "observer": ("Observer", Severity.NOTICE),
}
WHY = {
    "silent": "It does not fetch: it may be down or cut off.",
    "dangling": "It runs as a controller but has no vote any more: stop it or add it.",
    "other_directory": "Another directory than the voter set names: a new disk that was not added.",
}


def shown_replicas(status: QuorumStatus | None) -> list[dict[str, Any]]:
    """Return leader, voters and observers as rows of the page."""
    rows = status.replicas if status else []
    return [_shown(row) for row in rows]


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    word, severity = _ROLES.get(row["role"], ("Observer", Severity.NOTICE))
    if row["words"]:
        severity = Severity.RISK
    return {
        **row,
        "role_word": word,
        "severity": severity.value,
        "why": " ".join(WHY.get(one, "") for one in row["words"]),
        "last_fetch_at": read_at(row.get("last_fetch_at")),
        "last_caught_up_at": read_at(row.get("last_caught_up_at")),
    }


def read_at(text: str | None) -> datetime | None:
    """Return a time of a stored mapping."""
    return datetime.fromisoformat(text) if text else None

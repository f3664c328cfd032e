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
    "not_judged": "Whether it answers the leader is not judged yet.",
    "silent": "It does not fetch: it may be down or cut off.",
    "dangling": "It runs as a controller but has no vote any more: stop it or add it.",
    "other_directory": "Another directory than the voter set names: a new disk that was not added.",
}


def shown_replicas(status: QuorumStatus | None) -> list[dict[str, Any]]:
    """Return leader, voters and observers as rows of the page."""
    if status is None:
        return []
    why = WHY | ({"not_judged": status.unjudged} if status.unjudged else {})
    return [_shown(row, why) for row in status.replicas]


def _shown(row: Mapping[str, Any], why: Mapping[str, str]) -> dict[str, Any]:
    word, severity = _ROLES.get(row["role"], ("Observer", Severity.NOTICE))
    odd = "none" if "not_judged" in row["words"] else "risk"
    if row["words"]:
        severity = Severity(odd)
    return {
        **row,
        "role_word": word,
        "severity": severity.value,
        "odd_severity": odd,
        "why": " ".join(why.get(one, "") for one in row["words"]),
        "last_fetch_at": read_at(row.get("last_fetch_at")),
        "last_caught_up_at": read_at(row.get("last_caught_up_at")),
    }


def read_at(text: str | None) -> datetime | None:
    """Return a time of a stored mapping."""
    return datetime.fromisoformat(text) if text else None

"""The first row of the quorum's pages, and their tabs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.quorum import labels
from console.quorum.models import MetadataLog, QuorumStatus
from console.quorum.queries import list_elections, list_silences, list_voter_sets, status_of
from jobs.numbers import format_count, format_span_ms
from jobs.severity import Severity

_TABS = (
    ("detail", "Overview"),
    ("voters", "Voter history"),
    ("partitions", "Partitions"),
    ("brokers", "Brokers"),
    ("settings", "Config changes"),
    ("state", "Point in time"),
    ("log", "Metadata changes"),
    ("advisor", "Voter change planner"),
)


def quorum_tabs(log: MetadataLog, current: str) -> list[dict[str, Any]]:
    more: dict[str, dict[str, Any]] = {}
    count = getattr(log, "open_count", 0)
    if count:
        more["detail"] = {"count": count, "is_bad": True}
    return [
        {
            "label": label,
            "href": reverse(f"quorum:{name}", args=[log.name]),
            "is_current": name == current,
            **more.get(name, {}),
        }
        for name, label in _TABS
        if not (name == "advisor" and log.is_imported)
    ]


def quorum_facts(log: MetadataLog) -> list[dict[str, Any]]:
    """Return leader, voters, failures tolerated, high watermark, lag and range of the log.

    Of an imported log: leader and voters at its end, elections and leaderless time in it.
    """
    if log.is_imported:
        return _facts_of_import(log)
    status = status_of(log)
    return [
        _leader(status),
        _voters(status),
        _spare(status),
        {
            "label": "High watermark",
            "value": format_count(status.high_watermark if status else log.high_watermark),
            "note": "of the metadata log",
            "definition": labels.HIGH_WATERMARK,
        },
        {
            "label": "Max follower lag",
            "value": format_span_ms(status.worst_lag_ms if status else None),
            "note": f"{format_count(status.worst_lag)} records" if status else "",
            "definition": labels.LAG_MS,
        },
        _known(log),
    ]


def _facts_of_import(log: MetadataLog) -> list[dict[str, Any]]:
    elections = list(list_elections(log).order_by("-offset"))
    last = elections[0] if elections else None
    voters = list_voter_sets(log).order_by("-offset").first()
    silent_ms = [one.gap_ms for one in elections if one.gap_ms is not None]
    silent_ms += [round((a.to_at - a.from_at).total_seconds() * 1000) for a in list_silences(log)]
    return [
        {
            "label": "Leader at its end",
            "value": format_count(last.leader_id if last else None),
            "note": f"epoch {format_count(last.epoch)}" if last else "",
            "definition": labels.EPOCH,
        },
        {
            "label": "Voters at its end",
            "value": format_count(len(voters.voters) if voters else None),
            "note": "",
            "definition": "Controllers with a vote: a majority of them commits each metadata record.",
        },
        {
            "label": "Elections",
            "value": format_count(len(elections)),
            "note": "",
            "href": reverse("quorum:voters", args=[log.name]),
        },
        {
            "label": "Longest leaderless time",
            "value": format_span_ms(max(silent_ms, default=None)),
            "note": "",
        },
        _known(log),
    ]


def _known(log: MetadataLog) -> dict[str, Any]:
    return {
        "label": "History",
        "value": _history(log),
        "note": _history_note(log),
        "definition": "Offsets of the metadata log that crosslog has read.",
        "href": reverse("quorum:log", args=[log.name]),
    }


def _leader(status: QuorumStatus | None) -> dict[str, Any]:
    leader = status.leader_id if status else None
    fact = {
        "label": "Leader",
        "value": format_count(leader),
        "note": f"epoch {format_count(status.leader_epoch)}" if status else "",
        "definition": labels.EPOCH,
    }
    if status is None or leader is not None:
        return fact
    if status.unjudged:
        return fact | {"severity": "unknown", "word": "Unknown", "note": status.unjudged}
    return fact | {"severity": "critical", "word": "None"}


def _voters(status: QuorumStatus | None) -> dict[str, Any]:
    count = status.voter_count if status else None
    observers = status.observer_count if status else 0
    note = f"{format_count(observers)} observer{'' if observers == 1 else 's'}" if status else ""
    return {
        "label": "Voters",
        "value": format_count(count),
        "note": note,
        "definition": "Controllers with a vote: a majority of them commits each metadata record.",
    }


def _spare(status: QuorumStatus | None) -> dict[str, Any]:
    """A voter is online while it fetched from the leader lately."""
    fact: dict[str, Any] = {
        "label": "Failures tolerated",
        "value": format_count(None),
        "definition": "Voters that may fail before the quorum loses its majority. Voters that do not fetch "
        "count as failed already.",
    }
    if status is None or not status.voter_count:
        return fact
    voters = [one for one in status.replicas if one["role"] != "observer"]
    there = sum(not {"silent", "not_judged"} & set(one["words"]) for one in voters)
    unknown = sum("not_judged" in one["words"] for one in voters)
    possible = there + unknown
    spare = possible - (len(voters) // 2 + 1)
    if unknown and (spare > 0 or possible == len(voters)):
        return fact | {"note": status.unjudged, "severity": "unknown", "word": "Unknown"}
    note = f"{'at most ' if unknown else ''}{possible} of {len(voters)} voters online"
    fact |= {"value": format_count(max(spare, 0)), "note": note}
    if spare < 0:
        return fact | {"severity": "critical", "word": "No majority"}
    return fact | ({"severity": "warning"} if spare == 0 else {})


def _history(log: MetadataLog) -> str:
    if log.first_offset is None:
        return format_count(None)
    return f"{format_count(log.first_offset)} \N{EN DASH} {format_count(log.next_offset)}"


def _history_note(log: MetadataLog) -> str:
    if log.gaps:
        return f"{len(log.gaps)} gaps"
    if log.behind_ms is not None and not log.is_imported:
        return f"lag {format_span_ms(log.behind_ms)}"
    return ""


_ROLES = {
    "leader": ("Leader", Severity.HEALTHY),
    "voter": ("Voter", Severity.HEALTHY),
    "observer": ("Observer", Severity.INFO),
}
WHY = {
    "not_judged": "Not checked yet: the leader is too new.",
    "silent": "It does not fetch: the node is down, or it does not reach the leader.",
    "dangling": "It runs as a controller without a vote: stop it, or add it as a voter.",
    "other_directory": "Its directory id is not in the voter set: a new disk that was not added as a voter.",
}


def shown_replicas(status: QuorumStatus | None) -> list[dict[str, Any]]:
    """Return leader, voters and observers as rows of the page."""
    if status is None:
        return []
    why = WHY | ({"not_judged": status.unjudged} if status.unjudged else {})
    return [_shown(row, why) for row in status.replicas]


def _shown(row: Mapping[str, Any], why: Mapping[str, str]) -> dict[str, Any]:
    word, severity = _ROLES.get(row["role"], ("Observer", Severity.INFO))
    if row["words"]:
        severity = Severity.UNKNOWN if "not_judged" in row["words"] else Severity.WARNING
    return {
        **row,
        "role_word": word,
        "severity": severity.value,
        "why": " ".join(why.get(one, "") for one in row["words"]),
        "last_fetch_at": read_at(row.get("last_fetch_at")),
        "last_caught_up_at": read_at(row.get("last_caught_up_at")),
    }


def read_at(text: str | None) -> datetime | None:
    """Return a time of a stored mapping."""
    return datetime.fromisoformat(text) if text else None

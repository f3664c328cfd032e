"""The checkpoints that a flow writes and the groups that it syncs, for its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from console.replication.failover.queries import groups_failed_over
from console.replication.flows.models import ReplicationFlow
from jobs.numbers import format_count
from jobs.replication.checkpoints.rules import Why
from jobs.severity import Severity

_WITHOUT = {
    Why.NO_SYNC.value: "no offset sync: the flow does not replicate that topic, or no record of it yet",
    Why.TARGET_UNKNOWN.value: "the remote partition did not answer",
    Why.BEYOND_TARGET.value: "the remote partition ends before the translated offset: the topic was "
    "deleted and re-created",
    Why.BEYOND_SOURCE.value: "the committed offset is beyond the end of the source partition",
    Why.SOURCE_UNKNOWN.value: "the source partition did not answer",
}

_CORRECTED = (
    "An earlier version of crosslog or MirrorMaker 2 wrote them. Offset syncs prove other offsets."
)


@dataclass(frozen=True, slots=True)
class CheckpointNews:
    """The last round of a run; `at` is None before the first one that succeeded."""

    at: datetime | None
    facts: list[dict[str, Any]]
    findings: list[dict[str, Any]]


def checkpoint_news(flow: ReplicationFlow) -> CheckpointNews | None:
    """Return the report of the newest run; None without one, and when the flow writes no checkpoints."""
    told = flow.checkpoint_writing
    if not told or not flow.emit_checkpoints_interval_s:
        return None
    at_ms = told["at_ms"]
    at = None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
    return CheckpointNews(at, list(_facts(flow, told)), list(_findings(flow, told)))


def _facts(flow: ReplicationFlow, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {
        "label": "Groups",
        "value": format_count(told["groups"]),
        "note": f"{format_count(told['stale_groups'])} deleted groups",
        "definition": "Consumer groups of the source that match the patterns of the flow. Checkpoints "
        "of deleted groups stay.",
    }
    yield {
        "label": "Checkpoints",
        "value": format_count(told["told"]),
        "note": f"{format_count(told['exact'])} exact; "
        f"{format_count(told['written_total'])} written in this run",
        "definition": "Partitions of groups with a translated offset. Exact: a group that resumes there "
        "reprocesses no record. The others reprocess some records; none skips a record.",
    }
    sync = told["group_sync"]
    if flow.sync_group_offsets and sync:
        yield {
            "label": "Groups synced on the target",
            "value": format_count(sync["groups"] - sync["active"]),
            "note": f"{format_count(sync['active'])} active groups unchanged; "
            f"{format_count(sync['written_total'])} offsets written in this run",
            "definition": "Groups of the same name without members on the target: they follow their "
            "offsets on the source.",
        }


def _findings(flow: ReplicationFlow, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if told["fault"]:
        yield _finding(Severity.CRITICAL, "Failed", "The last round", told["fault"])
    if corrected := told.get("corrected"):
        what = f"{format_count(corrected)} wrong checkpoints replaced when the run started"
        yield _finding(Severity.INFO, "Corrected", what, _CORRECTED)
    sync = told["group_sync"] or {}
    for group, text in {**told["errors"], **sync.get("errors", {})}.items():
        yield _finding(Severity.WARNING, "Failed", f"Group {group}", text)
    for text in (*_ahead(flow, sync), *told["findings"]):
        yield _finding(Severity.WARNING, "Finding", text)
    for reason, count in told["without"].items():
        what = f"{format_count(count)} partitions of groups without a checkpoint"
        yield _finding(Severity.INFO, "No checkpoint", what, _WITHOUT.get(reason, reason))


def _ahead(flow: ReplicationFlow, sync: Mapping[str, Any]) -> list[str]:
    """Return the sentences about groups ahead on the target, without groups that a plan moved."""
    told = sync.get("ahead", ())
    if not told:
        return []
    moved = groups_failed_over(flow)
    groups = zip_longest(told, sync.get("ahead_groups", ()), fillvalue="")
    return [text for text, group in groups if group not in moved]


def _finding(severity: Severity, word: str, what: str, why: str = "") -> dict[str, Any]:
    return {"severity": severity, "word": word, "what": what, "why": why}

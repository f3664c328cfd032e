"""What a flow does for its groups, as its page tells it: checkpoints, and groups that it sets."""

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
    Why.NO_SYNC.value: "no offset sync: the flow does not copy that topic, or nothing was copied of it yet",
    Why.TARGET_UNKNOWN.value: "the remote partition did not answer",
    Why.BEYOND_TARGET.value: "the remote partition ends before the place: it was made anew",
    Why.BEYOND_SOURCE.value: "the committed offset is beyond the end of the source partition",
    Why.SOURCE_UNKNOWN.value: "the source partition did not answer",
}

_CORRECTED = (
    "An earlier version of crosslog or MirrorMaker 2 wrote them; offset syncs prove other offsets."
)


@dataclass(frozen=True, slots=True)
class CheckpointNews:
    """The last round of a run; `at` is None before the first one that succeeded."""

    at: datetime | None
    facts: list[dict[str, Any]]
    findings: list[dict[str, Any]]


def checkpoint_news(flow: ReplicationFlow) -> CheckpointNews | None:
    """Return what the newest run told; None when no checkpoints are wanted, or nothing was told yet."""
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
        "note": f"{format_count(told['stale_groups'])} deleted groups have checkpoints",
        "definition": "Consumer groups of the source that the flow's patterns accept.",
    }
    yield {
        "label": "Checkpoints",
        "value": format_count(told["told"]),
        "note": f"{format_count(told['exact'])} exact; "
        f"{format_count(told['written_total'])} written in this run",
        "definition": "Partitions of groups whose place on the target is told. Exact: going on there repeats "
        "nothing. The others repeat some records; none skips any.",
    }
    sync = told["group_sync"]
    if flow.sync_group_offsets and sync:
        yield {
            "label": "Groups set on the target",
            "value": format_count(sync["groups"] - sync["active"]),
            "note": f"{format_count(sync['active'])} in use and left alone; "
            f"{format_count(sync['written_total'])} offsets written in this run",
            "definition": "Groups of the same name that nobody uses there: kept where they are here.",
        }


def _findings(flow: ReplicationFlow, told: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if told["fault"]:
        yield _finding(Severity.CRITICAL, "Failed", "The last round", told["fault"])
    if corrected := told.get("corrected"):
        what = f"{format_count(corrected)} wrong checkpoints replaced when the run started"
        yield _finding(Severity.INFO, "Corrected", what, _CORRECTED)
    sync = told["group_sync"] or {}
    for group, text in {**told["errors"], **sync.get("errors", {})}.items():
        yield _finding(Severity.WARNING, "Not done", f"Group {group}", text)
    for text in (*_ahead(flow, sync), *told["findings"]):
        yield _finding(Severity.WARNING, "Finding", text)
    for reason, count in told["without"].items():
        what = f"{format_count(count)} partitions of groups without a checkpoint"
        yield _finding(Severity.INFO, "Without", what, _WITHOUT.get(reason, reason))


def _ahead(flow: ReplicationFlow, sync: Mapping[str, Any]) -> list[str]:
    """Return what was told of groups ahead on the target; of those that a plan moved there it is right."""
    told = sync.get("ahead", ())
    if not told:
        return []
    moved = groups_failed_over(flow)
    groups = zip_longest(told, sync.get("ahead_groups", ()), fillvalue="")
    return [text for text, group in groups if group not in moved]


def _finding(severity: Severity, word: str, what: str, why: str = "") -> dict[str, Any]:
    return {"severity": severity, "word": word, "what": what, "why": why}

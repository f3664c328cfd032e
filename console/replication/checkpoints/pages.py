"""Pages of checkpoints: a flow's groups, and one group in a flow."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.frame.errors import or_404
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.page import cut
from console.replication.checkpoints import queries as readiness_queries
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.facts import flow_answer_facts, group_answer_facts
from console.replication.checkpoints.history import draw_answers, share_ready
from console.replication.checkpoints.tables import GROUPS, TOPICS
from console.replication.checkpoints.text import SEVERITIES, WORDS, span_of
from console.replication.flows import queries
from console.replication.flows.models import GroupReadiness, ReplicationFlow
from console.replication.flows.page_context import around_flow, find_flow
from jobs.replication.checkpoints.lag import ResumeBy
from jobs.replication.checkpoints.obstacles import TEXTS, Obstacle, Readiness
from jobs.replication.checkpoints.reasons import CheckpointReason, reason_text
from jobs.replication.offset_sync_store import TOO_OLD
from jobs.severity import Severity


@require_GET
@page("view", queries.where)
def checkpoints_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show whether groups and topics can fail over now, and their checkpoints."""
    flow, now = find_flow(flow_id), timezone.now()
    table = GROUPS.read(request, readiness_queries.list_groups(flow), f"flow-{flow.pk}-checkpoints")
    topics = TOPICS.read(request, readiness_queries.list_topics(flow), f"flow-{flow.pk}-topics")
    lines = checkpoint_series.recent(flow, [row.group for row in table.rows], now)
    for row in table.rows:
        row.recent_behind = lines[row.group]
    answer = readiness_queries.answer_of(flow)
    applications = readiness_queries.answers_for_flows([flow], now)[flow.pk]
    around = around_flow(request, flow, "checkpoints")
    context = {
        **around,
        "table": table,
        "topics": topics,
        "answer": answer,
        "applications": cut(applications, len(applications), request.GET, "applications"),
        "facts": flow_answer_facts(flow, answer, share_ready(flow, "", now), now),
        "freshness": [*around["freshness"], readiness_queries.freshness_of(flow)],
        "states": draw_answers(flow, "", around["time_range"], now),
    }
    return render_page(request, "replication/checkpoints/list.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def group_page(request: HttpRequest, flow_id: int, group_id: str) -> HttpResponseBase:
    """Show one group in a flow: checkpoint, certificate and MirrorMaker 2's own answer of each partition."""
    flow, now = find_flow(flow_id), timezone.now()
    row = or_404(
        readiness_queries.get_group(flow, group_id),
        f"Group {group_id} reads no topic of flow {flow.name}, or is not collected yet.",
    )
    around = around_flow(request, flow, "checkpoints")
    context = {
        **around,
        "row": row,
        "group_query": urlencode({"group": group_id}),
        "equivalents": _equivalents(flow, group_id),
        "parts": partition_rows_of(row, now),
        "facts": group_answer_facts(row, share_ready(flow, group_id, now), now),
        "freshness": [readiness_queries.freshness_of(flow)],
        "states": draw_answers(flow, group_id, around["time_range"], now),
    }
    return render_page(request, "replication/checkpoints/group.html", context, is_live=True)


def _equivalents(flow: ReplicationFlow, group: str) -> dict[str, str]:
    """Return the call and the command that answer the same; a secured cluster needs a settings file."""
    source = flow.source
    settings = (
        "" if source.security_protocol == "PLAINTEXT" else " --command-config client.properties"
    )
    return {
        "api": f"GET /api/v1/flows/{flow.pk}/checkpoints/?{urlencode({'group': group})}",
        "cli": f"kafka-consumer-groups.sh --bootstrap-server {source.bootstrap_servers}{settings} "
        f"--describe --group {shlex.quote(group)}",
    }


# The partitions of a group as its page shows them: from the stored document to values for people.

MOST_PLACES = 500
_RESUME = {
    ResumeBy.GROUP.value: "committed offset",
    ResumeBy.CHECKPOINT.value: "checkpoint",
    ResumeBy.NOTHING.value: "no offset and no checkpoint",
}


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """One partition of a group; `stored` is the document, the rest is made for people."""

    stored: dict[str, Any]
    age_s: float | None

    @property
    def name(self) -> str:
        """The partition on the source."""
        return f"{self.stored['topic']}-{self.stored['partition']}"

    @property
    def word(self) -> str:
        """The readiness as a word."""
        return WORDS[Readiness(self.stored["readiness"])]

    @property
    def severity(self) -> Severity:
        return SEVERITIES[Readiness(self.stored["readiness"])]

    @property
    def is_exact(self) -> bool:
        """Whether the certified range is one offset."""
        return self.stored["lo"] is not None and self.stored["lo"] == self.stored["hi"]

    @property
    def mm2_is_too_old(self) -> bool:
        """Whether MirrorMaker 2 says that the offset is older than all it keeps."""
        return bool(self.stored["mm2"] == TOO_OLD)

    @property
    def reread(self) -> str:
        """Records that are reprocessed when the group resumes without a plan."""
        return span_of(*(self.stored["reread"] or (None, None)))

    @property
    def skipped(self) -> str:
        """Records that would be skipped then; empty for none."""
        lo, hi = self.stored["skipped"] or (0, 0)
        return span_of(lo, hi) if hi else ""

    @property
    def resume_by(self) -> str:
        """Where the current target offset comes from."""
        return _RESUME[self.stored["resume_by"]]

    @property
    def reason(self) -> str:
        """Why the checkpoint is not exact."""
        return reason_text(CheckpointReason(self.stored["reason"]))

    @property
    def obstacles(self) -> list[str]:
        """The obstacles of the partition, as sentences."""
        return [TEXTS[Obstacle(word)][0] for word in self.stored["obstacles"]]

    @property
    def evidence(self) -> str:
        """The offset syncs that prove the certified range."""
        return ", ".join(
            f"{up:,} \N{RIGHTWARDS ARROW} {down:,}" for up, down in self.stored["evidence"]
        )


def partition_rows_of(row: GroupReadiness, now: datetime) -> list[PartitionRow]:
    """Return the partitions of a group, worst first; no more than a page can hold."""
    now_ms = int(now.timestamp() * 1000)
    places = [PartitionRow(one, _age_s(one["checkpoint_at_ms"], now_ms)) for one in row.partitions]
    places.sort(
        key=lambda one: (
            -Readiness(one.stored["readiness"]).rank,
            one.stored["topic"],
            one.stored["partition"],
        )
    )
    return places[:MOST_PLACES]


def _age_s(at_ms: int | None, now_ms: int) -> float | None:
    return None if at_ms is None else max(now_ms - at_ms, 0) / 1000

"""The tables of failovers: which columns, how they sort, what they mean."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet
from django.utils import timezone

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.replication.failover.models import (
    EXPIRED,
    SHOWN_STATES,
    VERDICTS,
    FailoverState,
    PlanState,
)
from jobs.numbers import format_count

REREAD = (
    "Upper bound of the records that the group reads again: from the offset that is set to the proven upper "
    "bound. A dash: unknown."
)
AT_RISK = "Records that are not on the destination yet. They are lost if their cluster is lost."
EXACT = (
    "Partitions whose target offset has only one possible value. The others have a range, and may still "
    "repeat no record."
)


def _plans_in_state(rows: QuerySet[Any], state: str) -> QuerySet[Any]:
    oldest = timezone.now() - timedelta(seconds=settings.FAILOVER_EVIDENCE_S)
    is_expired = Q(state=PlanState.READY, applied_at=None, read_at__lt=oldest)
    if state == EXPIRED:
        return rows.filter(is_expired)
    return rows.filter(state=state).exclude(is_expired)


PLANS = Table(
    (
        Column(
            "state",
            "State",
            "state",
            csv="shown_state",
            template="replication/failover/cells/plan_state.html",
        ),
        Column("name", "Plan", "name", template="replication/failover/cells/plan_name.html"),
        Column("direction", "Direction", "direction"),
        Column("group_count", "Groups", "group_count", numeric=True, format=format_count),
        Column("blocked_count", "Blocked", "blocked_count", numeric=True, format=format_count),
        Column(
            "reread_most",
            "Records reprocessed (max)",
            "reread_most",
            numeric=True,
            definition=REREAD,
            format=format_count,
        ),
        Column("read_at", "Clusters queried", "read_at", template="replication/cells/ago.html"),
        Column("applied_at", "Applied", "applied_at", template="replication/cells/ago.html"),
        Column("created_by.username", "Created by"),
        Column("created_at", "Created", "created_at", template="replication/cells/ago.html"),
    ),
    search=("name",),
    filters={"state": Choice("State", SHOWN_STATES, _plans_in_state)},
    default_sort="-created_at",
)

GROUPS = Table(
    (
        Column(
            "verdict", "Pre-checks", "verdict", template="replication/failover/cells/verdict.html"
        ),
        Column("group", "Group", "group", template="replication/failover/cells/group.html"),
        Column("item_count", "Partitions", "item_count", numeric=True, format=format_count),
        Column(
            "exact_count",
            "Exact offsets",
            "exact_count",
            numeric=True,
            definition=EXACT,
            format=format_count,
        ),
        Column(
            "reread_most",
            "Records reprocessed (max)",
            "reread_most",
            numeric=True,
            definition=REREAD,
            format=format_count,
        ),
        Column(
            "at_risk",
            "Not replicated yet (records)",
            "at_risk",
            numeric=True,
            definition=AT_RISK,
            format=format_count,
        ),
        Column("state", "State", "state", template="replication/failover/cells/done.html"),
        Column("type", "Type", "type", is_hidden=True),
        Column("message", "Message", is_hidden=True),
    ),
    search=("group", "message"),
    filters={"verdict": Choice("Pre-checks", VERDICTS, equals("verdict"))},
    default_sort="group",
    name="groups",
)

RUNS = Table(
    (
        Column("state", "State", "state", template="replication/failover/cells/run_state.html"),
        Column("kind", "Kind", "kind", template="replication/failover/cells/run_kind.html"),
        Column("done_count", "Groups", "done_count", numeric=True, format=format_count),
        Column("bad_count", "Failed or refused", "bad_count", numeric=True, format=format_count),
        Column("requested_by.username", "Requested by"),
        Column("created_at", "Requested", "created_at", template="replication/cells/ago.html"),
        Column("finished_at", "Ended", "finished_at", template="replication/cells/ago.html"),
        Column("error", "Error", is_hidden=True),
    ),
    search=("error",),
    filters={"state": Choice("State", FailoverState.choices, equals("state"))},
    default_sort="-created_at",
    name="runs",
)

OUTCOMES = Table(
    (
        Column("state", "State", "state", template="replication/failover/cells/outcome.html"),
        Column("group", "Group", "group"),
        Column("message", "Message", template="replication/failover/cells/message.html"),
        Column("at", "Ended", "at", template="replication/cells/ago.html"),
    ),
    search=("group", "message"),
    default_sort="group",
)

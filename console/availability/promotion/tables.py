"""Tables of promotions and drills: columns, sort order, help texts."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from console.availability.advice.models import ObserverEvent
from console.availability.drills.models import DrillKind, DrillState
from console.availability.promotion.models import ActionState, Actor, Mode
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from jobs.numbers import format_span_ms

CELL = "availability/promotion/cells/"
EXPECTED = "Reference measurement on Kafka 4.3.1; a dash: not measured."
TOOK = "From the first request until the ISR showed the effect."


def _action(row: Any) -> str:
    return reverse("availability:promotion-action", args=[row.cluster.alias, row.pk])


def _policy(row: Any) -> str:
    return reverse("availability:promotion-policy", args=[row.cluster.alias, row.pk])


def _drill(row: Any) -> str:
    return reverse("availability:drill", args=[row.cluster.alias, row.pk])


def _actor(word: str) -> str:
    return Actor(word).label


def _brokers(row: Any) -> str:
    return ", ".join(map(str, row.allowed_brokers))


POLICIES = Table(
    (
        Column("pattern", "Topics", "pattern", link=_policy),
        Column("kind", "Match", "kind"),
        Column("policy", "Trigger", "policy", template=f"{CELL}trigger.html"),
        Column("mode", "Mode", "mode", template=f"{CELL}mode.html"),
        Column("actor", "Method", "actor", format=_actor),
        Column("allowed_brokers", "Brokers", csv=_brokers, template=f"{CELL}brokers.html"),
        Column("hold_s", "Hold time (s)", "hold_s", numeric=True),
        Column("cooldown_s", "Cooldown (s)", "cooldown_s", numeric=True, is_hidden=True),
        Column("opted_in_by.username", "Enabled by"),
        Column("changed_at", "Changed", "changed_at", template=f"{CELL}ago.html", is_hidden=True),
    ),
    search=("pattern", "note"),
    filters={"mode": Choice("Mode", Mode.choices, equals("mode"))},
    default_sort="pattern",
    name="policies",
)

ACTIONS = Table(
    (
        Column("state", "State", "state", template=f"{CELL}state.html"),
        Column("subject", "Subject", "subject", link=_action),
        Column("place", "Partitions", template=f"{CELL}because.html"),
        Column("actor", "Method", "actor", format=_actor),
        Column("is_automatic", "Requested by", csv="is_automatic", template=f"{CELL}who.html"),
        Column("took_ms", "Duration", numeric=True, definition=TOOK, format=format_span_ms),
        Column(
            "expected_ms",
            "Expected",
            "expected_ms",
            numeric=True,
            definition=EXPECTED,
            format=format_span_ms,
        ),
        Column("advised_at", "Advised", "advised_at", template=f"{CELL}ago.html"),
        Column("verified_at", "Promoted", "verified_at", template=f"{CELL}ago.html"),
        Column("ended_at", "Ended", "ended_at", template=f"{CELL}ago.html"),
        Column("why", "Reason", template=f"{CELL}why.html", is_hidden=True),
    ),
    search=("subject", "topic", "why"),
    filters={
        "state": Choice("State", ActionState.choices, equals("state")),
        "actor": Choice("Method", Actor.choices, equals("actor")),
    },
    default_sort="-advised_at",
    per_page=20,
    name="actions",
)

EVENTS = Table(
    (
        Column("at", "Time", "at", template=f"{CELL}moment.html"),
        Column("kind", "Event", "kind", template=f"{CELL}event.html"),
        Column("topic", "Topic", "topic"),
        Column("partition", "Partition", "partition", numeric=True),
        Column("broker", "Broker", "broker", numeric=True, is_id=True),
        Column("lasted_ms", "Time in the ISR", numeric=True, format=format_span_ms),
        Column("sentence", "Details", template=f"{CELL}sentence.html"),
    ),
    search=("topic", "sentence"),
    filters={"kind": Choice("Event", ObserverEvent.KINDS, equals("kind"))},
    default_sort="-at",
    per_page=20,
    name="events",
)

DRILLS = Table(
    (
        Column("state", "State", "state", template=f"{CELL}drill_state.html"),
        Column("kind", "Drill", "kind", link=_drill, format=lambda word: DrillKind(word).label),
        Column("title", "Title", "title"),
        Column("good_count", "Passed", "good_count", numeric=True),
        Column("bad_count", "Failed", "bad_count", numeric=True),
        Column("topic", "Test topic", "topic", is_hidden=True),
        Column("requested_by.username", "Requested by"),
        Column("created_at", "Requested", "created_at", template=f"{CELL}ago.html"),
        Column("finished_at", "Ended", "finished_at", template=f"{CELL}ago.html"),
    ),
    search=("title", "topic"),
    filters={
        "kind": Choice("Drill", DrillKind.choices, equals("kind")),
        "state": Choice("State", DrillState.choices, equals("state")),
    },
    default_sort="-created_at",
    name="drills",
)

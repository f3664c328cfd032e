"""The table of schedules."""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.tables.table import Choice, Column, Table
from console.schedules.models import Outcome, Schedule
from console.schedules.starters import label_of


def _kind(schedule: Schedule) -> str:
    return label_of(schedule.kind)


def _page(schedule: Schedule) -> str:
    return reverse("schedules:detail", args=[schedule.pk])


def _came_to(rows: QuerySet[Schedule], outcome: str) -> QuerySet[Schedule]:
    return rows.filter(last_outcome=outcome)


def _enabled(rows: QuerySet[Schedule], value: str) -> QuerySet[Schedule]:
    return rows.filter(is_enabled=value == "yes")


SCHEDULES = Table(
    (
        Column("name", "Name", "name", link=_page),
        Column("kind", "Starts", "kind", csv=_kind, format=label_of),
        Column("cron", "Times", "cron", template="schedules/cells/times.html"),
        Column(
            "next_at",
            "Next",
            "next_at",
            definition="In the time zone of the schedule.",
            template="schedules/cells/next.html",
        ),
        Column("last_outcome", "Last time", "last_at", template="schedules/cells/last.html"),
        Column("created_by.username", "In the name of"),
        Column("time_zone", "Time zone", "time_zone", is_hidden=True),
    ),
    search=("name", "kind", "last_sentence"),
    filters={
        "outcome": Choice("Last time", Outcome.choices, _came_to),
        "enabled": Choice("Enabled", [("yes", "Enabled"), ("no", "Disabled")], _enabled),
    },
    default_sort="name",
)

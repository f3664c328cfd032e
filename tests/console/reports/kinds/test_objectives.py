"""Objectives in reports: the steps of the period, of the subjects that the report is about."""

from datetime import UTC, datetime, timedelta

import pytest

from console.reports.kinds import availability, disaster_recovery, replication
from console.reports.kinds.asked import Asked
from jobs.objectives.objective import Window
from jobs.reports.kinds.clusters.availability import build as build_availability
from jobs.reports.kinds.flows.disaster_recovery import build as build_disaster_recovery
from jobs.reports.kinds.flows.replication import build as build_replication
from jobs.reports.periods import Period
from tests.console.checks.making import make_objective, make_step
from tests.console.making import make_cluster, make_flow, make_user

pytestmark = pytest.mark.django_db
START, END = datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC)
DAY = Period(START, END)
LONG_BEFORE = START - timedelta(days=30)


def asked(*subjects, now=END):
    return Asked(DAY, subjects, make_user(), now=now)


def rows_of(content):
    return [
        block.rows
        for part in content.sections
        if part.name == "objectives"
        for block in part.blocks
        if getattr(block, "name", "") == "objectives"
    ]


@pytest.mark.parametrize(
    ("kind", "build", "make"),
    [
        (replication, build_replication, make_flow),
        (disaster_recovery, build_disaster_recovery, make_flow),
        (availability, build_availability, make_cluster),
    ],
    ids=["replication", "disaster recovery", "availability"],
)
def test_a_report_has_the_numbers_of_its_period(kind, build, make):
    subject = make(created_at=LONG_BEFORE)
    row = make_objective(subject)
    make_step(row, int((START - timedelta(seconds=1)).timestamp()), 0, 999)
    make_step(row, int(START.timestamp()), 43_200 - 60, 60)
    make_step(row, int((START + timedelta(hours=12)).timestamp()), 36_000)
    make_step(row, int(END.timestamp()), 0, 999)
    content = build(kind.read(asked(subject)), None)
    name = getattr(subject, "name", None) or subject.alias
    assert rows_of(content) == [
        (
            (name, row.name, 0.999, 79_140 / 79_200, 86_400, 60_000, 7_200_000, "Met"),
        )
    ]  # fmt: skip


def test_an_objective_that_was_set_after_the_period_was_not_measured_in_it():
    flow = make_flow(created_at=LONG_BEFORE)
    make_step(make_objective(flow), int(END.timestamp()), 86_400)
    content = build_replication(replication.read(asked(flow)), None)
    assert rows_of(content)[0][0][3:] == (None, 86_400, None, 86_400_000, "Not measured")


def test_a_report_has_no_objectives_of_other_flows_and_clusters():
    flow, other = (make_flow(name, created_at=LONG_BEFORE) for name in ("mine", "other"))
    make_objective(other), make_objective(flow.source)
    assert replication.read(asked(flow)).objectives == ()
    assert availability.read(asked(flow.target)).objectives == ()


def test_a_period_that_is_not_over_counts_up_to_now():
    cluster = make_cluster()
    make_step(make_objective(cluster), int(START.timestamp()), 3600)
    found = availability.read(asked(cluster, now=START + timedelta(hours=1))).objectives
    assert found[0].window == Window(3600, 3600)

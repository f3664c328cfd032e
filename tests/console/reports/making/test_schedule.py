"""Reports on a schedule: fired once, with the owner's rights."""

from datetime import UTC, datetime

import pytest

from console.frame.errors import ActionRefused
from console.reports.actions import delete_report
from console.reports.models import Report, ReportRun, Trigger
from console.schedules import firing
from console.schedules.actions import create_schedule, run_now
from console.schedules.models import Outcome, Schedule
from jobs.cluster.errors import InvalidFields
from tests.console.making import make_flow
from tests.console.reports.making.worlds import NOW, make_report

pytestmark = pytest.mark.django_db
MONDAY = {"name": "Monday", "kind": "report", "cron": "0 7 * * MON", "time_zone": "Europe/Berlin"}
DUE = datetime(2026, 11, 30, 6, 0, tzinfo=UTC)


@pytest.fixture
def report(operator) -> Report:
    make_flow("orders")
    return make_report(operator, time_zone="Europe/Berlin")


def scheduled(report: Report, person) -> Schedule:
    return create_schedule(MONDAY | {"arguments": {"report": report.pk}}, person, NOW)


def test_on_monday_morning_last_week_is_reported(report, operator):
    schedule = scheduled(report, operator)
    assert firing.fire_due(DUE) == 1
    run = ReportRun.objects.get()
    assert (run.report, run.trigger, run.person) == (report, Trigger.SCHEDULE, operator)
    assert run.period.label == "Mon 23 Nov 2026 to Sun 29 Nov 2026 (Europe/Berlin)"
    schedule.refresh_from_db()
    assert schedule.last_ref == str(run.pk)


def test_two_schedulers_make_one_report(report, operator):
    schedule = scheduled(report, operator)
    assert [firing.fire_time(schedule, DUE) for _ in range(2)] == [True, False]
    assert ReportRun.objects.count() == 1


def test_while_the_last_one_is_made_the_next_time_is_left_out(report, operator):
    scheduled(report, operator)
    firing.fire_due(DUE)
    firing.fire_due(datetime(2026, 12, 7, 6, 0, tzinfo=UTC))
    assert Schedule.objects.get().last_outcome == Outcome.LEFT_OUT
    assert ReportRun.objects.count() == 1


def test_a_report_whose_owner_was_removed_is_not_made_and_the_schedule_says_why(report, admin):
    scheduled(report, admin)
    Report.objects.update(owner=None)
    firing.fire_due(DUE)
    schedule = Schedule.objects.get()
    assert schedule.last_outcome == Outcome.FAILED
    assert "has no account any more" in schedule.last_sentence
    assert not ReportRun.objects.exists()


def test_a_report_for_admins_is_not_made_by_the_schedule_of_an_operator(admin, operator):
    schedule = scheduled(make_report(admin, kind="audit-trail"), operator)
    firing.fire_due(DUE)
    schedule.refresh_from_db()
    assert (schedule.last_outcome, schedule.last_sentence) == (
        Outcome.FAILED,
        f"{operator.username} may not make Weekly.",
    )
    assert not ReportRun.objects.exists()


def test_a_report_for_admins_is_not_made_when_an_operator_runs_the_schedule_of_an_admin(
    admin, operator
):
    schedule = scheduled(make_report(admin, kind="audit-trail"), admin)
    with pytest.raises(ActionRefused, match="may not make Weekly"):
        run_now(schedule.pk, operator, NOW)
    assert not ReportRun.objects.exists()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"report": 4711}, {"report": "1"}, {"report": True}, {"report": 10**30}],
    ids=str,
)
def test_a_schedule_needs_a_report(operator, arguments):
    with pytest.raises(InvalidFields) as refused:
        create_schedule(MONDAY | {"arguments": arguments}, operator, NOW)
    assert list(refused.value.errors) == ["arguments.report"]


def test_the_page_of_a_schedule_says_which_report_it_makes(report, operator, sign_in):
    schedule = scheduled(report, operator)
    page = sign_in(operator).get(f"/schedules/{schedule.pk}/").content.decode()
    assert "Weekly" in page
    assert "Disaster recovery readiness" in page
    Schedule.objects.filter(pk=schedule.pk).update(arguments={"report": 4711})
    assert (
        "not there any more" in sign_in(operator).get(f"/schedules/{schedule.pk}/").content.decode()
    )


def test_deleting_a_report_ends_its_schedule(report, operator):
    scheduled(report, operator)
    delete_report(report.pk, operator)
    assert firing.fire_due(DUE) == 0

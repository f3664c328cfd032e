"""What people do with schedules, and that the trail has it."""

import pytest

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.schedules import actions, firing
from console.schedules.models import Outcome, Schedule
from jobs.cluster.errors import InvalidFields
from tests.console.schedules.making import KIND, NOW, at, make_schedule, refusing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("room")]
VALUES = {
    "name": "Letter",
    "kind": KIND,
    "arguments": {"to": "ada", "colour": "red"},
    "cron": "0  3 * * *",
    "time_zone": "Europe/Berlin",
}


def trail():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "outcome"))


def test_a_schedule_is_made_with_checked_arguments_and_its_next_time(operator):
    actions.create_schedule(VALUES, operator, NOW)
    schedule = Schedule.objects.get()
    assert schedule.arguments == {"to": "ada"}
    assert (schedule.cron, schedule.is_enabled) == ("0 3 * * *", True)
    assert schedule.next_at == at("2026-11-22 02:00")
    assert trail() == [("schedule.create", "done")]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param({"kind": "nothing"}, "kind", id="an unknown kind"),
        pytest.param({"arguments": {}}, "arguments.to", id="what the starter says"),
        pytest.param({"arguments": {"to": "a\0b"}}, "arguments", id="NUL"),
        pytest.param({"arguments": {"to": "a" * 20_001}}, "arguments", id="very long"),
        pytest.param({"cron": "often"}, "cron", id="no cron"),
        pytest.param({"time_zone": "Mars"}, "time_zone", id="no zone"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_kept(operator, changed, field):
    with pytest.raises(InvalidFields) as caught:
        actions.create_schedule(VALUES | changed, operator, NOW)
    assert list(caught.value.errors) == [field]
    assert not Schedule.objects.exists()


def test_a_disabled_schedule_has_no_next_time_and_misses_none(operator, room):
    schedule = make_schedule(operator)
    actions.change_schedule(schedule.pk, {"is_enabled": False}, NOW)
    later = at("2026-11-21 15:01")
    assert firing.fire_due(later) == 0
    actions.change_schedule(schedule.pk, {"is_enabled": True}, later)
    assert Schedule.objects.get().next_at == at("2026-11-21 15:05")
    assert room.started == []
    assert trail() == [("schedule.change", "done")] * 2


def test_another_name_leaves_the_next_time(operator):
    schedule = make_schedule(operator)
    actions.change_schedule(schedule.pk, {"name": "Other"}, at("2026-11-21 12:07"))
    assert Schedule.objects.get().next_at == at("2026-11-21 12:05")


def test_run_now_starts_in_the_name_of_the_caller_and_leaves_the_next_time(operator, admin, room):
    schedule = make_schedule(operator)
    actions.run_now(schedule.pk, admin, NOW)
    assert room.started == [("ada", "ada")]
    schedule.refresh_from_db()
    assert schedule.next_at == at("2026-11-21 12:05")
    fired = schedule.firings.get()
    assert (fired.due_at, fired.by, fired.outcome) == (None, admin, Outcome.STARTED)
    assert trail() == [("schedule.run", "done")]


def test_run_now_is_refused_while_the_last_run_is_live(operator, room):
    schedule = make_schedule(operator)
    actions.run_now(schedule.pk, operator, NOW)
    room.is_going_on = True
    with pytest.raises(ActionRefused, match="still running"):
        actions.run_now(schedule.pk, operator, NOW)
    assert schedule.firings.count() == 1


def test_run_now_says_what_the_starter_says(operator, room):
    room.problem = refusing()
    with pytest.raises(ActionRefused, match="no paper"):
        actions.run_now(make_schedule(operator).pk, operator, NOW)


def test_a_deleted_schedule_is_gone_with_its_firings(operator):
    schedule = make_schedule(operator)
    actions.run_now(schedule.pk, operator, NOW)
    actions.delete_schedule(schedule.pk)
    assert not Schedule.objects.exists()
    with pytest.raises(ActionRefused, match="does not exist any more"):
        actions.delete_schedule(schedule.pk)
    assert trail()[-1] == ("schedule.delete", "done")

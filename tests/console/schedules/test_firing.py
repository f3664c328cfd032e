"""Each run is started once, and its result is stored."""

from datetime import timedelta

import pytest

from console.accounts.models import Role
from console.schedules import firing, starters
from console.schedules.models import Outcome, Schedule
from jobs.cluster.errors import InvalidFields
from tests.console.schedules.making import KIND, NOW, at, make_schedule, refusing

pytestmark = pytest.mark.django_db
DUE = at("2026-11-21 12:05")


@pytest.fixture
def schedule(operator, room):
    return make_schedule(operator)


def newest(schedule):
    return schedule.firings.order_by("-pk").first()


def test_nothing_is_started_before_its_time(schedule, room):
    assert firing.fire_due(DUE - timedelta(seconds=1)) == 0
    assert room.started == []


def test_what_is_due_is_started_in_the_name_of_its_owner(schedule, room):
    assert firing.fire_due(DUE) == 1
    assert room.started == [("otto", "ada")]
    schedule.refresh_from_db()
    assert (schedule.last_outcome, schedule.last_ref) == (Outcome.STARTED, "letter-1")
    assert (schedule.last_at, schedule.last_started_at) == (DUE, DUE)
    assert schedule.next_at == at("2026-11-21 12:10")
    fired = newest(schedule)
    assert (fired.due_at, fired.at, fired.ref, fired.missed) == (DUE, DUE, "letter-1", 0)


def test_a_time_that_two_workers_saw_is_fired_by_one(schedule, room):
    other = Schedule.objects.get(pk=schedule.pk)
    assert firing.fire_time(schedule, DUE)
    assert not firing.fire_time(other, DUE)
    assert len(room.started) == 1


def test_a_schedule_that_was_changed_meanwhile_is_left_to_the_next_look(schedule, room):
    Schedule.objects.filter(pk=schedule.pk).update(cron="0 * * * *")
    assert not firing.fire_time(schedule, DUE)
    assert room.started == []


@pytest.mark.parametrize(
    ("now", "missed", "says"),
    [
        pytest.param("2026-11-21 12:07", 0, "", id="late"),
        pytest.param("2026-11-21 12:10", 1, "1 more run was missed", id="one"),
        pytest.param("2026-11-21 14:02", 23, "23 more runs were missed", id="many"),
    ],
)
def test_missed_times_are_fired_as_one_and_counted(schedule, room, now, missed, says):
    assert firing.fire_due(at(now)) == 1
    assert firing.fire_due(at(now)) == 0
    assert len(room.started) == 1
    assert newest(schedule).missed == missed
    assert says in newest(schedule).sentence
    schedule.refresh_from_db()
    assert schedule.next_at > at(now)


def test_while_the_last_run_is_live_a_time_is_left_out_and_both_are_named(schedule, room):
    firing.fire_due(DUE)
    room.is_going_on = True
    firing.fire_due(at("2026-11-21 12:10"))
    assert len(room.started) == 1
    schedule.refresh_from_db()
    assert (schedule.last_outcome, schedule.last_ref) == (Outcome.LEFT_OUT, "letter-1")
    assert "12:05 UTC is still running" in schedule.last_sentence
    assert "12:10 UTC was skipped" in schedule.last_sentence
    room.is_going_on = False
    firing.fire_due(at("2026-11-21 12:15"))
    assert newest(schedule).outcome == Outcome.STARTED


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        pytest.param(refusing(), "There is no paper.", id="a refusal"),
        pytest.param(InvalidFields({"to": "No such address."}), "No such address", id="arguments"),
        pytest.param(ZeroDivisionError(), "see the worker log", id="a fault"),
    ],
)
def test_what_cannot_be_started_has_failed_and_says_why(schedule, room, problem, says):
    room.problem = problem
    assert firing.fire_due(DUE) == 1
    schedule.refresh_from_db()
    assert schedule.last_outcome == Outcome.FAILED
    assert says in schedule.last_sentence
    assert schedule.next_at == at("2026-11-21 12:10")


def test_one_schedule_that_fails_does_not_hold_up_another(schedule, room, operator):
    make_schedule(operator, kind="gone", next_at=NOW)
    assert firing.fire_due(DUE) == 2
    assert len(room.started) == 1


@pytest.mark.parametrize("fields", [{"role": Role.VIEWER}, {"is_active": False}], ids=str)
def test_a_person_who_may_not_operate_any_more_starts_nothing(schedule, room, operator, fields):
    type(operator).objects.filter(pk=operator.pk).update(**fields)
    firing.fire_due(DUE)
    assert room.started == []
    assert "otto" in newest(schedule).sentence


def test_a_kind_that_is_not_registered_any_more_is_said(schedule, room):
    starters.forget(KIND)
    firing.fire_due(DUE)
    assert "cannot start jobs of the kind letter" in newest(schedule).sentence


def test_while_crosslog_is_read_only_nothing_is_started(schedule, room, settings):
    settings.CROSSLOG_READ_ONLY = True
    firing.fire_due(DUE)
    assert room.started == []
    assert "read-only" in newest(schedule).sentence


def test_a_zone_that_is_not_known_any_more_is_due_no_more(operator, room):
    schedule = make_schedule(operator, next_at=NOW)
    Schedule.objects.filter(pk=schedule.pk).update(time_zone="Gone/Zone")
    assert firing.fire_due(DUE) == 1
    schedule.refresh_from_db()
    assert schedule.next_at is None


def test_only_the_newest_firings_are_kept(schedule, room):
    for number in range(firing.KEPT_FIRINGS + 3):
        time = firing.Time(NOW + timedelta(minutes=number))
        firing.write_firing(schedule, time, Outcome.STARTED, starters.Started(str(number)))
    kept = schedule.firings.order_by("pk").values_list("ref", flat=True)
    assert (len(kept), kept[0]) == (firing.KEPT_FIRINGS, "3")

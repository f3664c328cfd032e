"""An analysis on a schedule starts again each time, and is refused while the last one is live."""

from datetime import timedelta

import pytest

from console.runs.actions import finish_run, launch_run
from console.runs.models import Run, RunState
from console.schedules import actions, firing
from console.schedules.models import Outcome
from tests.console.making import NOW, StubLauncher, make_cluster
from tests.console.quorum.making import make_log

pytestmark = pytest.mark.django_db
HOURLY = {"name": "Voters", "kind": "analysis", "cron": "0 * * * *", "time_zone": "UTC"}
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def schedule(operator):
    make_log(make_cluster("east"))
    question = {"kind": "quorum-history", "arguments": {"log": "east"}}
    return actions.create_schedule({**HOURLY, "arguments": question}, operator, NOW)


def test_it_asks_in_the_name_of_its_maker(schedule, operator):
    firing.fire_due(LATER)
    run = Run.objects.get()
    assert (run.kind, run.requested_by) == ("quorum-history", operator)
    schedule.refresh_from_db()
    assert (schedule.last_outcome, schedule.last_ref) == (Outcome.STARTED, str(run.pk))


def test_a_time_at_which_the_last_one_has_no_answer_is_left_out(schedule, settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    firing.fire_due(LATER)
    firing.fire_due(LATER + timedelta(hours=1))
    schedule.refresh_from_db()
    assert (schedule.last_outcome, Run.objects.count()) == (Outcome.LEFT_OUT, 1)
    run = Run.objects.get()
    launch_run(run.pk, LATER, StubLauncher())
    finish_run(run.pk, RunState.FAILED, LATER)
    firing.fire_due(LATER + timedelta(hours=2))
    assert Run.objects.count() == 2


def test_a_log_that_was_forgotten_is_reported(schedule):
    from console.quorum.models import MetadataLog

    MetadataLog.objects.all().delete()
    firing.fire_due(LATER)
    schedule.refresh_from_db()
    assert schedule.last_outcome == Outcome.FAILED
    assert "no metadata log east" in schedule.last_sentence

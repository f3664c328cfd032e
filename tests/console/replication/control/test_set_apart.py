"""A flow that was at work when slots of its engine died has an application of its own for a day."""

from datetime import timedelta

import pytest

from console.replication.control.reconcile import reconcile_flows, restarts_for_settings
from console.replication.flows.actions import start_flow, stop_flow
from console.replication.flows.models import ReplicationFlow
from console.runs.actions import finish_run
from console.runs.models import Run, RunState
from tests.console.making import NOW, StubLauncher, make_flow, make_run

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
SET_APART = {"error": "A slot died twice while it copied.", "summary": {"set_apart": True}}


@pytest.fixture
def launcher(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    return StubLauncher()


@pytest.fixture
def apart(launcher) -> ReplicationFlow:
    """Return a wanted flow whose first run ended at NOW because it was set apart."""
    flow = make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    end_run(NOW, **SET_APART)
    reconcile_flows(NOW + timedelta(seconds=1), launcher)
    flow.refresh_from_db()
    return flow


def end_run(at, **how):
    finish_run(Run.objects.get(state=RunState.RUNNING).pk, RunState.CRASHED, at, **how)


def engines() -> list[str]:
    """Return the engine of each run, the oldest first."""
    return [run.arguments["flow"]["engine"] for run in Run.objects.order_by("created_at")]


@pytest.mark.parametrize("engine", ["shared", "own"])
def test_a_run_gets_the_engine_of_its_flow(launcher, engine):
    make_flow(is_wanted=True, engine=engine)
    reconcile_flows(NOW, launcher)
    assert engines() == [engine]


def test_the_next_run_has_an_application_of_its_own(apart):
    assert apart.set_apart_at == NOW
    assert (apart.engine, engines()) == ("shared", ["shared", "own"])


def test_its_run_is_not_restarted_when_the_day_is_over(apart, launcher):
    reconcile_flows(NOW + 25 * HOUR, launcher)
    assert Run.objects.get(state=RunState.RUNNING).cancel_requested_at is None


@pytest.mark.parametrize(
    ("after", "engine", "set_apart_at"),
    [
        pytest.param(23 * HOUR, "own", NOW, id="within a day"),
        pytest.param(24 * HOUR, "shared", None, id="after a day"),
    ],
)
def test_a_crash_starts_it_where_it_belongs_at_that_time(
    apart, launcher, after, engine, set_apart_at
):
    end_run(NOW + after - timedelta(minutes=2), error="it broke")
    reconcile_flows(NOW + after - timedelta(minutes=2), launcher)
    reconcile_flows(NOW + after, launcher)
    apart.refresh_from_db()
    assert (engines()[2:], apart.set_apart_at) == ([engine], set_apart_at)


def test_a_person_who_stops_and_starts_it_lets_it_share_its_engine_again(apart, launcher):
    stop_flow(apart)
    start_flow(apart)
    reconcile_flows(NOW + HOUR, launcher)
    assert Run.objects.get(state=RunState.RUNNING).cancel_requested_at == NOW + HOUR
    end_run(NOW + HOUR)
    reconcile_flows(NOW + HOUR, launcher)
    assert engines() == ["shared", "own", "shared"]


@pytest.mark.parametrize(
    ("engine", "is_restarted"),
    [
        pytest.param("own", False, id="own"),
        pytest.param("shared", True, id="it moves into the engine"),
    ],
)
def test_a_run_of_a_version_without_engines_counts_as_an_application_of_its_own(
    engine, is_restarted
):
    flow = make_flow(engine=engine)
    run = make_run(flow)
    del run.arguments["flow"]["engine"]
    assert restarts_for_settings(flow, run) == is_restarted

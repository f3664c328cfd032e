import logging
from datetime import timedelta

import pytest

from console.replication.control.reconcile import reconcile_flows
from console.replication.flows.actions import accept_new_topics, delete_flow, start_flow, stop_flow
from console.replication.flows.models import FlowTopic, ReplicationFlow
from console.runs.actions import finish_run
from console.runs.models import Run, RunState
from jobs.spark.contract import CONTROL, read_json
from jobs.spark.control import ControlFile
from tests.console.making import NOW, StubLauncher, make_flow, make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def launcher(settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    return StubLauncher()


def seconds(number):
    return NOW + timedelta(seconds=number)


def live_runs():
    return Run.objects.filter(state__in=[RunState.QUEUED, RunState.RUNNING])


def test_a_wanted_flow_gets_one_run_with_its_settings(launcher):
    flow = make_flow(is_wanted=True, topic_ids={"orders": "a"})
    reconcile_flows(NOW, launcher)
    run = live_runs().get()
    assert run.arguments == {
        "flow": flow.spec().to_mapping(),
        "topic_ids": {"orders": "a"},
        "reset_topics": [],
    }
    assert len(launcher.started) == 1


def test_an_unwanted_flow_gets_none(launcher):
    make_flow(is_wanted=False)
    reconcile_flows(NOW, launcher)
    assert not Run.objects.exists()


def test_looking_often_keeps_the_one_run(launcher):
    make_flow(is_wanted=True)
    for second in range(5):
        reconcile_flows(seconds(second), launcher)
    assert len(launcher.started) == 1


def test_the_run_of_a_worker_that_died_in_between_is_adopted(launcher):
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    ReplicationFlow.objects.update(run=None)
    reconcile_flows(NOW, launcher)
    flow.refresh_from_db()
    assert (flow.run, launcher.started) == (run, [])


def test_a_flow_that_was_stopped_cancels_its_run(launcher):
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    stop_flow(flow)
    reconcile_flows(NOW, launcher)
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW


def test_changed_settings_restart_the_run(launcher):
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    ReplicationFlow.objects.update(tasks=4)
    reconcile_flows(NOW, launcher)
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW
    finish_run(run.pk, RunState.STOPPED, seconds(1))
    reconcile_flows(seconds(2), launcher)
    assert live_runs().get().arguments["flow"]["tasks"] == 4


def test_changed_live_settings_are_handed_over_and_do_not_restart_the_run(launcher):
    make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    ReplicationFlow.objects.update(topics=["orders", "clicks"], emit_checkpoints_interval_s=5)
    reconcile_flows(seconds(3), launcher)
    assert read_json(launcher.started[0] / CONTROL) == {
        "settings": {"topics": ["orders", "clicks"], "emit_checkpoints_interval_s": 5}
    }
    assert live_runs().get().cancel_requested_at is None


def test_a_run_of_an_earlier_version_is_restarted_for_any_setting(launcher):
    run = make_run(make_flow(is_wanted=True), reported_at=NOW)
    ReplicationFlow.objects.update(topics=["orders", "clicks"])
    reconcile_flows(NOW, launcher)
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW


def test_a_run_knows_what_is_asked_of_it_before_it_begins(launcher):
    class Looking(StubLauncher):
        def start_run(self, spec, run_dir, environment=None):
            self.found = read_json(run_dir / CONTROL), dict(spec.arguments)
            return super().start_run(spec, run_dir, environment)

    looking = Looking()
    flow = make_flow(is_wanted=True, control={"paused": ["orders"]})
    reconcile_flows(NOW, looking)
    control, arguments = looking.found
    assert control == flow.control
    assert set(arguments) == {"flow", "topic_ids", "reset_topics"}


def test_changed_control_is_written_for_the_run_and_does_not_restart_it(launcher):
    make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    ReplicationFlow.objects.update(control={"paused": ["orders"]})
    reconcile_flows(seconds(3), launcher)
    assert read_json(launcher.started[0] / CONTROL) == {"paused": ["orders"]}
    assert live_runs().get().cancel_requested_at is None


def test_control_survives_a_new_run_and_its_restart_counts_as_done_there(launcher):
    asked = {"paused": ["orders"], "restart": {"token": "t", "topics": ["clicks"]}}
    make_flow(is_wanted=True, control=asked)
    reconcile_flows(NOW, launcher)
    finish_run(live_runs().get().pk, RunState.CRASHED, seconds(1))
    reconcile_flows(seconds(2), launcher)
    reconcile_flows(seconds(5), launcher)
    reconcile_flows(seconds(8), launcher)
    control = ControlFile(launcher.started[1])
    assert control.look()
    assert (control.control.restart_token, control.control.paused) == ("t", {"orders"})
    reconcile_flows(seconds(11), launcher)
    assert not control.look()


def test_a_run_that_ended_badly_is_replaced_after_a_wait_that_doubles(launcher):
    flow = make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    finish_run(live_runs().get().pk, RunState.CRASHED, seconds(1), error="it broke")
    reconcile_flows(seconds(1), launcher)
    assert len(launcher.started) == 1
    reconcile_flows(seconds(2), launcher)
    finish_run(live_runs().get().pk, RunState.CRASHED, seconds(3), error="it broke again")
    reconcile_flows(seconds(4), launcher)
    flow.refresh_from_db()
    assert len(launcher.started) == 2
    assert (flow.failures, flow.failure, flow.failing_since) == (2, "it broke again", seconds(1))
    assert flow.next_try_at == seconds(5)


REFUSED = {"summary": {"code": "version_not_offered", "is_final": True}, "error": "too old"}


def refused_flow(launcher) -> ReplicationFlow:
    flow = make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    finish_run(live_runs().get().pk, RunState.FAILED, seconds(1), **REFUSED)
    for second in (2, 100, 10_000):
        reconcile_flows(seconds(second), launcher)
    flow.refresh_from_db()
    return flow


def test_a_run_that_can_never_start_is_not_tried_again(launcher):
    flow = refused_flow(launcher)
    assert len(launcher.started) == 1
    assert (flow.failures, flow.failure, flow.next_try_at) == (1, "too old", None)
    assert flow.is_refused


def test_it_is_tried_again_with_other_settings(launcher):
    refused_flow(launcher)
    ReplicationFlow.objects.update(delivery="at_least_once")
    reconcile_flows(seconds(20_000), launcher)
    assert len(launcher.started) == 2


def test_it_is_tried_again_when_a_person_starts_it(launcher):
    start_flow(refused_flow(launcher))
    reconcile_flows(seconds(20_000), launcher)
    assert len(launcher.started) == 2


def test_the_end_of_a_run_is_counted_once(launcher):
    flow = make_flow(is_wanted=True)
    make_run(flow, state=RunState.CRASHED, finished_at=NOW, error="it broke")
    for _ in range(3):
        reconcile_flows(NOW, launcher)
    flow.refresh_from_db()
    assert flow.failures == 1


def test_a_run_that_works_makes_its_failures_forgotten(launcher):
    flow = make_flow(is_wanted=True, failures=3, failure="it broke", failing_since=NOW)
    make_run(flow, reported_at=NOW)
    reconcile_flows(seconds(61), launcher)
    flow.refresh_from_db()
    assert (flow.failures, flow.failing_since) == (0, None)


def test_starting_again_does_not_wait_for_old_failures(launcher):
    flow = make_flow(failures=9, failure="x", next_try_at=seconds(60))
    start_flow(flow)
    reconcile_flows(NOW, launcher)
    assert len(launcher.started) == 1


def test_a_run_that_cannot_be_started_counts_as_a_failure(launcher):
    launcher.problem = FileNotFoundError("no java")
    flow = make_flow(is_wanted=True)
    reconcile_flows(NOW, launcher)
    reconcile_flows(NOW, launcher)
    flow.refresh_from_db()
    assert flow.failures == 1
    assert "no java" in flow.failure


def test_settings_that_do_not_hold_any_more_are_said_and_tried_again_in_a_minute(launcher):
    flow = make_flow(is_wanted=True, topics=["("])
    reconcile_flows(NOW, launcher)
    flow.refresh_from_db()
    assert "topics" in flow.failure
    assert flow.next_try_at == seconds(60)


def test_deleting_a_running_flow_ends_its_run_first(launcher):
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    assert not delete_flow(flow, NOW)
    reconcile_flows(NOW, launcher)
    run.refresh_from_db()
    assert run.cancel_requested_at == NOW
    finish_run(run.pk, RunState.STOPPED, seconds(1))
    reconcile_flows(seconds(2), launcher)
    assert not ReplicationFlow.objects.exists()


def test_accepting_a_new_topic_restarts_the_run_with_it(launcher):
    flow = make_flow(is_wanted=True, topic_ids={"orders": "old", "clicks": "c"})
    FlowTopic.objects.create(flow=flow, topic="orders", updated_at=NOW)
    run = make_run(flow)
    accept_new_topics(flow, ["orders"])
    reconcile_flows(NOW, launcher)
    finish_run(run.pk, RunState.STOPPED, NOW)
    reconcile_flows(seconds(1), launcher)
    arguments = live_runs().get().arguments
    assert (arguments["topic_ids"], arguments["reset_topics"]) == ({"clicks": "c"}, ["orders"])


def test_a_flow_that_cannot_be_looked_after_does_not_stop_the_others(launcher, caplog):
    caplog.set_level(logging.CRITICAL, "console.replication")
    broken = make_flow("a", is_wanted=True)
    make_run(broken, arguments=None if False else {"flow": 1, "reset_topics": 7})
    make_flow("b", target="north", is_wanted=True)
    reconcile_flows(NOW, launcher)
    assert len(launcher.started) == 1

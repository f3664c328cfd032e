"""The area of crosslog itself: rounds, followers, programs, disk, reports and schedules."""

import uuid
from datetime import timedelta

import pytest

from console.checks.areas.area import Given
from console.checks.areas.crosslog import judge
from console.delivery.models import Channel, Delivery, DeliveryState
from console.frame.processes.liveness import LivenessSigns, Restart
from console.frame.rounds import KINDS
from console.quorum import tasks
from console.quorum.models import QuorumStatus, Source
from console.reports.models import Report, ReportRun, RunState
from jobs.checks.settings import Settings
from tests.console.clusters.making import NOW, make_cluster
from tests.console.quorum.making import make_log, make_status

pytestmark = pytest.mark.django_db
QUORUM = tasks.QUORUMS.name


@pytest.fixture(autouse=True)
def home(tmp_path, settings):
    settings.SIGNS_DIR = tmp_path
    return tmp_path


def judged(memory=None, passed_s=5.0, now=NOW, space=lambda _: (1000, 500)):
    given = Given(now, Settings(), passed_s, memory or {})
    scopes = list(judge(given, space))
    found = {one.code: one for scope in scopes for one in scope.found}
    return found, {code for scope in scopes for code in scope.codes}, given.memory


def late_quorum(**fields):
    values = {"claimed_until": NOW - timedelta(minutes=5)} | fields
    status = make_status(make_log(make_cluster()))
    QuorumStatus.objects.filter(pk=status.pk).update(**values)


def test_rounds_that_no_worker_takes_are_late_after_some_rounds():
    late_quorum()
    found, codes, memory = judged()
    assert ("rounds_late" in found, memory) == (False, {QUORUM: 0.0})
    found, _, memory = judged({QUORUM: 18.0})
    assert found["rounds_late"].subject == QUORUM
    assert found["rounds_late"].since == NOW - timedelta(minutes=5)
    assert memory == {QUORUM: 23.0}
    assert "rounds_late" in codes


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"claimed_until": NOW - timedelta(seconds=30)}, id="due for a moment"),
        pytest.param({"claimed_until": NOW + timedelta(seconds=30)}, id="running"),
        pytest.param({"claimed_until": None, "finished_at": NOW}, id="free, ended just now"),
    ],
)
def test_rounds_that_come_in_time_are_not_late(fields):
    late_quorum(**fields)
    found, _, memory = judged({QUORUM: 100.0})
    assert (found, memory) == ({}, {})


def test_rounds_of_a_disabled_cluster_are_not_late():
    late_quorum()
    QuorumStatus.objects.get().log.cluster.__class__.objects.update(is_enabled=False)
    assert judged({QUORUM: 100.0})[0] == {}


def test_each_kind_of_round_that_rests_says_what_is_overdue():
    for kind in KINDS.values():
        if kind.rounds is not None:
            assert kind.rounds.overdue(NOW) == (0, None)


@pytest.mark.parametrize(
    ("fields", "is_found"),
    [
        pytest.param({}, False, id="followed"),
        pytest.param({"heard_at": NOW - timedelta(minutes=5)}, True, id="silent"),
        pytest.param({"next_offset": 10, "high_watermark": 90_000}, True, id="behind"),
        pytest.param({"heard_at": None, "source": Source.POLL}, False, id="polled"),
    ],
)
def test_a_follower_is_judged_by_its_last_answer_and_its_offset(fields, is_found):
    cluster = make_cluster()
    make_log(cluster, **fields)
    given = Given(NOW, Settings())
    *_, last = judge(given, lambda _: (1000, 500))
    assert (last.scope, set(last.codes)) == (cluster, {"follower_behind"})
    assert bool(last.found) is is_found


def test_the_disk_of_crosslog_is_not_judged_when_it_cannot_be_read():
    def broken(_):
        raise OSError("no volume")

    assert "disk_of_crosslog" in judged(space=lambda _: (1000, 20))[0]
    found, codes, _ = judged(space=broken)
    assert "disk_of_crosslog" not in found.keys() | codes


def test_programs_that_were_restarted_are_found(home):
    signs = LivenessSigns(home)
    signs.note_restart(Restart("flows", NOW - timedelta(minutes=5), 120, "/logs/flows.log"))
    signs.note_restart(Restart("web", NOW, 0, "/logs/web.log", "It was killed by SIGKILL."))
    found, *_ = judged()
    assert found["program_restarted"].subject == "flows"
    assert found["program_crashed"].todo.endswith("Log: web.log.")


def make_report_run(state, minutes, report=None, **fields):
    values = {"kind": "quorum", "name": "Weekly", "period_start": NOW, "period_end": NOW} | fields
    at = NOW - timedelta(minutes=minutes)
    values = {"trigger": "schedule", "created_at": at, "finished_at": at} | values
    return ReportRun.objects.create(id=uuid.uuid4(), state=state, report=report, **values)


@pytest.mark.parametrize(
    ("states", "is_found"),
    [
        pytest.param([RunState.READY, RunState.FAILED], True, id="failed"),
        pytest.param([RunState.FAILED, RunState.READY], False, id="made since"),
        pytest.param([RunState.FAILED, RunState.QUEUED], True, id="the next one is queued"),
    ],
)
def test_a_report_failed_when_its_last_complete_run_did(states, is_found):
    report = Report.objects.create(name="Weekly", kind="quorum", period="week", created_at=NOW)
    for number, state in enumerate(states):
        make_report_run(state, 10 - number, report, error="No data.")
    found, *_ = judged()
    assert ("report_failed" in found) is is_found


@pytest.mark.parametrize(
    ("state", "hours", "is_found"),
    [
        pytest.param(DeliveryState.GAVE_UP, 1, True, id="given up"),
        pytest.param(DeliveryState.REFUSED, 25, False, id="a day ago"),
        pytest.param(DeliveryState.DELIVERED, 1, False, id="delivered"),
    ],
)
def test_deliveries_that_failed_within_a_day_are_found(state, hours, is_found):
    log = [{"at": (NOW - timedelta(hours=hours)).isoformat(), "outcome": state, "sentence": "No."}]
    Delivery.objects.create(
        run=make_report_run(RunState.READY, 2000), channel=Channel.EMAIL, address="a@example.org",
        state=state, created_at=NOW, log=log,
    )  # fmt: skip
    found, *_ = judged()
    assert ("delivery_failed" in found) is is_found

"""Objectives: measured from rows as rounds of the rooms leave them, judged, kept for their time."""

from datetime import timedelta

import pytest

from console.availability.status.models import (
    AvailabilityRound,
    PartitionStatus,
    Rollup,
    SeveritySpan,
)
from console.checks.areas.area import Given
from console.checks.areas.objectives import AREA
from console.checks.round import due_checks, run_checks
from console.findings.models import Finding, Incident
from console.findings.objectives.models import Objective, ObjectiveStep
from console.findings.objectives.queries import list_objectives, with_states
from console.findings.objectives.store import prune, save_steps
from console.replication.flows.models import LagSample
from jobs.checks.settings import Settings
from jobs.objectives.objective import Step
from tests.console.checks.making import NOW, make_objective, make_step
from tests.console.making import make_cluster, make_flow

pytestmark = pytest.mark.django_db
NOW_S = int(NOW.timestamp())
HOUR = timedelta(hours=1)


class Measuring:
    """Rounds of the area alone, whatever the clock says; it keeps what they remember."""

    def __init__(self):
        self.memory = {}

    def at(self, now):
        given = Given(now, Settings(), 5, self.memory)
        list(AREA.judge(given))
        self.memory = given.memory


def judge_at(now=NOW):
    (pk,) = due_checks(now)
    assert run_checks(pk, lambda: now, [AREA])


def sample(flow, start_s, end_s, lag_ms, every_s=30, **fields):
    LagSample.objects.bulk_create(
        LagSample(flow=flow, at_s=NOW_S + at_s, lag_ms=lag_ms, **fields)
        for at_s in range(start_s, end_s, every_s)
    )


def status_at(now):
    (row,) = with_states(list_objectives(), now)
    return row.status


def parts(objective):
    rows = ObjectiveStep.objects.filter(objective=objective)
    return {
        row.at_s - NOW_S: (row.good_s, row.bad_s, round(300 - row.good_s - row.bad_s, 6))
        for row in rows
    }


@pytest.fixture
def flow():
    return make_flow(is_wanted=True, copied_by="mm2")


@pytest.fixture
def cluster():
    """A cluster that was watched from an hour ago until now: orders has 3 partitions, payments 1."""
    found = make_cluster("east")
    AvailabilityRound.objects.create(
        cluster=found, noun="status", source="log", succeeded_at=NOW, log_id=None
    )
    for topic, count in (("orders", 3), ("payments", 1)):
        Rollup.objects.create(cluster=found, kind="topic", name=topic, partitions=count)
        for number in range(count):
            PartitionStatus.objects.create(
                cluster=found, key=f"{topic}:{number}", topic=topic, partition=number, source="log",
                known_since=NOW - HOUR, since=NOW - HOUR, seen_at=NOW,
            )  # fmt: skip
    return found


def span(cluster, topic, number, begin_s, end_s, severity):
    SeveritySpan.objects.create(
        cluster=cluster, key=f"{topic}:{number}", topic=topic, partition=number, source="log",
        severity=severity, began_at=NOW + timedelta(seconds=begin_s),
        ended_at=None if end_s is None else NOW + timedelta(seconds=end_s),
    )  # fmt: skip


def test_an_rpo_is_measured_from_the_samples_of_the_whole_flow(flow):
    objective = make_objective(flow)
    sample(flow, -900, -600, 1_000)
    sample(flow, -600, -300, 61_000)
    sample(flow, -300, 0, None, unknown_count=2)
    sample(flow, -900, 0, 99_000, topic="orders")
    judge_at()
    assert parts(objective) == {-900: (300, 0, 0), -600: (0, 300, 0), -300: (0, 0, 300)}
    status = status_at(NOW)
    assert (status.period.good_s, status.period.bad_s) == (300, 300)


def test_a_lag_of_which_partitions_are_not_known_is_unknown(flow):
    objective = make_objective(flow)
    sample(flow, -300, 0, 1_000, unknown_count=1)
    judge_at()
    assert parts(objective) == {-300: (0, 0, 300)}


def test_a_flow_that_a_person_stopped_is_unknown():
    flow = make_flow(is_wanted=False)
    objective = make_objective(flow)
    sample(flow, -300, 0, 99_000)
    judge_at()
    assert parts(objective) == {-300: (0, 0, 300)}


@pytest.mark.parametrize(
    ("pattern", "counts_as", "bad_s"),
    [
        pytest.param("", "offline", 25, id="no leader, of all four"),
        pytest.param("orders*", "offline", 100 / 3, id="no leader, of three"),
        pytest.param("payments", "offline", 0, id="another topic"),
        pytest.param("orders*", "under_min_isr", 100, id="writes refused as well"),
    ],
)
def test_availability_is_measured_from_the_spans_of_partitions(cluster, pattern, counts_as, bad_s):
    objective = make_objective(cluster, topic_pattern=pattern, counts_as=counts_as)
    span(cluster, "orders", 0, -600, -500, severity=4)
    span(cluster, "orders", 1, -600, -400, severity=3)
    span(cluster, "orders", 2, -600, -500, severity=1)
    judge_at()
    good, bad, unknown = parts(objective)[-600]
    assert (bad, unknown) == (pytest.approx(bad_s), 0)
    assert good == pytest.approx(300 - bad_s)
    assert min(parts(objective)) == -3600


def test_topics_that_are_not_there_are_unknown(cluster):
    objective = make_objective(cluster, topic_pattern="none-*")
    judge_at()
    assert parts(objective)[-300] == (0, 0, 300)


def test_a_cluster_that_was_not_watched_is_measured_when_its_rounds_succeed_again(cluster):
    objective = make_objective(cluster)
    judge_at()
    later = NOW + HOUR
    judge_at(later)
    assert max(parts(objective)) == -300
    AvailabilityRound.objects.update(succeeded_at=later + HOUR)
    judge_at(later + HOUR)
    assert max(parts(objective)) == 6900
    assert sum(map(sum, parts(objective).values())) == 3 * 3600


def test_late_samples_change_steps_that_are_just_over(flow):
    objective = make_objective(flow)
    sample(flow, -300, -150, 1_000)
    judge_at()
    assert parts(objective)[-300][2] > 0
    sample(flow, -150, 60, 1_000)
    judge_at(NOW + timedelta(seconds=60))
    assert parts(objective) == {-300: (300, 0, 0), 0: (60, 0, 240)}


def test_a_step_is_measured_once_a_minute(flow):
    objective = make_objective(flow)
    sample(flow, -300, 0, 1_000)
    judge_at()
    sample(flow, 0, 60, 1_000)
    judge_at(NOW + timedelta(seconds=10))
    assert max(parts(objective)) == -300


@pytest.mark.parametrize(
    "jump", [pytest.param(-HOUR, id="back"), pytest.param(24 * HOUR, id="forward and back")]
)
def test_a_clock_that_was_set_leaves_no_wrong_steps(flow, jump):
    objective = make_objective(flow)
    sample(flow, -7200, 120, 1_000)
    measuring = Measuring()
    for moment in (timedelta(seconds=-120), jump, timedelta(seconds=60), timedelta(seconds=120)):
        measuring.at(NOW + moment)
    found = {at_s: step for at_s, step in parts(objective).items() if at_s <= 0}
    assert found.pop(0) == (120, 0, 180)
    assert set(found.values()) == {(300, 0, 0)}
    status = status_at(NOW + timedelta(seconds=120))
    assert (status.period.bad_s, status.hour.not_measured_s) == (0, 180)


def test_a_long_past_is_measured_in_portions(flow):
    objective = make_objective(flow)
    sample(flow, -3 * 86_400, 0, 1_000, every_s=3600)
    for minute in range(4):
        judge_at(NOW + timedelta(seconds=10 * minute))
    assert min(parts(objective)) == -3 * 86_400
    assert len(parts(objective)) == 3 * 288 + 1


def test_steps_of_a_changed_objective_are_not_written(flow):
    objective = make_objective(flow)
    type(objective).objects.update(changed_at=NOW + HOUR)
    save_steps({objective: [Step(NOW_S, 300, 0)]})
    Objective.objects.all().delete()
    save_steps({objective: [Step(NOW_S, 300, 0)]})
    assert not ObjectiveStep.objects.exists()


def test_a_budget_that_burns_opens_an_incident_of_its_cluster(cluster):
    make_objective(cluster, topic_pattern="orders")
    for number in range(3):
        span(cluster, "orders", number, -1200, None, severity=4)
    for seconds in (0, 5, 10):
        AvailabilityRound.objects.update(succeeded_at=NOW + timedelta(seconds=seconds))
        judge_at(NOW + timedelta(seconds=seconds))
    found = {row.code: row.severity for row in Finding.objects.all()}
    assert found == {"objective_burn": "critical"}
    (row,) = with_states(list_objectives(), NOW)
    assert row.state == "critical"
    assert Incident.objects.get().cluster == cluster
    assert status_at(NOW).hour.bad_s == 1200


def test_findings_end_with_their_objective(cluster):
    objective = make_objective(cluster)
    span(cluster, "orders", 0, -1200, None, severity=4)
    judge_at()
    assert Finding.objects.filter(closed_at=None).exists()
    objective.delete()
    for minutes in (1, 2, 3):
        judge_at(NOW + timedelta(minutes=minutes))
    assert not Finding.objects.filter(closed_at=None).exists()


def test_steps_are_kept_for_35_days(flow):
    objective = make_objective(flow)
    for days in (34, 36):
        make_step(objective, NOW_S - days * 86_400, 300)
    assert prune(NOW) == 1
    assert list(parts(objective)) == [-34 * 86_400]


def test_what_was_before_a_window_does_not_count_in_it(flow):
    objective = make_objective(flow)
    for seconds, bad in ((3600, 100), (3900, 10), (31 * 86_400, 300), (-300, 300)):
        make_step(objective, NOW_S - seconds, 0, bad)
    status = status_at(NOW)
    assert (status.hour.bad_s, status.six_hours.bad_s, status.period.bad_s) == (100, 110, 110)

"""What the replication report reads: figures counted here from the rows, in another way."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from console.accounts.models import AuditEntry
from console.replication.flows.models import LagSample
from console.replication.measurement.series import roll_up
from console.reports.kinds.asked import Asked
from console.reports.kinds.replication import read
from jobs.reports.kinds.flows.replication import build
from jobs.reports.kinds.flows.replication_data import pauses, run_events
from jobs.reports.periods import Period
from tests.console.making import make_flow, make_run, make_user
from tests.console.replication.finding import make_finding

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 23, 7, tzinfo=UTC)
DAY = Period(datetime(2026, 11, 22, tzinfo=UTC), datetime(2026, 11, 23, tzinfo=UTC))
STRANGE = "+\u202e" + "x" * 240


@pytest.fixture
def flow():
    return make_flow(created_at=DAY.start - timedelta(days=30))


def asked(*flows, period=DAY):
    return Asked(period, flows, make_user(), now=NOW)


def at(**span):
    return DAY.start + timedelta(**span)


def sampled(flow, seconds, topic="", lag=0, lag_ms=0, rate=1.0):
    def value(one, second):
        return one(second) if callable(one) else one

    LagSample.objects.bulk_create(
        LagSample(
            flow=flow,
            topic=topic,
            at_s=int(DAY.start.timestamp()) + second,
            lag=value(lag, second),
            lag_ms=value(lag_ms, second),
            rate_per_s=value(rate, second),
        )
        for second in seconds
    )


def test_percentiles_and_the_worst_moment_are_those_of_the_rows(flow):
    chance = random.Random(36)
    values = {second: chance.randrange(10_000) for second in range(0, 86_400, 60)}
    values[120] = None
    sampled(flow, values, lag_ms=values.get)
    sampled(flow, [-60, 86_400], lag_ms=10**9)
    summary = read(asked(flow)).flows[0].lag
    known = sorted(value for value in values.values() if value is not None)
    assert summary.ms.median == known[math.ceil(len(known) / 2) - 1]
    assert summary.ms.p99 == known[math.ceil(len(known) * 0.99) - 1]
    first = min(second for second, value in values.items() if value == known[-1])
    assert (summary.ms.worst, summary.ms.worst_at) == (known[-1], at(seconds=first))
    assert (summary.count, summary.step_s) == (1440, 60)


def test_volume_is_the_rate_of_each_sample_until_the_next_one(flow):
    sampled(flow, [0, 10, 40, 1000], rate={0: 2.0, 10: 3.0, 40: None, 1000: 5.0}.get)
    assert read(asked(flow)).flows[0].lag.replicated == 2 * 10 + 3 * 30 + 5 * 60


def test_time_in_which_no_flow_has_samples_is_a_gap_of_the_section(flow):
    other = make_flow("other", created_at=flow.created_at)
    sampled(flow, [*range(0, 30_000, 60), *range(40_000, 86_400, 60)])
    sampled(other, [*range(0, 35_000, 60), *range(38_000, 86_400, 60)])
    (gap,) = build(read(asked(flow, other)), None).sections[0].gaps
    assert (gap.start, gap.end) == ("2026-11-22T09:43:00.000Z", "2026-11-22T10:33:20.000Z")


def test_a_period_before_the_first_record_has_no_figures(flow):
    content = build(read(asked(flow)), None)
    assert content.verdicts[0].word == "Unknown"
    assert content.sections[0].start is None
    assert read(asked(make_flow("later", created_at=NOW))).flows == ()


def test_topics_have_their_worst_lag_and_a_page_whatever_their_names(flow):
    sampled(flow, range(0, 86_400, 600))
    sampled(flow, range(0, 86_400, 600), STRANGE, lag=lambda second: second, rate=2.0)
    (topic,) = read(asked(flow)).topics
    assert (topic.topic, topic.worst, topic.replicated) == (STRANGE, 85_800, 171_600)
    assert "topic=%2B" in topic.href


def test_a_topic_whose_samples_begin_or_end_within_those_of_the_flow_joined_or_left(flow):
    sampled(flow, range(0, 86_400, 60))
    sampled(flow, range(0, 86_400, 60), "always")
    sampled(flow, range(7_200, 86_400, 60), "new")
    sampled(flow, range(0, 3_601, 60), "gone")
    told = [(one.topic, one.word, one.at) for one in read(asked(flow)).topic_events]
    assert told == [("gone", "Removed", at(hours=1)), ("new", "Added", at(hours=2))]


def test_topics_left_out_are_told_with_their_reason_and_other_drift_apart(flow):
    made = {"opened_at": at(hours=1), "last_seen_at": NOW, "severity": "warning"}
    make_finding(flow, "topic_left_out", topic="loop", sentence="Would loop.", **made)
    make_finding(flow, "config_differs", subject="orders", closed_at=at(hours=2), **made)
    make_finding(flow, "config_differs", subject="clicks", closed_at=NOW, **made)
    make_finding(flow, "retention_loss", **made)
    recorded = read(asked(flow))
    assert [(one.topic, one.reason) for one in recorded.topic_events] == [("loop", "Would loop.")]
    assert [(one.subject, one.closed_at) for one in recorded.drifts] == [
        ("orders", at(hours=2)),
        ("clicks", None),
    ]


def test_runs_of_the_period_and_the_one_before_it_are_read(flow):
    for start, end, state in (
        (at(days=-3), at(days=-2), "CRASHED"),
        (at(days=-1), at(hours=-1), "CRASHED"),
        (at(hours=1), at(hours=2), "STOPPED"),
    ):
        make_run(flow, created_at=start, started_at=start, finished_at=end, state=state)
    recorded = read(asked(flow))
    assert len(recorded.runs) == 2
    assert [one.word for one in run_events(recorded)] == ["Restarted", "Stopped"]


def test_pauses_name_the_people_of_the_audit_trail_of_this_flow_only(flow):
    def entry(action, when, name, before, after, subject=f"flow:{flow.name}", outcome="done"):
        AuditEntry.objects.create(
            at=when,
            action=action,
            actor_name=name,
            subject=subject,
            before=before,
            after=after,
            outcome=outcome,
        )

    paused = {"paused": ["orders"]}
    entry("flow.pause", flow.created_at - timedelta(1), "old", {}, {"paused": ["of before"]})
    entry("flow.pause", at(days=-1), "ada", {}, paused)
    entry("flow.resume", at(hours=1), "eve", paused, {}, outcome="refused")
    entry("flow.resume", at(hours=2), "bob", paused, {})
    entry("flow.pause", at(hours=3), "eve", {}, paused, subject="flow:another")
    entry("flow.stop", at(days=-1), "ada", {}, {})
    recorded = read(asked(flow))
    (pause,) = pauses(recorded)
    assert (pause.by, pause.resumed_by, pause.until) == ("ada", "bob", at(hours=2))
    assert [one.action for one in recorded.steering] == ["flow.pause", "flow.resume"]


def test_crashes_of_tasks_and_totals_come_from_the_flow(flow):
    flow.task_crashes = [int(at(hours=5).timestamp() * 1000), int(NOW.timestamp() * 1000)]
    flow.counted = {"total": {"records": 7, "bytes": 9}}
    found = read(asked(flow)).flows[0]
    assert found.task_crashes == (at(hours=5),)
    assert (found.total_records, found.total_bytes) == (7, 9)


def test_a_period_whose_samples_are_no_longer_kept_is_told_by_hours(flow, settings):
    sampled(flow, range(0, 86_400, 60), lag=lambda n: n % 3600, lag_ms=lambda n: n // 3600, rate=2)
    sampled(flow, range(0, 86_400, 60), "orders", lag=lambda n: n % 3600, rate=3.0)
    by_samples = read(asked(flow))
    roll_up(NOW)
    LagSample.objects.all().delete()
    settings.LAG_RETENTION_H = 24
    by_hours = read(asked(flow))
    lag = by_hours.flows[0].lag
    assert (lag.hours, lag.count, lag.gaps) == (24, 1440, ())
    assert (lag.records.median, lag.records.worst_at) == (3540, at(minutes=59))
    assert (lag.ms.median, lag.ms.p99, lag.ms.worst_at) == (11, 23, at(hours=23))
    assert lag.replicated == by_samples.flows[0].lag.replicated == 86_400 * 2
    assert lag.line.ms == tuple(range(24))
    assert (by_hours.topics, by_hours.topic_events) == (by_samples.topics, ())


def test_what_is_not_rolled_up_yet_and_parts_of_hours_come_from_samples(flow, settings):
    period = Period(at(hours=10, minutes=30), at(hours=20, minutes=30))
    sampled(flow, range(0, 86_400, 60), lag=lambda n: n // 60)
    sampled(flow, range(0, 86_400, 60), "orders", lag=lambda n: n // 60)
    roll_up(at(hours=15, minutes=5))
    LagSample.objects.filter(
        at_s__range=(at(hours=11).timestamp(), at(hours=14).timestamp())
    ).delete()
    settings.LAG_RETENTION_H = 1
    recorded = read(asked(flow, period=period))
    lag = recorded.flows[0].lag
    assert (lag.hours, lag.count, lag.gaps) == (11, 600, ())
    assert (lag.records.worst, lag.records.worst_at) == (1229, at(hours=20, minutes=29))
    assert [(one.samples, one.worst) for one in recorded.topics] == [(600, 1229)]


def test_the_period_before_has_its_hours_and_its_gaps(flow, settings):
    sampled(flow, [*range(-86_400, -50_000, 60), *range(-40_000, 86_400, 60)], lag_ms=7)
    roll_up(NOW)
    roll_up(NOW)
    LagSample.objects.filter(at_s__lt=DAY.start.timestamp()).delete()
    settings.LAG_RETENTION_H = 31
    before = build(read(asked(flow, period=DAY.before())), None).sections[0]
    assert [(gap.start, gap.end) for gap in before.gaps] == [
        ("2026-11-21T10:06:00.000Z", "2026-11-21T12:53:20.000Z")
    ]
    assert read(asked(flow)).flows[0].lag.hours == 0

"""What the disaster recovery report reads: figures counted here from the rows, in another way."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from console.replication.failover.models import FailoverPlan, FailoverRun
from console.replication.flows.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
)
from console.reports.kinds.asked import Asked
from console.reports.kinds.disaster_recovery import read
from jobs.reports.kinds.flows.disaster_recovery import build
from jobs.reports.kinds.flows.recovery import judge
from jobs.reports.periods import Period, named_period
from tests.console.making import make_flow, make_user
from tests.console.replication.audit_runs import DIFFERS, make_audit
from tests.console.replication.finding import make_finding

pytestmark = pytest.mark.django_db
# The last Sunday of October: a week with 169 hours in Berlin.
NOW = datetime(2026, 10, 26, 6, tzinfo=UTC)
WEEK = named_period("last-week", "Europe/Berlin", NOW)
STRANGE = "a/../b \u202e=1+1 " + "x" * 200


@pytest.fixture
def flow():
    return make_flow(created_at=WEEK.start - timedelta(days=30))


def asked(*flows, period=WEEK, now=NOW):
    return Asked(period, flows, make_user(), now=now)


def became(flow, readiness, at, group=""):
    ReadinessChange.objects.create(flow=flow, group=group, at=at, readiness=readiness)


def sampled(flow, moments, group="", step_s=3600, **values):
    """Write a sample at each moment; values may be functions of its number."""
    series = CheckpointSeries.objects.get_or_create(flow=flow, group=group)[0]
    CheckpointSample.objects.bulk_create(
        CheckpointSample(
            series=series,
            step_s=step_s,
            at_s=int(at.timestamp()),
            **{k: v(n) if callable(v) else v for k, v in values.items()},
        )
        for n, at in enumerate(moments)
    )


def hours(start, count):
    return [start + timedelta(hours=n) for n in range(count)]


def test_the_share_of_a_week_with_a_clock_change_is_that_of_its_minutes(flow):
    assert WEEK.span == timedelta(hours=169)
    sampled(flow, hours(WEEK.start, 169))
    became(flow, "ready", WEEK.start - timedelta(days=3))
    became(flow, "blocked", WEEK.start + timedelta(hours=10))
    became(flow, "warning", WEEK.start + timedelta(hours=12))
    became(flow, "ready", WEEK.start + timedelta(hours=13, minutes=30))
    (found,) = judge(read(asked(flow)))
    rows = list(ReadinessChange.objects.order_by("at").values_list("at", "readiness"))
    minutes = [WEEK.start + timedelta(minutes=n) for n in range(169 * 60)]
    words = [[word for at, word in rows if at <= minute][-1] for minute in minutes]
    assert found.share == pytest.approx(words.count("ready") / len(words), abs=1e-6)
    assert found.longest.ms == 3.5 * 3_600_000
    assert found.at_end.word == "Ready"


def test_time_without_samples_does_not_count_and_is_a_gap(flow):
    sampled(flow, [*hours(WEEK.start, 100), *hours(WEEK.start + timedelta(hours=120), 49)])
    became(flow, "ready", WEEK.start)
    became(flow, "blocked", WEEK.start + timedelta(hours=110))
    became(flow, "ready", WEEK.start + timedelta(hours=130))
    recorded = read(asked(flow))
    assert [gap.ms for gap in recorded.flows[0].gaps] == [20 * 3_600_000]
    assert judge(recorded)[0].share == pytest.approx((100 + 39) / 149, abs=1e-6)
    content = build(recorded, None)
    assert content.sections[0].gaps[0].end == "2026-10-23T22:00:00.000Z"


def test_worst_values_and_their_moments_are_the_highest_of_all_samples(flow):
    lost = [(n * 37) % 101 for n in range(169)]
    sampled(flow, hours(WEEK.start, 169), at_risk=lost.__getitem__, at_risk_ms=5, reread=None)
    sampled(flow, hours(WEEK.start, 169), "readers", at_risk=3)
    outside = [WEEK.start - timedelta(hours=1), WEEK.end]
    sampled(flow, outside, at_risk=10_000)
    exposure = read(asked(flow)).flows[0].answers.exposure
    worst = exposure.worst_rpo_records
    assert worst.value == max(lost)
    assert worst.at == WEEK.start + timedelta(hours=lost.index(max(lost)))
    assert exposure.rpo_records == lost[-1]
    assert exposure.worst_reread.value is None
    assert read(asked(flow)).flows[0].groups[0].exposure.rpo_records == 3


def test_the_last_value_is_of_the_last_minute_where_minutes_are_kept(flow):
    sampled(flow, hours(WEEK.start, 169), at_risk=100)
    last = [WEEK.end - timedelta(minutes=n) for n in (3, 2, 1, 0)]
    sampled(flow, last, step_s=60, at_risk=lambda n: n)
    assert read(asked(flow)).flows[0].answers.exposure.rpo_records == 2


def test_a_short_period_is_read_by_minutes_and_what_is_not_rolled_up_yet_as_collected(flow):
    day = Period(NOW - timedelta(hours=2), NOW)
    sampled(flow, [day.start + timedelta(minutes=n) for n in range(90)], step_s=60, at_risk=1)
    raw = [day.start + timedelta(minutes=90, seconds=10 * n) for n in range(180)]
    sampled(flow, raw, step_s=0, at_risk=lambda n: n)
    recorded = read(asked(flow, period=day))
    assert recorded.flows[0].gaps == ()
    assert recorded.flows[0].answers.exposure.worst_rpo_records.at == raw[-1]


def test_a_flow_of_which_nothing_is_recorded_is_unknown(flow):
    content = build(read(asked(flow)), None)
    assert content.verdicts[0].word == "Unknown"
    assert content.sections[0].start is None


def test_before_a_flow_was_created_there_is_nothing_of_it():
    later = make_flow(created_at=NOW)
    assert read(asked(later)).flows == ()
    middle = make_flow("middle", created_at=WEEK.start + timedelta(days=3))
    events = {one.name: one.start for one in build(read(asked(later, middle)), None).sections}
    assert events["exercises"] == "2026-10-21T22:00:00.000Z"


def test_a_group_with_any_name_has_a_page(flow):
    sampled(flow, hours(WEEK.start, 169), STRANGE, at_risk=1)
    became(flow, "ready", WEEK.start, STRANGE)
    content = build(read(asked(flow)), None)
    table = next(
        b for s in content.sections for b in s.blocks if getattr(b, "name", "") == "groups"
    )
    assert table.rows[0][1] == STRANGE
    assert table.hrefs[0].startswith(f"/replication/{flow.pk}/checkpoints/")
    assert json.dumps(table.rows)


def test_a_group_that_was_never_covered_is_left_out(flow):
    became(flow, "not_covered", WEEK.start, "other")
    assert read(asked(flow)).flows[0].groups == ()


def test_the_reason_of_an_answer_that_still_holds_is_the_cause(flow):
    sampled(flow, hours(WEEK.start, 169))
    since = WEEK.start + timedelta(days=5)
    became(flow, "ready", WEEK.start)
    became(flow, "blocked", since)
    told = [{"obstacle": "not_copied", "readiness": "blocked", "text": "Nothing.", "hint": "Look."}]
    common = {"readiness": "blocked", "rank": 4, "evidence": told, "since": since}
    FlowReadiness.objects.create(flow=flow, updated_at=NOW, succeeded_at=NOW, **common)
    place = {"checkpoint_at_ms": int(NOW.timestamp() * 1000)}
    GroupReadiness.objects.create(
        flow=flow, group="readers", updated_at=NOW, checkpoint_count=1, partitions=[place], **common
    )
    recorded = read(asked(flow))
    assert judge(recorded)[0].cause == "Nothing."
    assert [(one.subject, one.sentence) for one in recorded.risks] == [("readers", "Nothing.")]
    assert recorded.flows[0].fresh.newest_checkpoint_at == NOW


def test_risks_are_the_findings_that_were_open_when_the_period_ended(flow):
    inside = WEEK.end - timedelta(days=1)
    made = {"opened_at": inside, "last_seen_at": NOW}
    make_finding(flow, subject="open", **made)
    make_finding(flow, subject="ended later", closed_at=WEEK.end + timedelta(hours=1), **made)
    make_finding(flow, subject="ended", closed_at=WEEK.end - timedelta(hours=1), **made)
    make_finding(flow, subject="later", opened_at=WEEK.end, last_seen_at=NOW)
    make_finding(flow, subject="notice", severity="info", **made)
    assert [one.subject for one in read(asked(flow)).risks] == ["open", "ended later"]


def test_runs_of_plans_that_were_requested_in_the_period_are_told(flow):
    ada = make_user(name="ada")
    plan = FailoverPlan.objects.create(flow=flow, name="monthly", created_at=WEEK.start)
    for at in (WEEK.start - timedelta(1), WEEK.start, WEEK.end):
        FailoverRun.objects.create(
            plan=plan,
            kind="rehearsal",
            state="succeeded",
            created_at=at,
            requested_by=ada,
            groups=["readers"],
        )
    (found,) = read(asked(flow)).exercises
    assert (found.at, found.kind, found.result, found.person) == (
        WEEK.start,
        "Dry run",
        "Succeeded",
        "ada",
    )


def test_only_flows_that_were_asked_for_are_read(flow, django_assert_max_num_queries):
    for n in range(5):
        other = make_flow(f"other {n}", created_at=flow.created_at)
        became(other, "blocked", WEEK.start)
        sampled(other, hours(WEEK.start, 3), "readers", at_risk=1)
    with django_assert_max_num_queries(30):
        assert [one.answers.flow for one in read(asked(flow)).flows] == [flow.name]


def test_the_audit_is_the_one_that_counted_at_the_end_of_the_period(flow):
    make_audit(flow, now=WEEK.end, age=timedelta(days=2), **DIFFERS)
    make_audit(flow, now=WEEK.end, age=-timedelta(hours=1))
    (one,) = read(asked(flow)).audits.audits
    assert (one.word, one.age_ms, one.counts) == (
        "Differs",
        2 * 86_400_000,
        {"missing": 4, "altered": 1},
    )

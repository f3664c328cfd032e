"""Series: each step is the worst of its samples, whenever they are rolled up, pruned and read."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import fmean

import pytest
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from console.availability.status.queries import COUNTS
from console.frame.pages.timerange import TimeRange
from console.frame.series import (
    GAP_STEPS,
    HOUR,
    LATE_S,
    MINUTE,
    RAW,
    floor,
    prune,
    read,
    read_columns,
    roll_up,
    upsert,
)
from console.replication.checkpoints.series import CHECKPOINTS
from console.replication.flows.models import CheckpointSample, CheckpointSeries, LagSample
from console.replication.measurement.queries import LAG
from tests.console.making import make_cluster, make_flow

SPAN_S = 3 * HOUR
NOW = datetime(2026, 11, 28, 12, 7, 13, tzinfo=UTC)
NOW_S = int(NOW.timestamp())
BEGIN_S = NOW_S - SPAN_S


def samples_of(span_s):
    """When each sample was taken, how late it was written, and its value."""
    one = st.tuples(
        st.integers(NOW_S - span_s, NOW_S - 1),
        st.integers(0, LATE_S),
        st.one_of(st.none(), st.integers(0, 9)),
    )
    return st.lists(one, max_size=25, unique_by=lambda one: one[0])


def moments_of(span_s):
    return st.lists(st.integers(NOW_S - span_s, NOW_S), max_size=5)


SAMPLES = samples_of(SPAN_S)
# Samples and moments of work: of hours, or all within some minutes around an hour.
STORIES = st.sampled_from([SPAN_S, 600]).flatmap(
    lambda span_s: st.tuples(samples_of(span_s), moments_of(span_s))
)


def at(at_s):
    return datetime.fromtimestamp(at_s, UTC)


def write(series, at_s, value):
    CheckpointSample.objects.create(series=series, step_s=RAW, at_s=at_s, behind=value)


def make_series():
    return CheckpointSeries.objects.create(flow=make_flow())


def happen(series, samples, moments, work):
    """Write samples when they arrive, and work at some moments; last when the last sample was written."""
    arrivals = [(at_s + late_s, at_s, value) for at_s, late_s, value in samples]
    events = [
        (when, lambda one=(at_s, value): write(series, *one)) for when, at_s, value in arrivals
    ]
    end_s = max([NOW_S, *(when for when, _ in events)])
    events += [(moment, lambda now_s=moment: work(at(now_s))) for moment in (*moments, end_s)]
    for _, happens in sorted(events, key=lambda event: event[0]):
        happens()
    return at(end_s)


def worst(samples, step_s):
    found = {}
    for at_s, _, value in samples:
        known = found.setdefault(floor(at_s, step_s), [])
        known += [] if value is None else [value]
    return {begin: max(known, default=None) for begin, known in sorted(found.items())}


def rows(step_s):
    found = CheckpointSample.objects.filter(step_s=step_s).order_by("at_s")
    return dict(found.values_list("at_s", "behind"))


def values_of(columns, name):
    """Return the values of a chart by their moments, and the moments of its gaps."""
    points = zip(columns["at"], *(columns[one] for one in columns if one != "at"), strict=True)
    gaps = {moment for moment, *values in points if all(value is None for value in values)}
    pairs = zip(columns["at"], columns[name], strict=True)
    return {moment: value for moment, value in pairs if moment not in gaps}, gaps


class AnyOrder(TestCase):
    @settings(max_examples=80, deadline=None)
    @given(story=STORIES)
    def test_steps_are_the_worst_of_their_samples_whenever_these_arrive_and_are_rolled_up(
        self, story
    ):
        samples, moments = story
        now = happen(make_series(), samples, moments, lambda now: roll_up(CHECKPOINTS, now))
        over_s = int(now.timestamp()) - LATE_S
        assert rows(MINUTE) == worst(samples, MINUTE)
        hours = worst(samples, HOUR)
        assert rows(HOUR) == {at_s: hours[at_s] for at_s in hours if at_s + HOUR <= over_s}
        before = list(CheckpointSample.objects.order_by("pk").values())
        roll_up(CHECKPOINTS, now)
        assert list(CheckpointSample.objects.order_by("pk").values()) == before

    @settings(max_examples=40, deadline=None)
    @given(story=STORIES, points=st.integers(1, 600))
    def test_a_chart_has_the_worst_of_the_samples_of_each_step_and_gaps_only_where_none_is(
        self, story, points
    ):
        samples, moments = story
        series = make_series()
        now = happen(series, samples, moments, lambda now: roll_up(CHECKPOINTS, now))
        whole = TimeRange(at(BEGIN_S), now)
        step_s, _ = read(CHECKPOINTS, whole, now, points, series=series)
        columns = read_columns(CHECKPOINTS, whole, now, points, series=series)
        told = dict(zip(columns["at"], columns["behind"], strict=True))
        wanted = worst(samples, step_s)
        begins = list(wanted)
        gaps = {one + step_s for one, after in pairwise(begins) if after - one > GAP_STEPS * step_s}
        assert told == {**wanted, **dict.fromkeys(gaps)}
        assert columns["at"] == sorted(told)

    @settings(max_examples=20, deadline=None)
    @given(samples=SAMPLES, firsts=st.lists(st.booleans(), min_size=7, max_size=7))
    def test_no_order_of_roll_ups_and_pruning_loses_what_is_within_its_retention(
        self, samples, firsts
    ):
        turns = iter(firsts)

        def work(now):
            tasks = [prune, roll_up] if next(turns) else [roll_up, prune]
            for task in tasks:
                task(CHECKPOINTS, now)

        with self.settings(CHECKPOINT_RAW_H=1):
            moments = range(BEGIN_S, NOW_S - 1, HOUR // 2)
            now = happen(make_series(), samples, moments, work)
        kept_s = int(now.timestamp()) - HOUR
        assert rows(MINUTE) == worst(samples, MINUTE)
        assert set(rows(RAW)) == {at_s for at_s, _, _ in samples if at_s >= floor(kept_s, MINUTE)}

    @settings(max_examples=20, deadline=None)
    @given(samples=SAMPLES, points=st.integers(1, 600))
    def test_lag_has_the_mean_rate_of_the_samples_of_each_step(self, samples, points):
        flow = make_flow()
        LagSample.objects.bulk_create(
            LagSample(flow=flow, at_s=at_s, lag=value, rate_per_s=late_s)
            for at_s, late_s, value in samples
        )
        whole = TimeRange(at(BEGIN_S), NOW)
        step_s, _ = read(LAG, whole, NOW, points, flow=flow)
        columns = read_columns(LAG, whole, NOW, points, flow=flow)
        rates, _ = values_of(columns, "rate_per_s")
        highest, _ = values_of(columns, "lag")
        assert highest == worst(samples, step_s)
        for begin, rate in rates.items():
            inside = [late_s for at_s, late_s, _ in samples if floor(at_s, step_s) == begin]
            assert rate == pytest.approx(fmean(inside))


@pytest.mark.django_db
def test_a_line_is_drawn_for_each_name_and_samples_are_written_over():
    cluster = make_cluster()
    where = {"cluster": cluster, "kind": "broker"}
    for offline in (1, 4):
        upsert(
            [
                COUNTS.samples(**where, name=name, step_s=10, at_s=NOW_S - 13, offline=offline)
                for name in ("1", "2")
            ]
        )
    step_s, found = read(COUNTS, TimeRange(NOW - timedelta(hours=1), NOW), NOW, **where)
    lines = {name: row["offline"] for name, row in found[floor(NOW_S - 13, step_s)].items()}
    assert (lines, COUNTS.samples.objects.count()) == ({"1": 4, "2": 4}, 2)


@pytest.mark.django_db
def test_a_task_that_was_away_for_hours_rolls_up_all_that_is_kept():
    series = make_series()
    for at_s in range(BEGIN_S, NOW_S, 600):
        write(series, at_s, 1)
    assert roll_up(CHECKPOINTS, NOW) == len(rows(MINUTE)) + len(rows(HOUR))
    assert len(rows(MINUTE)) == len(range(BEGIN_S, NOW_S, 600))


@pytest.mark.django_db
def test_a_late_sample_counts_in_its_minute_though_the_next_roll_up_is_late_too():
    series, minute = make_series(), floor(NOW_S, MINUTE)
    write(series, minute - 50, 1)
    roll_up(CHECKPOINTS, at(minute))
    write(series, minute - 70, 5)
    roll_up(CHECKPOINTS, at(minute + 125))
    assert rows(MINUTE) == {minute - 120: 5, minute - 60: 1}


@pytest.mark.django_db
def test_minutes_are_written_when_the_clock_was_set_back():
    series = make_series()
    CheckpointSample.objects.create(series=series, step_s=MINUTE, at_s=floor(NOW_S + HOUR, MINUTE))
    write(series, NOW_S - 1, 3)
    roll_up(CHECKPOINTS, NOW)
    assert rows(MINUTE)[floor(NOW_S - 1, MINUTE)] == 3


@pytest.mark.django_db
def test_samples_older_than_their_retention_are_rolled_up_as_long_as_they_are_there():
    series = make_series()
    with override_settings(CHECKPOINT_RAW_H=1):
        write(series, BEGIN_S, 2)
        roll_up(CHECKPOINTS, at(BEGIN_S + 1))
        write(series, BEGIN_S + MINUTE, 5)
        roll_up(CHECKPOINTS, NOW)
    assert list(rows(MINUTE).values()) == [2, 5]


@pytest.mark.django_db
def test_a_short_range_of_which_only_minutes_are_kept_is_one_line():
    series = make_series()
    begin_s = floor(NOW_S, MINUTE) - 3 * 86_400
    for at_s in range(begin_s, begin_s + HOUR, MINUTE):
        CheckpointSample.objects.create(series=series, step_s=MINUTE, at_s=at_s, behind=at_s)
    past = TimeRange(at(begin_s), at(begin_s + HOUR))
    assert read_columns(CHECKPOINTS, past, NOW, series=series)["behind"] == list(
        range(begin_s, begin_s + HOUR, MINUTE)
    )

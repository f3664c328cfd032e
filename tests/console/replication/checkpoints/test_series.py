"""Checkpoint lag over time: written, rolled up without counting twice, read at the step that fits."""

from datetime import timedelta

import pytest

from console.frame.pages.timerange import TimeRange
from console.frame.series import roll_up, tiers_for
from console.replication.checkpoints import series
from console.replication.checkpoints.series import CHECKPOINTS
from console.replication.flows.models import CheckpointSample, CheckpointSeries
from tests.console.making import NOW, make_flow
from tests.console.replication.readiness_world import judged, make_world

pytestmark = pytest.mark.django_db
NOW_S = int(NOW.timestamp())
READERS = ("readers", "", -1)


def put(flow, key=series.OF_FLOW, **behind_at):
    """Write raw samples: seconds before NOW (as s30=5) and the records behind."""
    row = CheckpointSeries.objects.get_or_create(
        flow=flow, group=key[0], topic=key[1], partition=key[2]
    )[0]
    for name, behind in behind_at.items():
        CheckpointSample.objects.create(
            series=row, step_s=0, at_s=NOW_S - int(name[1:]), behind=behind
        )


def steps(step_s):
    rows = CheckpointSample.objects.filter(step_s=step_s).order_by("at_s")
    return list(rows.values_list("at_s", "behind"))


def last(**span):
    return TimeRange(NOW - timedelta(**span), NOW)


def read(flow, time_range, key=series.OF_FLOW, points=600):
    columns = series.read_series(flow, key, time_range, NOW, points)
    return dict(zip(columns["at"], columns["behind"], strict=True))


def test_a_round_writes_a_sample_of_the_flow_of_each_group_and_of_each_partition():
    judged(make_world())
    keys = CheckpointSeries.objects.order_by("group", "topic").values_list(
        "group", "topic", "partition"
    )
    assert list(keys) == [("", "", -1), ("readers", "", -1), ("readers", "orders", 0)]
    assert set(CheckpointSample.objects.values_list("behind", "reread", "rank")) == {(0, 0, 1)}


def test_a_minute_holds_the_worst_of_its_samples_however_often_it_is_rolled_up():
    flow = make_flow()
    put(flow, s110=5, s80=9, s20=1)
    roll_up(CHECKPOINTS, NOW)
    roll_up(CHECKPOINTS, NOW)
    assert steps(60) == [(NOW_S - 120, 9), (NOW_S - 60, 1)]


def test_a_sample_that_comes_late_still_counts_in_its_minute():
    flow = make_flow()
    put(flow, s110=5)
    roll_up(CHECKPOINTS, NOW)
    put(flow, s70=8)
    roll_up(CHECKPOINTS, NOW + timedelta(seconds=60))
    assert steps(60) == [(NOW_S - 120, 8)]


def test_an_hour_is_rolled_up_when_it_is_over():
    flow = make_flow()
    row = CheckpointSeries.objects.create(flow=flow)
    hour = NOW_S - NOW_S % 3600
    for at_s, behind in ((hour - 1800, 3), (hour - 60, 7), (hour + 60, 100)):
        CheckpointSample.objects.create(series=row, step_s=60, at_s=at_s, behind=behind)
    roll_up(CHECKPOINTS, NOW)
    assert steps(3600) == [(hour - 3600, 7)]


@pytest.mark.parametrize(
    ("step_s", "age_s", "tiers"),
    [
        pytest.param(10, 3600, [0], id="an hour, as collected"),
        pytest.param(300, 86_400, [60, 0], id="a day by minutes, its end as collected"),
        pytest.param(7200, 30 * 86_400, [3600, 60, 0], id="a month by hours"),
        pytest.param(10, 3 * 86_400, [60, 0], id="fine, but only minutes are kept for so long"),
        pytest.param(
            60, 30 * 86_400, [3600, 60, 0], id="fine, but only hours are kept for so long"
        ),
    ],
)
def test_the_coarsest_step_that_is_fine_enough_and_kept_is_read(step_s, age_s, tiers):
    assert tiers_for(CHECKPOINTS, step_s, NOW_S - age_s, NOW_S) == tiers


def test_what_is_not_rolled_up_yet_comes_from_the_samples_and_nothing_is_told_twice():
    flow = make_flow()
    put(flow, s400=5, s350=6, s20=9)
    row = CheckpointSeries.objects.get()
    CheckpointSample.objects.create(series=row, step_s=60, at_s=NOW_S - 420, behind=5)
    CheckpointSample.objects.create(series=row, step_s=60, at_s=NOW_S - 360, behind=6)
    found = read(flow, last(hours=24), points=600)
    assert [behind for behind in found.values() if behind is not None] == [6, 9]


def test_a_time_without_samples_breaks_the_line():
    flow = make_flow()
    put(flow, s3000=1, s60=2)
    assert list(read(flow, last(hours=1)).values()) == [1, None, 2]


def test_a_series_that_was_never_written_is_empty():
    assert read(make_flow(), last(hours=1), READERS) == {}


def test_reading_costs_a_few_queries_whatever_the_range(django_assert_max_num_queries):
    flow = make_flow()
    put(flow, s20=9)
    with django_assert_max_num_queries(6):
        read(flow, last(days=30))


def test_old_samples_go_and_empty_series_with_them():
    flow = make_flow()
    put(flow, s20=9)
    put(flow, READERS, s90000=9)
    series.prune(NOW)
    assert list(CheckpointSeries.objects.values_list("group", flat=True)) == [""]
    assert CheckpointSample.objects.count() == 1


def test_small_charts_show_the_last_hours_of_each_group():
    flow = make_flow()
    put(flow, READERS, s110=5)
    roll_up(CHECKPOINTS, NOW)
    assert series.recent(flow, ["readers", "others"], NOW) == {"readers": [5], "others": []}

from datetime import timedelta

import pytest

from console.frame.pages.timerange import TimeRange
from console.replication.flows.models import LagSample
from console.replication.measurement.series import MOST_POINTS, prune, read_series, roll_up
from console.runs.models import RunState
from tests.console.making import NOW, make_flow, make_run

pytestmark = pytest.mark.django_db
END_S = int(NOW.timestamp())


def sample(flow, ago_s, lag=1, topic="", **fields):
    return LagSample(flow=flow, topic=topic, at_s=END_S - ago_s, lag=lag, lag_ms=lag, **fields)


def hour():
    return TimeRange.from_query({"range": "1h"}, NOW)


def test_a_series_is_columns_in_order_of_time():
    flow = make_flow()
    LagSample.objects.bulk_create([sample(flow, 10, 5), sample(flow, 20, 4), sample(flow, 30, 3)])
    series = read_series(flow, "", hour())
    assert (series["lag"], series["at"]) == ([3, 4, 5], sorted(series["at"]))


def test_peaks_survive_the_cut_to_fewer_points():
    flow = make_flow()
    LagSample.objects.bulk_create(
        sample(flow, ago, 900 if ago == 300 else 1) for ago in range(0, 3600, 5)
    )
    series = read_series(flow, "", hour(), points=20)
    assert len(series["at"]) <= 21
    assert max(series["lag"]) == 900


def test_a_long_range_has_at_most_600_points(django_assert_num_queries):
    flow = make_flow()
    LagSample.objects.bulk_create(sample(flow, ago) for ago in range(0, 86_400, 30))
    with django_assert_num_queries(4):
        series = read_series(flow, "", TimeRange.from_query({"range": "24h"}, NOW))
    assert 100 < len(series["at"]) <= MOST_POINTS + 1


def test_a_stretch_without_samples_breaks_the_line():
    flow = make_flow()
    LagSample.objects.bulk_create([sample(flow, 3000), sample(flow, 10)])
    assert read_series(flow, "", hour())["lag"] == [1, None, 1]


def test_a_topic_has_its_own_series():
    flow = make_flow()
    LagSample.objects.bulk_create([sample(flow, 10, 7, "orders"), sample(flow, 10, 9)])
    assert read_series(flow, "orders", hour())["lag"] == [7]


def test_runs_are_marks_on_the_chart():
    flow = make_flow()
    make_run(
        flow,
        created_at=NOW - timedelta(minutes=9),
        started_at=NOW - timedelta(minutes=9),
        finished_at=NOW - timedelta(minutes=5),
        state=RunState.CRASHED,
    )
    labels = [event["label"] for event in read_series(flow, "", hour())["events"]]
    assert labels == ["Run started", "Run crashed"]


def test_old_samples_are_pruned_by_whole_hours_once_their_hour_was_rolled_up(settings):
    settings.LAG_RETENTION_H = 1
    flow = make_flow()
    LagSample.objects.bulk_create([sample(flow, ago) for ago in (4400, 4200, 3500)])
    assert prune(NOW) == 0
    roll_up(NOW)
    assert prune(NOW) == 1
    assert LagSample.objects.order_by("at_s")[0].at_s == END_S - 4200

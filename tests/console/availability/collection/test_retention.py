"""Counts rolled up and forgotten in time; ongoing intervals are kept."""

from datetime import timedelta

import pytest

from console.availability.collection import retention
from console.availability.status.broker_models import CountSample
from console.availability.status.models import OutOfSyncSpan, SeveritySpan
from console.availability.status.queries import COUNTS
from console.frame.series import roll_up
from tests.console.making import NOW, make_cluster

pytestmark = pytest.mark.django_db
NOW_S = int(NOW.timestamp())


def sample(cluster, seconds_ago, step_s=10, **counts):
    at_s = NOW_S - seconds_ago
    values = {"kind": "cluster", "step_s": step_s, "at_s": at_s - at_s % step_s} | counts
    return CountSample.objects.create(cluster=cluster, **values)


def test_a_minute_and_an_hour_tell_their_worst_step():
    cluster = make_cluster("east")
    for seconds, offline in ((7150, 1), (7140, 5), (7130, 0)):
        sample(cluster, seconds, offline=offline)
    roll_up(COUNTS, NOW)
    assert CountSample.objects.filter(step_s=60).order_by("-offline")[0].offline == 5
    assert CountSample.objects.get(step_s=3600).offline == 5


def test_rolling_up_twice_changes_nothing():
    cluster = make_cluster("east")
    sample(cluster, 7200, offline=1)
    sample(cluster, 100, offline=2)
    roll_up(COUNTS, NOW)
    before = list(CountSample.objects.order_by("pk").values())
    roll_up(COUNTS, NOW)
    assert list(CountSample.objects.order_by("pk").values()) == before


def test_a_late_step_still_counts_for_its_minute():
    cluster = make_cluster("east")
    sample(cluster, 100, offline=1)
    roll_up(COUNTS, NOW)
    sample(cluster, 110, offline=4)
    roll_up(COUNTS, NOW + timedelta(seconds=10))
    assert max(CountSample.objects.filter(step_s=60).values_list("offline", flat=True)) == 4


def test_each_step_is_kept_for_its_time(settings):
    settings.AVAILABILITY_RAW_H, settings.AVAILABILITY_MINUTES_D = 1, 7
    cluster = make_cluster("east")
    sample(cluster, 3700), sample(cluster, 3700, 60), sample(cluster, 100)
    retention.prune(NOW)
    left = CountSample.objects.order_by("at_s").values_list("step_s", flat=True)
    assert list(left) == [60, 10]


def test_stretches_are_forgotten_when_they_ended_long_ago_and_never_while_they_go_on(settings):
    settings.AVAILABILITY_HISTORY_D = 30
    cluster = make_cluster("east")
    long_ago = NOW - timedelta(days=40)
    values = {
        "cluster": cluster, "topic": "orders", "partition": 0, "source": "log",
        "began_at": long_ago,
    }  # fmt: skip
    for key, ended in (("a", None), ("b", long_ago)):
        SeveritySpan.objects.create(key=key, severity=1, ended_at=ended, **values)
        OutOfSyncSpan.objects.create(key=key, broker=1, ended_at=ended, **values)
    retention.prune(NOW)
    for model in (SeveritySpan, OutOfSyncSpan):
        assert [row.key for row in model.objects.all()] == ["a"]

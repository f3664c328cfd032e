"""Charts of counts: a rise is drawn when it happened, never before its cause."""

from datetime import timedelta
from itertools import pairwise

import pytest

from console.availability.status import series
from console.availability.status.broker_models import CountSample
from console.frame.pages.timerange import TimeRange
from jobs.availability.status.tally import ScopeKind
from tests.console.availability.collection.test_from_log import NOW, story, take_in  # noqa: F401  a fixture

pytestmark = pytest.mark.django_db


def hour(story):  # noqa: F811
    return TimeRange(story.at(3600), story.at(0))


def risen(told, name):
    """Return the moments at which a line rises, and to what."""
    steps = list(zip(told["at"], told[name], strict=True))
    return [
        (at, value)
        for (_, before), (at, value) in pairwise(steps)
        if before is not None and value is not None and value > before
    ]


@pytest.fixture
def incident(story):  # noqa: F811
    """Two partitions lose broker 3 seven seconds after a step began, and one its leader a second later."""
    story.topic(partitions=2)
    story.partition("orders", 0, 143, 1, 2, cause="isr_shrink", broker=3)
    story.partition("orders", 1, 142, 1, 2, cause="isr_shrink", broker=3)
    story.partition("orders", 1, 141, cause="leader_lost")
    take_in(story)
    assert int(story.at(150).timestamp()) % 10 == 0
    return story


@pytest.mark.parametrize("points", [600, 60], ids=["finest", "coarse"])
def test_a_rise_is_drawn_when_it_happened(incident, points):
    told = series.read_counts(incident.cluster, hour(incident), NOW, points)
    at = {seconds: int(incident.at(seconds).timestamp()) for seconds in (141, 142)}
    assert risen(told, "under_replicated") == [(at[142], 2)]
    assert risen(told, "offline") == [(at[141], 1)]
    assert told["at"] == sorted(set(told["at"]))


def test_brokers_rise_with_the_cluster(incident):
    told = series.read_parts(
        incident.cluster, ScopeKind.BROKER, "offline", hour(incident), NOW, 600
    )
    assert risen(told, "3") == [(int(incident.at(141).timestamp()), 1)]


def test_what_nobody_saw_begin_rises_where_its_step_begins(story):  # noqa: F811
    begin = int(story.at(150).timestamp())
    for number, count in enumerate((0, 5)):
        CountSample.objects.create(
            cluster=story.cluster, kind="cluster", step_s=10, at_s=begin + 10 * number,
            rf_below_min=count,
        )  # fmt: skip
    time_range = TimeRange(story.at(200), story.at(200) + timedelta(seconds=150))
    told = series.read_counts(story.cluster, time_range, NOW, 600)
    assert risen(told, "rf_below_min") == [(begin + 10, 5)]

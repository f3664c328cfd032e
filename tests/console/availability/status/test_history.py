"""What a partition was like, and what is unknown: lanes and counts never bridge a gap of the log."""

from datetime import timedelta

import pytest

from console.availability.collection import collect
from console.availability.status.history import read_history
from console.availability.status.models import PartitionStatus, PolledMoment
from console.availability.status.timelines import draw_partition
from console.frame.pages.timerange import TimeRange
from tests.console.availability.making import NOW, Story, describe_topic, finish_round

pytestmark = pytest.mark.django_db
HOUR = TimeRange(NOW - timedelta(hours=1), NOW, "1 h")


@pytest.fixture
def story():
    """The leader was lost 1,000 s ago, records from 800 to 500 s ago are missing, then all was healthy."""
    story = Story()
    story.brokers()
    describe_topic(story.cluster)
    finish_round(story.cluster, NOW)
    story.topic("orders")
    story.partition("orders", 0, 1000, cause="leader_lost")
    story.log.gaps = [
        {
            "from": 9,
            "to": 20,
            "from_at": story.at(800).isoformat(),
            "to_at": story.at(500).isoformat(),
        }
    ]
    story.log.save(update_fields=["gaps"])
    story.partition("orders", 0, 400, 1, 2, 3)
    collect.take_in(story.cluster.pk, lambda: NOW)
    return story


def told(story):
    return read_history(PartitionStatus.objects.get(cluster=story.cluster), HOUR)


def polled(story, seconds):
    state = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1}
    row = PartitionStatus.objects.get(cluster=story.cluster)
    PolledMoment.objects.create(
        cluster=story.cluster, key=row.key, at=story.at(seconds), state=state, cause="polled"
    )


def lane_of(story, number):
    row = PartitionStatus.objects.get(cluster=story.cluster)
    lane = draw_partition(row, read_history(row, HOUR), {}, HOUR, NOW).rows[number]
    bars = sorted(lane.bars, key=lambda bar: bar.start)
    return [(bar.segment.word, *((NOW - t).seconds for t in (bar.start, bar.end))) for bar in bars]


@pytest.mark.parametrize(
    ("number", "before", "after"),
    [
        pytest.param(0, "Offline", "Offline", id="its state"),
        pytest.param(1, "No leader", "No leader", id="who led"),
        pytest.param(2, "Out of sync", "Out of sync", id="a replica"),
    ],
)
def test_a_lane_is_unknown_where_records_are_missing(story, number, before, after):
    lane = lane_of(story, number)
    assert lane[1:4] == [(before, 1000, 800), ("Unknown", 800, 500), (after, 500, 400)]


def test_time_of_which_nobody_knows_is_not_counted_as_leaderless(story):
    assert told(story).leaderless_s(HOUR.start, HOUR.end) == 300


def test_from_the_first_poll_on_a_gap_of_the_log_is_known(story):
    polled(story, 600)
    polled(story, 550)
    assert told(story).unknown == [(story.at(800), story.at(600))]
    assert lane_of(story, 1)[2:4] == [("Unknown", 800, 600), ("Broker 1", 600, 0)]


def test_a_gap_that_ends_nowhere_yet_is_not_drawn(story):
    story.log.gaps = [{"from": 9, "to": 20, "from_at": story.at(800).isoformat(), "to_at": None}]
    story.log.save(update_fields=["gaps"])
    assert told(story).unknown == []


def test_the_page_and_the_api_say_what_is_unknown(story, sign_in, viewer):
    row = PartitionStatus.objects.get(cluster=story.cluster)
    visitor = sign_in(viewer)
    start, end = (f"{NOW - t:%Y-%m-%dT%H:%M:%SZ}" for t in (timedelta(hours=1), timedelta()))
    query = f"?from={start}&to={end}"
    page = visitor.get(f"/availability/east/partitions/orders/0/{query}").content.decode()
    assert "lane--unknown" in page
    answer = visitor.get(f"/api/v1/availability/partitions/{row.pk}/history/{query}").json()
    assert [one["from_at"] for one in answer["unknown"]] == [f"{story.at(800):%Y-%m-%dT%H:%M:%SZ}"]

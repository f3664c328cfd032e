"""Crashes of a flow in the last day: counted, with the time of the last one, wherever the flow is shown."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.replication.control.crashes import MOST_KEPT, Crashes, task_crashes, with_crashes
from console.runs.models import RunState
from tests.console.making import NOW, count_queries, make_flow, make_run

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def crashed(flow, at: datetime, **fields):
    return make_run(flow, **({"state": RunState.CRASHED, "finished_at": at} | fields))


def crashes_of(flow, now: datetime = NOW) -> Crashes:
    return with_crashes([flow], now)[0].crashes


def test_runs_and_tasks_that_crashed_within_a_day_count():
    flow = make_flow(task_crashes=[ms(NOW - 25 * HOUR), ms(NOW - HOUR)])
    crashed(flow, NOW - 2 * HOUR)
    crashed(flow, NOW - 30 * HOUR)
    assert crashes_of(flow) == Crashes(2, NOW - HOUR)


@pytest.mark.parametrize(
    "state",
    [RunState.SUCCEEDED, RunState.STOPPED, RunState.FAILED],
    ids=["succeeded", "stopped", "failed"],
)
def test_a_run_that_ended_in_order_is_no_crash(state):
    flow = make_flow()
    crashed(flow, NOW - HOUR, state=state)
    assert crashes_of(flow) == Crashes()


def test_crashes_of_another_flow_do_not_count():
    flow = make_flow("a")
    crashed(make_flow("b", target="b"), NOW - HOUR)
    assert crashes_of(flow) == Crashes()


def test_what_a_run_tells_again_is_kept_once_and_for_a_day():
    old, first, second = (ms(NOW - hours * HOUR) for hours in (25, 2, 1))
    assert task_crashes([old, first], [first, second], NOW) == [first, second]
    many = [ms(NOW) - number for number in range(MOST_KEPT + 5)]
    assert len(task_crashes([], many, NOW)) == MOST_KEPT


@pytest.mark.parametrize(
    ("count", "words"),
    [(1, "Restarted once in 24 h, crashed"), (2, "Restarted 2 times in 24 h, last crash")],
    ids=["once", "twice"],
)
@pytest.mark.parametrize("where", ["flow", "overview"])
def test_a_restarted_flow_says_how_often_and_when_it_crashed(as_viewer, where, count, words):
    at = timezone.now().replace(microsecond=0) - HOUR
    flow = make_flow(is_wanted=True)
    for number in range(count):
        crashed(flow, at - number * HOUR)
    make_run(flow)
    pages = {"flow": reverse("replication:detail", args=[flow.pk]), "overview": "/"}
    text = as_viewer.get(pages[where]).content.decode()
    assert words in text
    assert at.astimezone(UTC).isoformat()[:19] in text


def test_a_flow_that_is_down_after_a_crash_was_not_restarted(as_viewer):
    flow = make_flow(is_wanted=True, failures=1)
    crashed(flow, timezone.now() - HOUR)
    text = as_viewer.get(reverse("replication:detail", args=[flow.pk])).content.decode()
    assert "Crashed once in 24 h, last" in text
    assert "Restarted" not in text


def test_the_api_tells_crashes_of_one_flow_and_in_the_list(as_viewer):
    at = timezone.now().replace(microsecond=0) - HOUR
    flow = make_flow(task_crashes=[ms(at)])
    one = as_viewer.get(f"/api/v1/flows/{flow.pk}/").json()["crashes"]
    assert (one["count"], datetime.fromisoformat(one["last_at"])) == (1, at)
    assert as_viewer.get("/api/v1/flows/").json()["results"][0]["crashes"] == one


@pytest.mark.parametrize("path", ["/", "/api/v1/flows/"], ids=["overview", "api"])
def test_crashes_of_many_flows_ask_no_more_than_those_of_one(as_viewer, path):
    crashed(make_flow("a"), timezone.now() - HOUR)
    one = count_queries(as_viewer, path)
    for name in "bc":
        crashed(make_flow(name, target=name), timezone.now() - HOUR)
    assert count_queries(as_viewer, path) == one

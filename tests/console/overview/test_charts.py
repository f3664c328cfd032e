from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import ClusterGrant
from console.availability.status.broker_models import CountSample
from console.frame.pages.timerange import TimeRange
from console.overview.charts import read_flows, read_partitions
from console.replication.flows.models import LagSample
from tests.console.making import NOW, make_cluster, make_flow, make_user
from tests.console.overview.making import make_incident

pytestmark = pytest.mark.django_db
HOUR = TimeRange(NOW - timedelta(hours=1), NOW)
AT_S = int(NOW.timestamp()) - 600


def sample_lag(flow, ago_s, lag_ms, rate):
    LagSample.objects.create(
        flow=flow, topic="", at_s=AT_S - ago_s, lag=1, lag_ms=lag_ms, rate_per_s=rate
    )


def sample_counts(cluster, offline, under_replicated):
    CountSample.objects.create(
        cluster=cluster,
        kind="cluster",
        step_s=10,
        at_s=AT_S,
        offline=offline,
        under_replicated=under_replicated,
    )


def test_the_lag_is_that_of_the_worst_flow_and_rates_are_summed():
    for name, lag_ms, rate in [("a", 100, 10.0), ("b", 900, 5.0)]:
        sample_lag(make_flow(name), 0, lag_ms, rate)
    columns = read_flows(make_user(), HOUR, NOW, 600)
    assert (columns["lag_ms"], columns["rate_per_s"]) == ([900], [15.0])


def test_a_flow_that_is_measured_less_often_keeps_its_value():
    slow, fast = make_flow("slow"), make_flow("fast")
    sample_lag(slow, 30, 900, 1.0)
    for ago_s in (20, 10, 0):
        sample_lag(fast, ago_s, 100, 1.0)
    columns = read_flows(make_user(), HOUR, NOW, 600)
    assert columns["lag_ms"] == [900, 900, 900, 900]
    assert columns["rate_per_s"][-1] == 2.0


def test_a_flow_without_samples_for_long_does_not_count():
    gone, fast = make_flow("gone"), make_flow("fast")
    sample_lag(gone, 600, 900, 1.0)
    for ago_s in range(0, 601, 10):
        sample_lag(fast, ago_s, 100, 1.0)
    assert read_flows(make_user(), HOUR, NOW, 600)["lag_ms"][-1] == 100


def test_partitions_are_summed_over_clusters():
    for alias, offline, under in [("east", 2, 30), ("west", 1, 4)]:
        sample_counts(make_cluster(alias), offline, under)
    columns = read_partitions(make_user(), HOUR, NOW, 600)
    assert (columns["offline"], columns["under_replicated"]) == ([3], [34])


def test_without_samples_a_chart_is_empty():
    assert read_flows(make_user(), HOUR, NOW, 600)["at"] == []


def test_incidents_are_events_of_the_charts():
    make_incident(cluster=make_cluster())
    (event,) = read_partitions(make_user(), HOUR, NOW, 600)["events"]
    assert (event["kind"], event["label"]) == ("Incident", "Broker 3 of east is down")


def test_only_clusters_and_flows_that_can_be_seen_count():
    flow = make_flow()
    sample_lag(flow, 0, 900, 1.0)
    sample_counts(flow.source, 2, 3)
    sample_counts(flow.target, 5, 7)
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=flow.source, role="viewer")
    assert read_flows(person, HOUR, NOW, 600)["lag_ms"] == []
    assert read_partitions(person, HOUR, NOW, 600)["offline"] == [2]


@pytest.mark.parametrize("chart", ["flows", "partitions"])
@pytest.mark.parametrize(
    "query", ["", "range=6h&points=60", "range=x&points=x", "points=99999999999"]
)
def test_the_address_of_a_chart_answers(sign_in, viewer, chart, query):
    sample_counts(make_cluster(), 1, 1)
    CountSample.objects.update(at_s=int(timezone.now().timestamp()) - 60)
    answer = sign_in(viewer).get(f"{reverse('overview:series', args=[chart])}?{query}")
    assert answer.status_code == 200
    assert set(answer.json()) >= {"at", "events"}

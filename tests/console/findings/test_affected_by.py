"""Pages of subjects name the incidents that affect them, and charts mark them."""

from datetime import timedelta

import pytest

from console.clusters.models import Group, GroupOffset
from console.findings.incidents.models import Subject
from console.findings.incidents.queries import affecting, during, list_marks
from console.findings.models import Kind
from console.frame.pages.timerange import TimeRange
from jobs.checks.clusters import UNREACHABLE
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.findings.rows import make_row
from tests.console.making import NOW, make_cluster, make_flow, make_topic, make_user
from tests.console.quorum.making import make_log
from tests.console.streams.making import make_streams

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def titles(found):
    return [one.title for one in found]


@pytest.fixture
def east():
    return make_cluster()


def partitions_of(east, name, **finding):
    row = make_incident("partitions", name, cluster=east, title=name)
    values = {"kind": Kind.CHECKS, "code": "offline", "subject": name, "evidence": {}} | finding
    make_row(east, incident=row, **values)
    return row


def test_a_cluster_is_affected_by_incidents_of_itself_its_brokers_and_its_quorum(viewer, east):
    for kind in (Subject.CLUSTER, Subject.BROKER, Subject.PARTITIONS):
        make_incident(kind, cluster=east, title=kind)
    make_incident("quorum", log=make_log(east), title="quorum")
    make_incident("group", cluster=east, title="group")
    make_incident("flow", flow=make_flow(), title="flow")
    make_incident("broker", "4", cluster=make_cluster("west"), title="west")
    make_incident("broker", "5", cluster=east, title="past", **resolved())
    found = titles(affecting(viewer, cluster=east))
    assert sorted(found) == ["broker", "cluster", "partitions", "quorum"]


@pytest.mark.parametrize(
    "finding",
    [
        pytest.param({"topic": "orders"}, id="its topic"),
        pytest.param({"evidence": {"examples": ["orders-0", "x-1"]}}, id="a list of partitions"),
        pytest.param({"evidence": {"examples": "x-1, orders-12"}}, id="a text of partitions"),
        pytest.param({"evidence": {"topics_named": ["orders"]}}, id="a list of topics"),
    ],
)
def test_a_topic_is_affected_by_partitions_that_a_finding_names(viewer, east, finding):
    partitions_of(east, "named", **finding)
    partitions_of(east, "other", topic="x")
    partitions_of(east, "longer", evidence={"examples": ["orders-new-3"]})
    (one,) = affecting(viewer, cluster=east, topic="orders")
    assert (one.title, one.is_of_cluster) == ("named", False)


def test_a_topic_is_affected_by_a_broker_as_one_of_its_cluster(viewer, east):
    make_incident(cluster=east)
    (one,) = affecting(viewer, cluster=east, topic="orders")
    assert one.is_of_cluster


def test_a_group_is_affected_by_its_own_incident_and_those_of_its_topics(viewer, east):
    group = Group.objects.create(cluster=east, group_id="billing", changed_at=NOW)
    GroupOffset.objects.create(group=group, topic="orders", partition=0, changed_at=NOW)
    partitions_of(east, "of orders", topic="orders")
    partitions_of(east, "of others", topic="x")
    make_incident("group", "billing", cluster=east, title="own")
    make_incident("group", "other", cluster=east, title="other")
    assert sorted(titles(affecting(viewer, cluster=east, group="billing"))) == ["of orders", "own"]


def test_a_flow_is_affected_by_its_findings_and_clusters_that_cannot_be_reached(viewer, east):
    flow = make_flow()
    make_incident("flow", flow=flow, title="own")
    make_row(flow, incident=make_incident(cluster=east, title="of a finding"))
    make_incident("broker", "9", cluster=east, title="a broker")
    make_incident("cluster", "e", cluster=east, title="unreachable", check_id=UNREACHABLE.id)
    found = titles(affecting(viewer, flow=flow))
    assert sorted(found) == ["of a finding", "own", "unreachable"]


def test_a_quorum_is_affected_by_its_own_and_its_brokers(viewer, east):
    log = make_log(east)
    make_incident("quorum", log=log, title="own")
    make_incident(cluster=east, title="broker")
    make_incident("partitions", cluster=east, title="partitions")
    assert sorted(titles(affecting(viewer, log=log))) == ["broker", "own"]


def test_only_incidents_that_can_be_seen_are_named(east):
    make_incident(cluster=east)
    assert affecting(make_user("none"), cluster=east) == []


def test_a_report_is_affected_by_incidents_that_were_open_in_its_period(viewer, east):
    make_incident(cluster=east, title="inside", **resolved(5))
    make_incident("group", cluster=east, title="still open")
    make_incident("broker", "4", cluster=east, title="before", **resolved(8))
    make_incident("broker", "5", cluster=make_cluster("west"), title="elsewhere")
    found = during(viewer, [east.pk], NOW - timedelta(minutes=6), NOW)
    assert sorted(titles(found)) == ["inside", "still open"]


PAGES = [
    "/clusters/east/",
    "/clusters/east/brokers/",
    "/clusters/east/topics/orders/",
    "/clusters/east/groups/billing/",
    "/availability/east/",
    "/availability/east/brokers/",
    "/quorum/east/",
    "/streams/east/shop/",
]


@pytest.mark.parametrize("path", PAGES)
def test_pages_of_a_cluster_name_its_incident(sign_in, viewer, east, path):
    make_topic(east, "orders")
    make_log(east)
    make_streams(east)
    Group.objects.create(cluster=east, group_id="billing", changed_at=NOW)
    row = make_incident(cluster=east, title="Broker 3 (dc-c) of east is down")
    link = f'<a href="/incidents/{row.pk}/">Broker 3 (dc-c) of east is down</a>'
    for headers in ({}, {"HX-Request": "true"}):
        assert link in sign_in(viewer).get(path, headers=headers).content.decode()


@pytest.mark.parametrize("tab", ["", "partitions/", "findings/", "checkpoints/", "runs/"])
def test_each_tab_of_a_flow_names_its_incident(sign_in, viewer, tab):
    flow = make_flow()
    make_incident("flow", flow=flow, title="orders to west is late")
    text = sign_in(viewer).get(f"/replication/{flow.pk}/{tab}").content.decode()
    assert "orders to west is late</a>" in text


def test_of_many_incidents_the_worst_are_named(sign_in, viewer, east):
    for number in range(7):
        make_incident("broker", str(number), cluster=east, title=f"Broker number {number}")
    text = sign_in(viewer).get("/clusters/east/").content.decode()
    assert text.count("Broker number") == 5
    assert "More incidents" in text


def test_charts_mark_begin_and_end_of_incidents(east):
    row = make_incident(cluster=east, **resolved())
    make_incident("broker", "4", cluster=east, began_at=NOW - 9 * HOUR)
    marks = list_marks(TimeRange(NOW - HOUR, NOW), cluster=east)
    assert [(one.at, one.kind, one.severity) for one in marks] == [
        (row.began_at, "Incident", "critical"),
        (row.ended_at, "Incident resolved", "healthy"),
    ]
    assert {one.url for one in marks} == {f"/incidents/{row.pk}/"}


@pytest.mark.parametrize("of", ["flows/{flow}/series/", "availability/east/series/"])
def test_the_series_of_a_subject_have_its_incidents_as_events(sign_in, viewer, east, of):
    flow = make_flow()
    make_incident(cluster=east, title="of the subject", began_at=NOW - HOUR / 2)
    make_incident("flow", flow=flow, title="of the subject", began_at=NOW - HOUR / 2)
    query = {"from": (NOW - HOUR).isoformat(), "to": NOW.isoformat()}
    found = sign_in(viewer).get(f"/api/v1/{of.format(flow=flow.pk)}", query).json()
    assert [one["label"] for one in found["events"]] == ["of the subject"]

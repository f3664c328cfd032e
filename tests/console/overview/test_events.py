from datetime import timedelta

import pytest
from django.urls import reverse

from console.accounts.models import AuditEntry, ClusterGrant
from console.availability.status.models import OutOfSyncSpan
from console.overview.events import EventKind, moment_of, read_events
from console.quorum.models import MetadataLog
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_user
from tests.console.overview.making import make_incident
from tests.console.quorum.making import (
    make_change,
    make_election,
    make_log,
    make_subject,
    make_voter_set,
    voter,
)

pytestmark = pytest.mark.django_db
AFTER = NOW + timedelta(minutes=1)


def make_absence(cluster, partition, seconds, cause="broker_fenced"):
    OutOfSyncSpan.objects.create(
        cluster=cluster,
        key=f"orders:{partition}:{cause}",
        topic="orders",
        partition=partition,
        source="log",
        began_at=NOW + timedelta(seconds=seconds),
        cause=cause,
        broker=3,
    )


def make_audited(action, seconds, flow, **fields):
    AuditEntry.objects.create(
        at=NOW + timedelta(seconds=seconds),
        actor_name="ada",
        action=action,
        subject=f"flow:{flow.name}",
        **fields,
    )


def make_all():
    """Make something of most kinds, on east and between east and west."""
    flow = make_flow()
    log = make_log(flow.source)
    broker = make_subject(log, "broker", "3", broker=3, name="broker 3")
    make_change(broker, 60, 50, {}, broker=3, cause="broker_fenced")
    config = make_subject(log, "config", "TOPIC:orders:x", name="topic orders: retention.ms")
    make_change(config, 61, 40, {"value": "1"}, cause="set")
    make_election(log, 70, 30, 2)
    make_voter_set(log, 80, 20, voter(1), added=["4"])
    make_absence(flow.source, 0, -49)
    make_audited("flow.pause", -10, flow)
    make_incident(cluster=flow.source, began_at=NOW - timedelta(seconds=48))
    return flow


@pytest.fixture
def as_viewer(sign_in, viewer):
    return sign_in(viewer)


def texts(**asked):
    return [one.text for one in read_events(make_user(), AFTER, 50, **asked)[0]]


def test_events_of_all_rooms_are_listed_newest_first():
    make_all()
    found = texts()
    assert found == [
        "Flow orders to west was paused by ada.",
        "Voters of east changed: added 4.",
        found[2],
        "Incident opened: Broker 3 of east is down",
        "Config topic orders: retention.ms of east was set.",
        "Broker 3 of east left the ISR of 1 partition. Cause: broker fenced.",
        "Broker 3 of east was fenced.",
    ]
    assert found[2].startswith("Controller 2 of east was elected: epoch ")


@pytest.mark.parametrize("kind", [one.value for one in EventKind])
def test_events_are_filtered_by_kind(kind):
    make_all()
    assert {one.kind for one in read_events(make_user(), AFTER, 50, kind)[0]} <= {kind}


def test_events_are_filtered_by_cluster():
    make_all()
    assert texts(alias="west") == ["Flow orders to west was paused by ada."]


def test_isr_shrinks_of_a_broker_with_one_cause_are_one_event_per_minute():
    east = make_cluster("east")
    for partition in range(30):
        make_absence(east, partition, partition / 10)
    make_absence(east, 0, 4, cause="isr_shrink")
    make_absence(east, 0, 61, cause="polled")
    found = [one.text for one in read_events(make_user(), NOW + timedelta(hours=1), 50)[0]]
    assert found == [
        "Broker 3 of east left the ISR of 1 partition. Cause: polled.",
        "Broker 3 of east left the ISR of 1 partition. Cause: ISR shrink.",
        "Broker 3 of east left the ISR of 30 partitions of a topic. Cause: broker fenced.",
    ]


def test_a_resolved_incident_is_an_event_with_its_duration():
    ended = NOW - timedelta(seconds=1)
    began = ended - timedelta(seconds=224)
    make_incident(cluster=make_cluster(), state="resolved", began_at=began, ended_at=ended)
    first = texts()[0]
    assert first == "Incident resolved after 3\u00a0m\u00a044\u00a0s: Broker 3 of east is down"


def test_what_was_refused_is_no_event():
    make_audited("flow.pause", -10, make_flow(), outcome="refused")
    assert texts() == []


def test_only_events_of_clusters_that_can_be_seen_are_listed():
    make_all()
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("west"), role="viewer")
    assert read_events(person, AFTER, 50)[0] == []


def test_pages_by_time_list_every_event_once():
    flow = make_flow()
    for number in range(25):
        make_audited("flow.pause", -(number // 2), flow)
    seen, until = [], AFTER
    while until is not None:
        found, until = read_events(make_user(), until, 4)
        seen += [one.id for one in found]
    assert len(seen) == len(set(seen)) == 25


def test_more_events_of_one_second_than_a_page_has_do_not_end_the_pages():
    flow = make_flow()
    for _ in range(9):
        make_audited("flow.pause", -5, flow)
    make_audited("flow.resume", -9, flow)
    found, until = read_events(make_user(), AFTER, 4)
    assert found
    assert [one.text for one in read_events(make_user(), until, 4)[0]] == [
        "Flow orders to west was resumed by ada."
    ]


def test_the_permanent_address_of_each_event_highlights_it(as_viewer, viewer):
    make_all()
    for event in read_events(viewer, AFTER, 50)[0]:
        text = as_viewer.get(event.address).content.decode()
        assert f'id="{event.id}" aria-current="true"' in text


def test_an_event_that_is_not_recorded_any_more_is_said_so(as_viewer):
    answer = as_viewer.get(reverse("overview:events"), {"event": "broker-1764345600-9"})
    assert "The event broker-1764345600-9 is not recorded." in answer.content.decode()


@pytest.mark.parametrize(
    "text", ["", "x", "broker-1", "broker-x-1", "broker-99999999999-1", "a-²-b"]
)
def test_what_is_no_name_of_an_event_has_no_moment(text):
    assert moment_of(text) is None


@pytest.mark.parametrize(
    "query",
    ["kind=x", "cluster=x", "before=x", "before=99999999999", "before=9999999999", "event=x"],
)
def test_what_cannot_be_asked_shows_the_newest(as_viewer, query):
    assert as_viewer.get(f"{reverse('overview:events')}?{query}").status_code == 200


def test_more_events_need_no_more_queries(as_viewer):
    flow = make_all()
    log = MetadataLog.objects.get()
    one = count_queries(as_viewer, reverse("overview:events"))
    for number in range(20):
        make_audited("flow.pause", -number, flow)
        make_election(log, 100 + number, number, 2)
        make_incident(f"incident {number}", cluster=flow.target)
    assert count_queries(as_viewer, reverse("overview:events")) == one

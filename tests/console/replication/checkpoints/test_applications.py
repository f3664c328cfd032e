"""Kafka Streams applications in a flow: the same answer on its page, theirs, in REST and as a finding."""

import html
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from console.accounts.models import ClusterGrant
from console.checks.areas.area import Given
from console.checks.areas.flows import judge
from console.clusters.models import CollectionRound, Noun
from console.replication.checkpoints.queries import answers_for_flows
from console.replication.flows.models import FlowRound, GroupReadiness
from console.reports.kinds.asked import Asked
from console.reports.kinds.disaster_recovery import read as read_report
from jobs.checks.settings import Settings
from jobs.reports.periods import named_period
from tests.console.making import make_flow, make_partition, make_topic, make_user
from tests.console.streams.making import CHANGELOG, SHOP, group, make_streams, member

pytestmark = pytest.mark.django_db
TOPICS = {"orders": 100, CHANGELOG: 40}


@pytest.fixture
def now():
    return timezone.now()


def place(number, at_ms, upstream=90):
    return {
        "topic": "orders",
        "partition": number,
        "committed": 90,
        "upstream": upstream,
        "checkpoint_at_ms": at_ms,
    }


def make_ready(now, copied=TOPICS, **fields):
    """A flow that keeps names, with all of the shop on its target."""
    values = {
        "topics": [".*"],
        "groups": [".*"],
        "policy": "identity",
    }
    flow = make_flow(**values | fields)
    make_streams(flow.source, now=now)
    for name, end in copied.items():
        make_topic(flow.target, name, partition_count=4, configs={"cleanup.policy": "compact"})
        for number in range(4):
            offsets = {"position": end, "log_start_offset": 0, "end_offset": end, "lag": 0}
            make_partition(flow, name, number, remote_topic=name, **offsets)
    for noun in FlowRound.Noun:
        FlowRound.objects.create(flow=flow, noun=noun, succeeded_at=now)
    for noun in (Noun.TOPICS, Noun.GROUPS):
        CollectionRound.objects.create(cluster=flow.target, noun=noun, succeeded_at=now)
    at_ms = int((now - timedelta(seconds=20)).timestamp() * 1000)
    places = [place(number, at_ms) for number in range(4)]
    GroupReadiness.objects.create(
        flow=flow, group=SHOP, partitions=places, since=now, updated_at=now
    )
    return flow


def answer_of(flow, now):
    (one,) = answers_for_flows([flow], now)[flow.pk]
    return one.failover.ready, [reason.code for reason in one.failover.reasons]


def findings(now):
    (judged,) = judge(Given(now, Settings(), 5))
    found = [one for one in judged.found if one.code == "streams_failover"]
    return "streams_failover" in judged.codes, found, judged.unjudged


def test_an_application_with_all_it_needs_on_the_target_is_ready(now):
    assert answer_of(make_ready(now), now) == (True, [])


def test_a_flow_of_mirror_maker_is_judged_alike(now):
    assert answer_of(make_ready(now, copied_by="mirror_maker"), now) == (True, [])


def test_a_policy_that_renames_topics_is_seen(now):
    flow = make_ready(now, policy="default")
    for name in TOPICS:
        make_topic(flow.target, f"east.{name}", partition_count=4)
    ready, codes = answer_of(flow, now)
    assert ready is False
    assert codes == ["renamed", "topics_taken"]


def test_a_commit_without_a_checkpoint_is_seen_when_it_comes(now):
    flow = make_ready(now)
    answer_of(flow, now)
    row = GroupReadiness.objects.get()
    row.partitions[0]["upstream"] = None
    row.updated_at = now + timedelta(seconds=1)
    row.save()
    assert answer_of(flow, now) == (False, ["offsets_not_translated"])


def test_old_readings_make_no_answer(now):
    flow = make_ready(now)
    assert answer_of(flow, now + timedelta(minutes=10)) == (None, ["stale"] * 4)


def test_a_flow_that_has_nothing_of_an_application_does_not_list_it(now):
    flow = make_ready(now, topics=["clicks"], groups=["readers"])
    assert answers_for_flows([flow], now)[flow.pk] == []


def test_pages_and_rest_give_the_same_answer(sign_in, operator, now):
    flow = make_ready(now, copied={"orders": 100})
    client = sign_in(operator)
    pages = [
        reverse("replication:checkpoints", args=[flow.pk]),
        f"/streams/east/{SHOP}/",
    ]
    text = "not all partitions of 1 changelog are copied (shop-totals-changelog)"
    for address in pages:
        shown = html.unescape(client.get(address).content.decode())
        assert text in shown
        assert "Not ready" in shown
    told = client.get(f"/api/v1/flows/{flow.pk}/readiness/").json()["applications"]
    assert [(one["application_id"], one["ready"]) for one in told] == [(SHOP, False)]
    assert text in told[0]["reasons"][0]["text"]


def test_the_disaster_recovery_report_has_the_answer(now):
    flow = make_ready(now, copied={"orders": 100})
    week = named_period("last-week", "UTC", now + timedelta(days=7))
    (one,) = read_report(Asked(week, (flow,), make_user(), now=now)).applications
    assert (one.flow, one.application_id, one.word) == (flow.name, SHOP, "Not ready")
    assert "changelog" in one.why


def test_a_flow_that_a_person_may_not_see_is_not_on_the_page_of_the_application(sign_in, now):
    flow = make_ready(now, copied={"orders": 100})
    person = make_user("")
    ClusterGrant.objects.create(user=person, cluster=flow.source, role="viewer")
    shown = sign_in(person).get(f"/streams/east/{SHOP}/").content.decode()
    assert SHOP in shown
    assert flow.name not in shown


def test_a_flow_has_a_finding_for_an_application_that_is_not_ready(now):
    make_ready(now, copied={"orders": 100})
    is_judged, (one,), unjudged = findings(now)
    assert is_judged
    assert one.subject == SHOP
    assert one.evidence == {"reasons": ["changelog_not_copied"]}
    assert unjudged == frozenset()


def test_an_unknown_application_has_no_finding_and_ends_none(now):
    make_ready(now)
    assert findings(now + timedelta(minutes=10)) == (True, [], {("streams_failover", SHOP)})


def test_the_number_of_queries_does_not_grow_with_flows_and_applications(now):
    flow = make_ready(now)
    with CaptureQueriesContext(connection) as one:
        answers_for_flows([flow], now)
    more = [make_flow(f"flow {number}", target=f"west-{number}") for number in range(3)]
    for number in range(3):
        make_streams(flow.source, group(member(1, range(4)), group_id=f"app-{number}"), now)
    with CaptureQueriesContext(connection) as many:
        answers_for_flows([flow, *more], now)
    # Those of new applications are read once.
    assert len(many) <= len(one) + 1

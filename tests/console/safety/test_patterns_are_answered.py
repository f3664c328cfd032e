"""A pattern with more ways than there is time is answered at every door, and holds no process."""

import json

import pytest

from console.availability.advice.round import advise_cluster
from console.availability.placements.placements import rules_of
from console.availability.promotion.acted_topics import acted_topics_of
from console.availability.promotion.policies import PolicyLookup
from console.availability.promotion.queries import list_policies
from console.clusters.models import Group, Topic
from console.replication.failover.queries import groups_to_choose
from jobs.replication.failover.planner import names_match
from jobs.replication.findings.drift import broken_patterns
from jobs.replication.flow.selection import NameFilter
from jobs.replication.naming.custom_policy import CustomReplicationPolicy, PolicyTemplates
from tests.console.availability.placed_world import document, make_placed, make_rule, make_sites
from tests.console.availability.promotion_world import Clock, PaperDoor, make_policy, make_short
from tests.console.making import NOW, make_cluster, make_flow, make_topic
from tests.console.replication.flow_form import flow_form
from tests.waiting import PATIENCE

EVIL = "(.|.|.|.|.|.|.|.|.|.|.|.)*X"
LONG = "orders." + "a" * 240
SITES = document({"west": 2})

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(120 * PATIENCE)]


def ask(client, path, **body):
    return client.post(path, json.dumps(body), content_type="application/json")


def test_in_a_promotion_policy():
    cluster = make_short()
    Topic.objects.filter(cluster=cluster).update(name=LONG)
    make_policy(cluster, kind="regex", pattern=EVIL, mode="act")
    assert PolicyLookup(list_policies(cluster)).of(LONG) is None
    assert acted_topics_of(cluster).of(LONG, None) is None
    clock = Clock()
    assert advise_cluster(cluster.pk, clock, PaperDoor(clock))


@pytest.mark.parametrize("kind", ["regex", "glob"])
def test_in_a_placement_and_its_preview(client, operator, kind):
    pattern = EVIL if kind == "regex" else "*a" * 100 + "b"
    cluster = make_sites()
    make_placed(cluster, LONG, [1, 2])
    make_rule(cluster, pattern, kind=kind)
    assert rules_of(cluster).of(LONG).rule is None
    client.force_login(operator)
    answer = ask(
        client,
        "/api/v1/placements/preview/",
        cluster="east",
        kind=kind,
        pattern=pattern,
        placement=SITES,
    )
    assert answer.json()["fitting"] == 0


def test_in_a_what_if_of_a_viewer(client, viewer):
    cluster = make_sites()
    make_placed(cluster, LONG, [1, 2, 3, 4])
    client.force_login(viewer)
    query = {
        "steps": "lose:rack:west",
        "kind": "regex",
        "pattern": EVIL,
        "placement": json.dumps(SITES),
    }
    assert client.get("/availability/east/what-if/", query).status_code == 200


@pytest.mark.parametrize("field", ["topics", "topics_exclude"])
def test_in_the_preview_of_a_flow(client, operator, field):
    make_topic(make_cluster("east"), LONG)
    make_cluster("west")
    client.force_login(operator)
    answer = client.post("/replication/preview/", flow_form(**({"topics": ".*"} | {field: EVIL})))
    assert answer.status_code == 200


@pytest.mark.parametrize("field", ["groups", "groups_exclude"])
def test_in_the_groups_that_a_failover_offers(field):
    flow = make_flow(**({"groups": [".*"]} | {field: [EVIL]}))
    Group.objects.create(cluster=flow.source, group_id=LONG, changed_at=NOW)
    found = groups_to_choose(flow, flow.spec(), "failover")
    assert [one.group_id for one in found] == ([] if field == "groups" else [LONG])


def test_in_a_policy_of_names():
    policy = CustomReplicationPolicy(
        PolicyTemplates(
            remote_topic="{source}_{topic}",
            internal=f"{EVIL}|mm2-.*|.*internal",
            checkpoints_pattern=f"{EVIL}|.*checkpoints.*",
        )
    )
    assert not policy.is_internal_topic(LONG)
    assert not policy.is_checkpoints_topic(LONG)


def test_in_a_filter_and_a_failover():
    assert not NameFilter((EVIL,)).accepts(LONG)
    assert NameFilter((".*",), (EVIL,)).accepts(LONG)
    assert not names_match((EVIL,), LONG)


def test_in_a_configuration_of_mirror_maker(client, viewer):
    client.force_login(viewer)
    good = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\n"
    text = f"{good}topics={EVIL}\ngroups={EVIL}\n"
    answer = client.post("/replication/mirror-config/", {"text": text})
    assert answer.status_code == 200


def test_brackets_without_end_are_looked_through_once():
    assert list(broken_patterns(["{" * 1_000_000])) == []

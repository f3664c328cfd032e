"""The search of the palette over all rooms: what it finds, for whom, and at which cost."""

import pytest
from django.urls import reverse

from console.accounts.models import ClusterGrant
from console.availability.status.broker_models import Source
from console.availability.status.models import PartitionStatus
from console.clusters.models import Broker, Group
from console.frame.pages.navigation import find_hits
from console.quorum.models import MetadataLog
from console.quorum.models import Source as LogSource
from console.reports.definition import DEFAULTS
from console.reports.models import Report
from tests.console.making import NOW, count_queries, make_cluster, make_flow, make_topic, make_user

pytestmark = pytest.mark.django_db

WORDS = (
    "failover", "voters", "what-if", "simulation", "broker 3", "3", "dc-a", "orders-2", "orders",
    "pause", "theme", "runbook", "audit", "token", "users", "settings", "billing", "shop", "new",
    "report", "incident", "runs", "partitions", "control", "mirror", "translation", "east", "drill",
)  # fmt: skip


def fill(alias="east", to="west"):
    cluster = make_cluster(alias)
    Broker.objects.create(
        cluster=cluster, broker_id=3, rack="dc-a", host=f"{alias}-3", changed_at=NOW
    )
    for name in ("orders", "orders-audit", "reorders"):
        make_topic(cluster, name)
    PartitionStatus.objects.create(
        cluster=cluster,
        key="orders-2",
        topic="orders",
        partition=2,
        source=Source.POLL,
        known_since=NOW,
        since=NOW,
        seen_at=NOW,
    )
    Group.objects.create(cluster=cluster, group_id="billing", changed_at=NOW)
    make_flow(f"{alias} to {to}", source=alias, target=to, is_wanted=True)
    return cluster


@pytest.fixture
def east(operator):
    Report.objects.create(
        name="Weekly shop", kind="availability", created_at=NOW, owner=operator, **DEFAULTS
    )
    MetadataLog.objects.create(
        name="_incident-1", title="Incident of 03:06", source=LogSource.IMPORT, created_at=NOW
    )
    return fill()


def first(user, text):
    hit = find_hits(user, text)[0]
    return (hit.kind, hit.label, hit.path)


@pytest.mark.parametrize(
    ("text", "kind", "label", "path"),
    [
        ("failover", "flow", "Failover", "/replication/{flow}/failover/"),
        ("checkpoints", "flow", "Checkpoints", "/replication/{flow}/checkpoints/"),
        ("broker 3", "broker", "broker 3", "/clusters/east/brokers/?q=3"),
        ("dc-a", "rack", "dc-a", "/clusters/east/brokers/?q=dc-a"),
        ("orders-2", "partition", "orders-2", "/availability/east/partitions/orders/2/"),
        ("orders", "topic", "orders", "/clusters/east/topics/orders/"),
        ("billing", "consumer group", "billing", "/clusters/east/groups/billing/"),
        ("pause", "action", "Pause east to west", "/replication/{flow}/control/"),
        ("plan failover", "action", "Plan failover of east to west", "/replication/{flow}/failover/new/"),
        ("new flow", "action", "New replication flow", "/replication/new/"),
        ("simulation", "availability", "Failure simulation", "/availability/east/what-if/"),
        ("run report", "action", "Run report Weekly shop", "/reports/{report}/"),
        ("theme", "setting", "Theme and time zone", "#preferences"),
        ("audit", "users", "Audit log", "/audit/"),
        ("token", "account", "Tokens", "/account/tokens/"),
        ("users", "users", "Users and roles", "/people/"),
        ("import log", "quorum", "Import metadata log", "/quorum/-/import/"),
        ("voters incident", "imported log", None, "/quorum/_incident-1/voters/"),
        ("matrix east", "availability", "Single-failure matrix", "/availability/east/what-if/matrix/"),
        ("backtest", "analysis", None, "/runs/new/backtest/"),
        ("runbook east", "availability", "Runbooks", "/availability/east/runbooks/"),
        ("east", "cluster", "east", "/clusters/east/"),
        ("disk full", "check", "Disk of a broker nearly full", "/checks/#disk_full"),
        ("analyses", "page", "Analyses", "/runs/new/"),
    ],
)  # fmt: skip
def test_words_find_their_page_first(admin, east, text, kind, label, path):
    flow, report = east.flows_from_here.get(), Report.objects.get()
    found = first(admin, text)
    expected = (kind, label or found[1], path.format(flow=flow.pk, report=report.pk))
    assert found == expected


@pytest.mark.parametrize("text", ["voters", "what-if", "mirror", "settings east", "rack dc-a"])
def test_every_tab_is_found(admin, east, text):
    assert find_hits(admin, text)


@pytest.mark.parametrize("role", ["none", "viewer", "operator", "admin"])
def test_every_hit_can_be_opened(sign_in, east, role):
    person = make_user(role)
    ClusterGrant.objects.create(user=person, cluster=make_cluster("north"), role="viewer")
    fill("north")
    client = sign_in(person)
    paths = {hit.path for text in WORDS for hit in find_hits(person, text)}
    assert paths
    for path in paths - {"#preferences"}:
        assert client.get(path).status_code == 200, path


def test_a_person_finds_only_what_is_on_granted_clusters(east):
    fill("north")
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=make_cluster("north"), role="operator")
    found = [hit for text in WORDS for hit in find_hits(person, text)]
    assert "/clusters/north/topics/orders/" in {hit.path for hit in found}
    assert not [hit for hit in found if "east" in f"{hit.path} {hit.label} {hit.detail}"]
    assert not [hit for hit in found if "_incident-1" in hit.path]


def test_a_person_without_any_right_finds_only_the_own_account(east):
    found = {hit.path for text in WORDS for hit in find_hits(make_user("none"), text)}
    assert found <= {"#preferences", "/account/tokens/", "/account/password/"}


def test_actions_are_offered_to_operators_only(viewer, operator, east):
    def offered(person):
        return [hit.label for hit in find_hits(person, "action") if hit.kind == "action"]

    assert offered(viewer) == ["Simulate failure of east", "Simulate failure of west"]
    assert "Pause east to west" in offered(operator)


def test_a_flow_that_does_not_run_is_not_offered_to_be_paused(operator):
    make_flow("quiet", is_wanted=False)
    assert [one for one in find_hits(operator, "pause") if one.kind != "check"] == []


@pytest.mark.parametrize("text", ["", "   ", "zzz", "%_'", "x" * 10_000])
def test_words_that_fit_nothing_find_nothing(sign_in, admin, east, text):
    answer = sign_in(admin).get(reverse("frame:search"), {"q": text})
    assert answer.json() == {"hits": []}


def test_the_number_of_queries_does_not_grow_with_what_is_there(sign_in, admin):
    client = sign_in(admin)
    path = f"{reverse('frame:search')}?q=orders-2+pause"
    fill("first")
    few = count_queries(client, path)
    for number in range(6):
        fill(f"cluster-{number}", to="first")
    assert count_queries(client, path) == few


def test_a_word_costs_few_queries_for_a_person_with_grants_too(sign_in, east):
    person = make_user("none")
    ClusterGrant.objects.create(user=person, cluster=east, role="operator")
    assert count_queries(sign_in(person), f"{reverse('frame:search')}?q=settings") <= 20

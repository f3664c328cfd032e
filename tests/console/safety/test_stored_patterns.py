"""What an older version stored and this one cannot evaluate is a fault of its own row; all others go on."""

import logging
from datetime import timedelta

import pytest

from console.availability.advice.models import PromotionRound
from console.availability.advice.round import advise_cluster
from console.availability.promotion.policies import PolicyLookup
from console.availability.promotion.queries import list_policies
from console.findings.models import Finding
from console.replication.checkpoints.rounds.collect import collect_readiness
from console.replication.control.reconcile import reconcile_flows
from console.replication.findings.collect import look_at_flow
from console.replication.findings.models import FlowWatch
from console.replication.flows.actions import check_settings, start_flow
from console.replication.flows.models import FlowRound
from console.replication.measurement.collect import collect_flow
from console.runs.models import Run
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import InvalidFields
from tests.console.availability.promotion_world import Clock, PaperDoor, make_policy, make_short
from tests.console.making import NOW, StubFlow, StubLauncher, make_flow, make_run, make_topic
from tests.console.replication.finding import clusters_that_answer
from tests.console.replication.readiness_world import StubCheckpoints, make_world

ORDERS = TopicPartition("orders", 0)
OLD = "(?!dead).*"
SAID = "look-ahead (?!...) at character 1 is not supported"

pytestmark = pytest.mark.django_db


def make_old(name="old", **fields):
    return make_flow(name, **({"topics": [OLD]} | fields))


# --- promotion policies -------------------------------------------------------------------------
@pytest.fixture
def cluster():
    return make_short()


def advise(cluster):
    clock = Clock()
    assert advise_cluster(cluster.pk, clock, PaperDoor(clock))
    assert PromotionRound.objects.get(cluster=cluster).error == ""


def test_a_policy_that_cannot_be_evaluated_is_a_finding_of_a_round_that_works(cluster):
    make_policy(cluster, kind="regex", pattern=OLD)
    advise(cluster)
    found = Finding.objects.get(code="promotion_policy_unusable")
    assert (found.severity, found.subject) == ("critical", f"policy {OLD}")
    assert SAID in found.sentence


def test_policies_before_it_go_on_and_behind_it_nothing_acts(cluster):
    """Nobody knows any more what it was about: it may have said that crosslog must not act."""
    make_policy(cluster, pattern="orders")
    make_policy(cluster, kind="glob", pattern="clicks*", priority=5)
    make_policy(cluster, kind="regex", pattern=OLD, priority=1)
    make_policy(cluster, kind="glob", pattern="*", mode="act")
    book = PolicyLookup(list_policies(cluster))
    told = [book.of(topic) for topic in ("orders", "clicks.eu", "payments")]
    assert [row and row.pattern for row in told] == ["orders", "clicks*", None]


# --- flows --------------------------------------------------------------------------------------
def test_a_flow_that_cannot_be_evaluated_says_so_and_the_others_are_measured():
    old, good = make_old(), make_flow()
    assert collect_flow(old.pk, lambda: NOW, StubFlow().queries)
    ends = {ORDERS: OffsetRange(0, 110, 110, 5_000)}
    stub = StubFlow(positions={ORDERS: 100}, ranges=ends)
    assert collect_flow(good.pk, lambda: NOW, stub.queries)
    errors = {row.flow_id: row.error for row in FlowRound.objects.filter(noun="source")}
    assert SAID in errors[old.pk]
    assert errors[good.pk] == ""


def test_looks_and_checkpoints_of_it_say_so_too():
    flow = make_old(groups=[OLD])
    assert look_at_flow(flow.pk, lambda: NOW, clusters_that_answer())
    assert SAID in FlowWatch.objects.get(flow=flow).error
    assert collect_readiness(flow.pk, lambda: NOW, StubCheckpoints().queries)
    flow.refresh_from_db()
    assert SAID in flow.answer.error


def test_another_flow_of_the_same_clusters_is_judged_and_can_be_made():
    flow = make_world()
    make_old(source=flow.source.alias, target=flow.target.alias)
    make_topic(flow.source, "payments")
    assert collect_readiness(flow.pk, lambda: NOW, StubCheckpoints().queries)
    flow.refresh_from_db()
    assert SAID not in flow.answer.error
    values = {"name": "new", "source": flow.source.alias, "target": flow.target.alias}
    assert check_settings(values | {"topics": ["payments"]}).topics == ("payments",)


def test_it_is_not_started_and_its_run_goes_on_as_it_began(caplog, settings, tmp_path):
    settings.CROSSLOG_RUNS_DIR = tmp_path
    flow = make_flow(is_wanted=True)
    run = make_run(flow)
    type(flow).objects.filter(pk=flow.pk).update(topics=[OLD])
    with caplog.at_level(logging.ERROR):
        reconcile_flows(NOW, StubLauncher())
    assert caplog.records == []
    run.refresh_from_db()
    assert run.cancel_requested_at is None
    Run.objects.filter(pk=run.pk).update(state="succeeded", finished_at=NOW)
    reconcile_flows(NOW + timedelta(hours=1), StubLauncher())
    reconcile_flows(NOW + timedelta(hours=2), StubLauncher())
    flow.refresh_from_db()
    assert SAID in flow.failure
    with pytest.raises(InvalidFields):
        start_flow(flow)


def test_a_page_that_needs_its_topics_says_what_is_wrong(client, operator):
    flow = make_old()
    client.force_login(operator)
    answer = client.get(f"/replication/{flow.pk}/failover/new/")
    assert answer.status_code == 409
    assert "look-ahead" in answer.content.decode()

"""The sync when nothing can be reached: it says so, and raises nothing. The rest is in tests/live."""

from datetime import UTC, datetime

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.plan import TopicPlan
from jobs.replication.topics.sync import apply_plan, plan_sync, sync_topics
from tests.jobs.replication.topics.making import topic
from tests.jobs.replication.topics.test_plan import READ

NOW = datetime(2026, 1, 1, tzinfo=UTC)
# This port of this machine is closed.
NOWHERE = "127.0.0.1:1"
COPIED = {"east.orders": {"retention.ms": "7"}}


def both(**settings):
    flow = FlowSpec("f", Connection("east", NOWHERE), Connection("west", NOWHERE), **settings)
    clients = (ClusterClient(c, timeout_s=2) for c in (flow.source, flow.target))
    return (*clients, flow)


def test_clusters_that_are_not_there_are_failures_of_the_flow_and_nothing_is_forgotten():
    sync = sync_topics(*both(sync_acls=True), [topic("orders")], NOW, COPIED)
    assert (sync.at, sync.changes) == (NOW, ())
    assert {failure.topic for failure in sync.failures} == {""}
    assert any("Connection refused: " in failure.text for failure in sync.failures)
    assert sync.overrides == COPIED


def test_a_dry_run_of_clusters_that_are_not_there_says_so():
    plan = plan_sync(*both(), [topic("orders")])
    assert plan.lines()[0] == "No changes."
    assert "failed: west: Connection refused: 127.0.0.1:1" in plan.lines()[1]


def test_no_topics_are_no_request():
    sync = sync_topics(*both(), [], NOW)
    assert (sync.changes, sync.failures) == ((), ())


def test_the_read_only_switch_is_a_failure(monkeypatch):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", "1")
    _, target, _ = both()
    changes, failures = apply_plan(target, TopicPlan(acls=(READ,)))
    assert changes == []
    assert "crosslog is read-only" in failures[0].text


def test_a_sync_is_json():
    sync = sync_topics(*both(), [], NOW)
    assert sync.to_mapping() == {
        "at": "2026-01-01T00:00:00+00:00",
        "changes": [],
        "notes": [],
        "failures": [],
    }

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from console.availability.collection.retention import prune
from console.availability.status.models import AvailabilityRound, UncleanElection
from console.clusters.models import Broker, CollectionRound, Group, Partition
from console.metrics.collector import KafkaState, Limits
from console.metrics.definitions import DEFINITIONS
from console.replication.flows.models import FlowRound, FlowTopic
from tests.console.making import (
    NOW,
    make_cluster,
    make_flow,
    make_partition,
    make_run,
    make_topic,
    make_user,
)

pytestmark = pytest.mark.django_db
TOKEN, ALERTS = "a token for tests", "prometheus-alerts.yaml"


@pytest.fixture
def scrape(client, settings):
    """Scrape with the token and return {(name, labels): value}."""
    settings.METRICS_TOKEN = TOKEN

    def scrape():
        answer = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        return samples(answer.content.decode())

    return scrape


def samples(text):
    order = {known.name: known.labels for known in DEFINITIONS}
    return {
        (sample.name, tuple(sample.labels[label] for label in order[sample.name])): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def make_flow_topic(flow, name, **fields):
    return FlowTopic.objects.create(flow=flow, topic=name, **{"updated_at": NOW} | fields)


def make_group(cluster, group_id, **fields):
    return Group.objects.create(cluster=cluster, group_id=group_id, **{"changed_at": NOW} | fields)


def make_round(cluster, noun):
    CollectionRound.objects.create(cluster=cluster, noun=noun, succeeded_at=NOW, finished_at=NOW)


FLOW = ("orders to west", "east", "west")


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("crosslog_flow_lag_records", 7),
        ("crosslog_flow_lag_seconds", 1.5),
        ("crosslog_flow_records_per_second", 12.5),
        ("crosslog_flow_wanted", 1),
        ("crosslog_flow_failed_runs", 0),
    ],
)
def test_a_flow_has_its_numbers(scrape, metric, value):
    make_flow(lag=7, lag_ms=1500, rate_per_s=12.5, is_wanted=True)
    assert scrape()[metric, FLOW] == value


def test_a_flow_says_how_long_it_goes_on_and_how_much_of_it_is_paused(scrape):
    make_flow(eta_s=300.5, held_back={"Paused by an operator.": 2, "Waits for its window.": 1})
    found = scrape()
    assert found["crosslog_flow_eta_seconds", FLOW] == 300.5
    assert found["crosslog_flow_paused_partitions", FLOW] == 3


def test_without_a_pause_nothing_is_paused_and_an_unknown_time_has_no_sample(scrape):
    make_flow()
    found = scrape()
    assert found["crosslog_flow_paused_partitions", FLOW] == 0
    assert ("crosslog_flow_eta_seconds", FLOW) not in found


def test_a_lag_that_nobody_knows_has_no_sample(scrape):
    make_flow(lag=None)
    assert ("crosslog_flow_lag_records", FLOW) not in scrape()


def test_a_flow_is_up_when_its_run_reports(scrape):
    flow = make_flow(is_wanted=True, partition_count=1, states={"copying": 1})
    assert scrape()["crosslog_flow_up", FLOW] == 0
    make_run(flow, reported_at=timezone.now())
    assert scrape()["crosslog_flow_up", FLOW] == 1


def test_partitions_of_a_flow_are_counted_by_state(scrape):
    make_flow(states={"copying": 5, "failed": 1})
    found = scrape()
    assert found["crosslog_flow_partitions", (*FLOW, "copying")] == 5
    assert found["crosslog_flow_partitions", (*FLOW, "failed")] == 1


def test_the_engines_of_a_flow_are_told_over_all_its_partitions(scrape):
    flow = make_flow()
    make_partition(flow, partition=0, path="batch", bytes_per_s=1e6, commit_ms=12.0, retries=1)
    make_partition(
        flow,
        partition=1,
        path="record",
        bytes_per_s=5e5,
        throttled_ms=2500,
        retries=2,
        quota_ms=500,
    )
    found = scrape()
    assert found["crosslog_flow_partitions_by_path", (*FLOW, "batch")] == 1
    assert found["crosslog_flow_partitions_by_path", (*FLOW, "record")] == 1
    assert found["crosslog_flow_bytes_per_second", FLOW] == 1.5e6
    assert found["crosslog_flow_commit_seconds", FLOW] == 0.012
    assert found["crosslog_flow_throttled_seconds", FLOW] == 2.5
    assert found["crosslog_flow_quota_throttled_seconds", FLOW] == 0.5
    assert found["crosslog_flow_retries", FLOW] == 3


COUNTERS = ("copied_records", "copied_bytes", "commits", "copy_retries")


def test_the_counters_of_a_flow_are_those_that_are_stored(scrape):
    total = {"records": 900, "bytes": 12_000, "commits": 8, "retries": 1}
    make_flow(counted={"run": "a", "seen": {}, "total": total})
    found = scrape()
    told = [found[f"crosslog_flow_{name}_total", FLOW] for name in COUNTERS]
    assert told == list(total.values())


def test_a_flow_that_never_ran_has_copied_nothing(scrape):
    make_flow()
    found = scrape()
    assert [found[f"crosslog_flow_{name}_total", FLOW] for name in COUNTERS] == [0, 0, 0, 0]


def test_nobody_knows_what_mirror_maker_counted(scrape):
    make_flow(copied_by="mirror_maker")
    assert ("crosslog_flow_copied_records_total", FLOW) not in scrape()


def test_counters_are_declared_as_counters(client, settings):
    settings.METRICS_TOKEN = TOKEN
    text = client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    families = list(text_string_to_metric_families(text))
    counters = {family.name for family in families if family.type == "counter"}
    assert counters == {d.name.removesuffix("_total") for d in DEFINITIONS if d.is_counter}
    assert len({family.name for family in families}) == len(families)


UNCLEAN = "crosslog_availability_unclean_leader_elections_total"


def test_no_unclean_election_is_a_zero_where_the_metadata_log_tells(scrape):
    AvailabilityRound.objects.create(cluster=make_cluster(), noun="status", source="log", log_id=1)
    assert scrape()[UNCLEAN, ("east",)] == 0


def test_no_unclean_election_is_unknown_where_only_polls_tell(scrape):
    AvailabilityRound.objects.create(cluster=make_cluster(), noun="status", source="poll")
    assert (UNCLEAN, ("east",)) not in scrape()


def test_unclean_elections_never_become_fewer_when_old_ones_are_pruned(scrape, settings):
    cluster = make_cluster()
    AvailabilityRound.objects.create(cluster=cluster, noun="status", source="log", log_id=1)
    for days in (1, 100, 200):
        UncleanElection.objects.create(
            cluster=cluster, key="k", topic="t", partition=0, at=NOW - timedelta(days=days)
        )
    assert scrape()[UNCLEAN, ("east",)] == 3
    settings.AVAILABILITY_HISTORY_D = 90
    prune(NOW)
    found = scrape()
    assert found[UNCLEAN, ("east",)] == 3
    assert found["crosslog_availability_unclean_elections", ("east",)] == 1


def test_topics_that_are_furthest_behind_come_first_and_the_rest_is_counted(scrape, settings):
    settings.METRICS_TOPICS = 2
    flow = make_flow()
    for name, lag in (("a", 1), ("b", 9), ("c", None), ("d", 5)):
        make_flow_topic(flow, name, lag=lag)
    found = scrape()
    named = {labels[3] for name, labels in found if name == "crosslog_flow_topic_lag_records"}
    assert named == {"b", "d"}
    assert found["crosslog_metrics_left_out", ("topics",)] == 2


def test_partitions_have_series_only_when_asked_for(scrape, settings):
    make_partition(make_flow(), lag=3)
    assert ("crosslog_flow_partition_lag_records", (*FLOW, "orders", "0")) not in scrape()
    settings.METRICS_PARTITIONS = 10
    assert scrape()["crosslog_flow_partition_lag_records", (*FLOW, "orders", "0")] == 3


def test_each_cluster_has_its_own_share_of_groups(scrape, settings):
    settings.METRICS_GROUPS = 1
    for alias in ("east", "west"):
        cluster = make_cluster(alias)
        make_group(cluster, "busy", lag=9, lag_ms=2000, unknown_count=1)
        make_group(cluster, "idle", lag=0)
    found = scrape()
    named = {labels for name, labels in found if name == "crosslog_group_lag_records"}
    assert named == {("east", "busy"), ("west", "busy")}
    assert found["crosslog_group_lag_seconds", ("east", "busy")] == 2
    assert found["crosslog_group_lag_unknown_partitions", ("east", "busy")] == 1
    assert found["crosslog_metrics_left_out", ("groups",)] == 2


def test_partitions_of_a_cluster_stand_on_their_worst_step(scrape):
    cluster = make_cluster()
    topic = make_topic(cluster, "orders", under_replicated_count=2, offline_count=1)
    for number, severity in enumerate((0, 2, 2, 4)):
        Partition.objects.create(
            cluster=cluster, topic=topic, partition=number, severity=severity, changed_at=NOW
        )
    make_round(cluster, "topics")
    found = scrape()
    assert found["crosslog_cluster_partitions", ("east", "at_min_isr")] == 2
    assert found["crosslog_cluster_partitions", ("east", "offline")] == 1
    assert found["crosslog_cluster_under_replicated_partitions", ("east",)] == 2
    assert found["crosslog_cluster_offline_partitions", ("east",)] == 1


def test_brokers_are_live_or_missing(scrape):
    cluster = make_cluster()
    for number in range(3):
        Broker.objects.create(
            cluster=cluster, broker_id=number, is_live=number != 2, changed_at=NOW
        )
    make_round(cluster, "brokers")
    found = scrape()
    assert found["crosslog_cluster_brokers", ("east", "live")] == 2
    assert found["crosslog_cluster_brokers", ("east", "missing")] == 1


def test_before_the_first_round_nothing_is_counted(scrape):
    make_cluster()
    assert ("crosslog_cluster_brokers", ("east", "live")) not in scrape()


def test_somebody_with_one_cluster_scrapes_that_one(client):
    east, west = make_cluster("east"), make_cluster("west")
    make_group(east, "billing", lag=1), make_group(west, "shipping", lag=1)
    person = make_user("none")
    person.cluster_grants.create(cluster=east, role="viewer")
    client.force_login(person)
    found = samples(client.get("/metrics").content.decode())
    named = {labels for name, labels in found if name == "crosslog_group_lag_records"}
    assert named == {("east", "billing")}


def test_somebody_without_any_right_scrapes_nothing(client):
    client.force_login(make_user("none"))
    assert client.get("/metrics").status_code == 403


def test_a_failing_round_is_down_and_keeps_its_age():
    seen = NOW - timedelta(minutes=5)
    CollectionRound.objects.create(
        cluster=make_cluster(), noun="topics", finished_at=NOW, succeeded_at=seen,
        failing_since=NOW, duration_ms=250,
    )  # fmt: skip
    found = {
        (d.name, labels): value for d, labels, value in KafkaState(NOW, Limits(1, 1, 1)).samples()
    }
    assert found["crosslog_collection_up", ("east", "topics")] == 0
    assert found["crosslog_collection_age_seconds", ("east", "topics")] == 300
    assert found["crosslog_collection_duration_seconds", ("east", "topics")] == 0.25


def test_the_numbers_of_a_flow_have_an_age():
    FlowRound.objects.create(flow=make_flow(), noun="source", succeeded_at=NOW)
    state = KafkaState(NOW + timedelta(seconds=30), Limits(1, 1, 1))
    found = {(d.name, labels): value for d, labels, value in state.samples()}
    labels = (*FLOW, "source_offsets")
    assert found["crosslog_flow_measurement_age_seconds", labels] == 30
    timestamp = found["crosslog_flow_measurement_last_success_timestamp_seconds", labels]
    assert timestamp == NOW.timestamp()


def test_runs_are_counted_by_state(scrape):
    make_run(make_flow())
    assert scrape()["crosslog_runs", ("replicate", "RUNNING")] == 1


def test_a_scrape_of_many_rows_asks_no_more_than_one_of_few(scrape):
    def count():
        with CaptureQueriesContext(connection) as captured:
            scrape()
        return len(captured)

    def add(suffix):
        flow = make_flow(f"flow {suffix}", source=f"s{suffix}", target=f"t{suffix}")
        make_run(flow), make_flow_topic(flow, "orders", lag=1)
        make_group(flow.source, "g", lag=1), make_topic(flow.source, "orders")
        CollectionRound.objects.create(cluster=flow.source, noun="topics")

    add(1)
    few = count()
    add(2), add(3)
    assert count() == few


def test_a_label_holds_any_name(scrape):
    make_group(make_cluster(), 'a "quoted\\\n group', lag=1)
    assert scrape()["crosslog_group_lag_records", ("east", 'a "quoted\\\n group')] == 1


def test_every_metric_is_declared_once_and_ends_with_its_unit():
    names = [known.name for known in DEFINITIONS]
    assert len(set(names)) == len(names)
    assert not [n for n in names if re.search(r"(_ms|_count)$", n)]
    assert all(known.help.endswith(".") for known in DEFINITIONS)


@pytest.mark.parametrize(
    ("header", "status"),
    [
        pytest.param(None, 401, id="nothing"),
        pytest.param("Bearer wrong", 401, id="another token"),
        pytest.param("Bearer ", 401, id="empty token"),
        pytest.param(f"Basic {TOKEN}", 401, id="another scheme"),
        pytest.param(f"Bearer {TOKEN}", 200, id="the token"),
        pytest.param(f"bearer {TOKEN}", 200, id="in small letters"),
    ],
)
def test_a_scrape_needs_the_token(client, settings, header, status):
    settings.METRICS_TOKEN = TOKEN
    answer = client.get("/metrics", headers={"Authorization": header} if header else {})
    assert answer.status_code == status


def test_without_a_configured_token_an_empty_one_opens_nothing(client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401


def test_somebody_who_may_look_may_scrape(sign_in, viewer):
    assert sign_in(viewer).get("/metrics").status_code == 200


def test_the_metrics_token_opens_nothing_else(client, settings):
    settings.METRICS_TOKEN = TOKEN
    answer = client.get("/api/v1/clusters/", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code in {401, 403}


def test_openmetrics_is_answered_when_asked_for(client, settings):
    settings.METRICS_TOKEN = TOKEN
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/openmetrics-text"}
    answer = client.get("/metrics", headers=headers)
    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert answer.content.endswith(b"# EOF\n")


def test_write_docs_changes_nothing(settings, tmp_path):
    """What is in the tree is what the code says; write it with `manage.py write_docs`."""
    names = ("openapi.yaml", "grafana-dashboard.json", "checks.md", "metrics.md", ALERTS)
    (tmp_path / "docs").mkdir()
    kept = {name: (settings.ROOT / "docs" / name).read_text("utf-8") for name in names}
    for name in ("metrics.md", ALERTS):
        (tmp_path / "docs" / name).write_text(kept[name], "utf-8")
    settings.ROOT = tmp_path
    call_command("write_docs")
    for name in names:
        assert (tmp_path / "docs" / name).read_text("utf-8") == kept[name], name


def test_the_checkpoints_of_a_flow_are_gauges_and_nothing_when_none_are_written(scrape):
    told = {"at_ms": 1_500_000, "told": 340, "exact": 338, "without": {"no_sync": 4, "gone": 3}}
    flow = make_flow(checkpoint_writing=told)
    found = scrape()
    at = found["crosslog_flow_checkpoints_last_success_timestamp_seconds", FLOW]
    kinds = {
        k: found["crosslog_flow_checkpoints", (*FLOW, k)] for k in ("told", "exact", "unknown")
    }
    assert (at, kinds) == (1500, {"told": 340, "exact": 338, "unknown": 7})
    flow.emit_checkpoints_interval_s = 0
    flow.save()
    assert not [name for name, _ in scrape() if name.startswith("crosslog_flow_checkpoints")]

"""The pages of checkpoints: the answer in the first row, the evidence below, unknown as unknown."""

import html
from datetime import timedelta

import pytest
from django.urls import reverse

from console.clusters.models import Partition
from console.replication.flows.models import FlowReadiness, GroupReadiness, TopicReadiness
from jobs.cluster.descriptions import TopicPartition
from tests.console.making import NOW, count_queries, make_flow
from tests.console.replication.readiness_world import (
    StubCheckpoints,
    add_group,
    checkpoint,
    judged,
    make_world,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(sign_in, viewer):
    return sign_in(viewer)


@pytest.fixture
def flow():
    flow = make_world()
    add_group(flow.target, "readers", {TopicPartition("east.orders", 0): 530}, members=0)
    judged(flow)
    return flow


def page(client, name, *arguments, **query):
    answer = client.get(reverse(f"replication:{name}", args=arguments), query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_a_flow_says_whether_it_can_fail_over_and_why_not(client, flow):
    shown = page(client, "checkpoints", flow.pk)
    assert "0/1" in shown
    assert "The target offset is ahead of the source offset: records would be skipped." in shown
    assert "a failover plan sets the exact offset" in shown
    assert "skips 30" in shown


def test_the_same_answer_stands_on_the_flows_own_page_and_on_the_first_one(client, flow):
    assert "Failover readiness" in page(client, "detail", flow.pk)
    first = html.unescape(client.get("/").content.decode())
    assert "0/1 groups ready" in first
    assert "Blocked" in first


def test_before_the_first_round_nothing_is_claimed(client):
    shown = page(client, "checkpoints", make_flow().pk)
    assert "Not evaluated yet. The first round takes some seconds." in shown
    assert "Ready" in shown
    assert "0 of 0" not in shown


def test_a_group_shows_the_certified_place_beside_mirror_makers_own_answer(client, flow):
    shown = page(client, "checkpoint-group", flow.pk, "readers")
    for words in (
        "Failover readiness of readers",
        "orders-0",
        "500",
        "exact",
        "100 → 500",
        "530",
        "committed offset",
    ):
        assert words in shown
    assert "kafka-consumer-groups.sh --bootstrap-server" in shown


def test_a_group_that_has_nothing_to_do_with_the_flow_is_not_found(client, flow):
    answer = client.get(reverse("replication:checkpoint-group", args=[flow.pk, "strangers"]))
    assert answer.status_code == 404
    assert "Group strangers reads no topic of flow" in html.unescape(answer.content.decode())


def test_a_group_id_may_hold_slashes(client, flow):
    GroupReadiness.objects.update(group="search indexer/eu")
    assert "search indexer/eu" in page(client, "checkpoint-group", flow.pk, "search indexer/eu")


@pytest.mark.parametrize(
    ("query", "is_shown"),
    [
        ({"answer": "blocked"}, True),
        ({"answer": "ready"}, False),
        ({"reason": "target_ahead"}, True),
        ({"q": "readers"}, True),
        ({"q": "orders"}, True),
        ({"q": "clicks"}, False),
    ],
)
def test_groups_are_narrowed_down(client, flow, query, is_shown):
    address = reverse("replication:checkpoint-group", args=[flow.pk, "readers"])
    assert (address in page(client, "checkpoints", flow.pk, **query)) == is_shown


def test_groups_are_exported_with_words_and_numbers(client, flow):
    answer = client.get(reverse("replication:checkpoints", args=[flow.pk]), {"format": "csv"})
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert lines[0].startswith("Readiness,Group,Checkpoint age,Checkpoint lag (records),")
    assert lines[1].startswith("Blocked,readers,")


def test_a_round_that_fails_is_said_with_the_age_of_what_is_shown(client, flow):
    judged(flow, StubCheckpoints(may_read=False), NOW + timedelta(seconds=60))
    shown = page(client, "checkpoints", flow.pk)
    assert "Reading east.checkpoints.internal is refused" in shown


def test_the_number_of_queries_does_not_grow_with_groups(client, flow):
    few = count_queries(client, reverse("replication:checkpoints", args=[flow.pk]))
    GroupReadiness.objects.bulk_create(
        GroupReadiness(flow=flow, group=f"g{number}", since=NOW, updated_at=NOW)
        for number in range(200)
    )
    assert count_queries(client, reverse("replication:checkpoints", args=[flow.pk])) == few
    assert few <= 34


def test_the_answer_over_rest_is_the_one_of_the_page(client, flow):
    found = client.get(f"/api/v1/flows/{flow.pk}/readiness/").json()
    assert (found["readiness"], found["colour"], found["counts"]) == (
        "blocked",
        "red",
        {"blocked": 1},
    )
    assert found["evidence"][0]["obstacle"] == "skips"
    assert [topic["topic"] for topic in found["topics"]] == ["orders"]
    assert (found["rpo_records"], found["rpo_ms"]) == (0, 0)


def test_before_the_first_round_the_answer_over_rest_is_unknown(client):
    found = client.get(f"/api/v1/flows/{make_flow().pk}/readiness/").json()
    assert found["behind_unknown_count"] == 0
    assert (found["readiness"], found["colour"], found["rpo_records"]) == ("unknown", "grey", None)


def test_groups_over_rest_have_their_partitions_and_can_be_narrowed_down(client, flow):
    address = f"/api/v1/flows/{flow.pk}/checkpoints/"
    (row,) = client.get(address, {"group": "readers"}).json()["results"]
    (place,) = row["partitions"]
    assert (place["committed"], place["lo"], place["hi"], place["mm2"]) == (100, 500, 500, 500)
    assert (place["synced"], place["skipped"]) == (530, [30, 30])
    assert client.get(address, {"readiness": "ready"}).json()["results"] == []
    assert client.get(address, {"readiness": "green"}).status_code == 400


@pytest.mark.parametrize(
    "more", [{}, {"group": "readers"}, {"group": "readers", "topic": "orders", "partition": 0}]
)
def test_a_series_is_of_a_flow_a_group_or_a_partition(client, flow, more):
    span = {"from": "2026-11-21T03:00:00Z", "to": "2026-11-21T04:00:00Z"}
    found = client.get(f"/api/v1/flows/{flow.pk}/checkpoint-series/", span | more).json()
    assert (len(found["at"]), found["behind"], found["rank"]) == (1, [0], [4])


def test_metrics_tell_the_answer_and_the_worst_groups(client, flow):
    text = client.get("/metrics").content.decode()
    lines = [
        line for line in text.splitlines() if line.startswith("crosslog_flow_failover_readiness{")
    ]
    assert [line.endswith(" 1.0") for line in lines if 'readiness="blocked"' in line] == [True]
    assert [line.endswith(" 1.0") for line in lines if 'readiness="ready"' in line] == [False]
    group = [
        line for line in text.splitlines() if line.startswith("crosslog_flow_group_failover_rank{")
    ]
    assert len(group) == 1
    assert 'group="readers"' in group[0]
    assert group[0].endswith(" 4.0")


def test_topics_are_judged_over_all_groups_that_read_them(client, flow):
    row = TopicReadiness.objects.get()
    assert (row.topic, row.readiness, row.group_count) == ("orders", "blocked", 1)
    assert "all groups of each topic" in page(client, "checkpoints", flow.pk)


def test_old_green_answers_do_not_survive_a_target_that_is_away(client):
    flow = make_world()
    judged(flow, StubCheckpoints(checkpoint()))
    assert FlowReadiness.objects.get().readiness == "ready"
    flow.target.rounds.update(succeeded_at=NOW - timedelta(minutes=10))
    for seconds in (60, 70, 80, 90):
        judged(flow, StubCheckpoints(may_read=False), NOW + timedelta(seconds=seconds))
    assert FlowReadiness.objects.get().readiness == "unknown"


def test_a_change_that_does_not_count_yet_is_on_the_page_with_the_time_it_is_held(client):
    flow = make_world()
    judged(flow, StubCheckpoints(checkpoint()))
    Partition.objects.update(log_start_offset=550)
    judged(flow, StubCheckpoints(checkpoint()), NOW + timedelta(seconds=60))
    shown = page(client, "checkpoints", flow.pk)
    assert "Blocked since 03:13:00 UTC, not counted yet." in shown
    assert "A change counts after all rounds of 5 s have found it (Unknown: 30 s)." in shown


@pytest.mark.parametrize("word", ["caution", "warning"])
def test_groups_are_narrowed_down_by_the_old_and_the_new_word_of_a_readiness(client, flow, word):
    evidence = [{"obstacle": "skips", "readiness": "caution", "text": "-", "hint": ""}]
    GroupReadiness.objects.update(readiness="warning", evidence=evidence)
    found = client.get(f"/api/v1/flows/{flow.pk}/checkpoints/", {"readiness": word}).json()
    (row,) = found["results"]
    assert (row["readiness"], row["evidence"][0]["readiness"]) == ("warning", "warning")
    assert "Warning" in page(client, "checkpoints", flow.pk)

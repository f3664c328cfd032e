"""Quorums over REST: content, order, rights and refusals."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from console.quorum.models import QuorumStatus
from tests.console.making import count_queries, make_cluster
from tests.console.quorum.making import (
    make_change,
    make_log,
    make_partition,
    make_quorum,
    make_voter_set,
    placed,
    voter,
)

pytestmark = pytest.mark.django_db
V1 = "/api/v1/"


@pytest.fixture
def log():
    return make_quorum(make_cluster("east"), timezone.now())


@pytest.fixture
def ask(sign_in, viewer, log):
    client = sign_in(viewer)

    def ask(path, status=200):
        answer = client.get(V1 + path)
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask


def test_a_quorum_is_reported_with_its_replicas_and_how_far_its_log_is_known(ask):
    told = ask("quorum/east/")
    assert told["status"]["leader_id"] == 1
    assert [one["role"] for one in told["status"]["replicas"]][:2] == ["leader", "voter"]
    assert (told["start_offset"], told["next_offset"], told["finding_count"]) == (0, 1000, 1)
    assert [one["noun"] for one in told["freshness"]] == ["Quorum", "Metadata log"]
    assert ask("quorum/")["results"] == [told]


def test_a_cluster_whose_quorum_was_never_asked_is_there_and_says_nothing(ask):
    make_cluster("north")
    told = ask("quorum/north/")
    assert (told["status"], told["start_offset"], told["finding_count"]) == (None, None, 0)


def test_voter_sets_come_in_the_order_of_the_log(ask):
    rows = ask("quorum/voter-sets/?cluster=east")["results"]
    assert [row["offset"] for row in rows] == [0, 300, 400]
    assert rows[1]["removed"] == ["3 · STN8WqjT…"]
    assert [voter["id"] for voter in rows[2]["voters"]] == [1, 2, 3]
    assert rows[2]["is_committed"] is None


@pytest.mark.parametrize(
    ("begin_s", "end_s", "offsets"),
    [
        pytest.param(600, 60, [400], id="nothing changed in it"),
        pytest.param(1300, 60, [300, 400], id="one changed in it"),
        pytest.param(1600, 1400, [0, 300], id="one changed in it, one later"),
        pytest.param(9000, 8000, [], id="before the first one"),
    ],
)
def test_the_voter_set_in_force_at_the_start_of_a_range_belongs_to_it(
    ask, log, begin_s, end_s, offsets
):
    times = {"from": begin_s, "to": end_s}
    query = {name: (log.created_at - timedelta(seconds=s)).isoformat() for name, s in times.items()}
    make_voter_set(make_log(make_cluster("west")), 7, 2_000_000, voter(1))
    rows = ask(f"quorum/voter-sets/?{urlencode({'cluster': 'east', **query})}")["results"]
    assert [row["offset"] for row in rows] == offsets
    everywhere = ask(f"quorum/voter-sets/?{urlencode(query)}")["results"]
    assert [row["offset"] for row in everywhere] == sorted([*offsets, 7])


def test_elections_say_the_leaderless_time(ask):
    rows = ask("quorum/elections/?cluster=east")["results"]
    assert [(row["epoch"], row["leader_id"], row["gap_ms"]) for row in rows] == [
        (5, 1, None), (6, 2, 2900), (7, 1, 400),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("", [700, 601, 600, 10, 9, 5]),
        ("&topic=orders", [700, 600, 10, 9]),
        ("&broker=3", [601, 600, 5]),
        ("&kind=config", [700]),
        ("&type=partition_change_record", [600]),
        ("&range=15m", [700, 601, 600]),
    ],
    ids=["all", "a topic", "a broker", "a kind", "a record type", "a time range"],
)
def test_changes_are_found(ask, query, offsets):
    rows = ask(f"metadata-changes/?cluster=east{query}")["results"]
    assert [row["offset"] for row in rows] == offsets


def test_changes_of_a_partition_tell_leader_isr_elr_and_cause(ask):
    newest, first = ask("partition-changes/?cluster=east&topic=orders&partition=0")["results"]
    assert (newest["leader"], newest["isr"], newest["elr"]) == (1, [1, 2], [3])
    assert (newest["cause"], newest["cause_broker"]) == ("broker_fenced", 3)
    assert first["isr"] == [1, 2, 3]


def test_pages_of_changes_follow_each_other_without_loss(ask, log, client):
    partition = make_partition(log, "clicks")
    for number in range(30):
        make_change(partition, 800 + number // 3, 100, placed(1, 1), number=number % 3)
    seen, url = [], "metadata-changes/?cluster=east&topic=clicks&limit=7"
    while url:
        page = ask(url)
        seen += [(row["offset"], row["number"]) for row in page["results"]]
        url = page["next"] and page["next"].partition(V1)[2]
    assert seen == sorted(seen, key=lambda one: (-one[0], one[1]))
    assert len(set(seen)) == 30


@pytest.mark.parametrize(
    ("query", "isr"),
    [("offset=10", [1, 2, 3]), ("offset=599", [1, 2, 3]), ("offset=600", [1, 2]), ("", [1, 2])],
)
def test_the_state_at_an_offset_is_what_the_log_said_until_there(ask, query, isr):
    (row,) = ask(f"quorum/east/state/?kind=partition&{query}")["results"]
    assert row["state"]["isr"] == isr


def test_the_state_at_a_time_is_that_of_the_last_record_before(ask, log):
    early = (log.created_at - timedelta(seconds=1000)).isoformat().replace("+", "%2B")
    (row,) = ask(f"quorum/east/state/?kind=partition&time={early}")["results"]
    assert (row["subject"], row["since"]) == ("orders-0", 10)


def test_two_moments_are_compared(ask):
    rows = ask("quorum/east/diff/?from_offset=10&to_offset=700")["differences"]
    told = {row["subject"]: row["became"] for row in rows}
    assert told["orders-0"] == "changed"
    assert told["topic orders: min.insync.replicas"] == "added"
    differs = next(row["differs"] for row in rows if row["subject"] == "orders-0")
    assert ["isr", [1, 2, 3], [1, 2]] in differs


def test_advice_has_commands_or_a_reason(ask):
    plan = ask("quorum/east/advice/?remove=3")
    assert plan["possible"], plan
    assert "remove-controller --controller-id 3" in plan["steps"][0]["command"]
    refused = ask("quorum/east/advice/?remove=9")
    assert (refused["possible"], refused["refusal"]["code"]) == (False, "not_a_voter")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("quorum/east/state/?time=yesterday", "time"),
        ("quorum/east/state/?time=2020-01-01T00:00:00Z", "time"),
        ("quorum/east/state/?time=2199-01-01T00:00:00Z", "time"),
        ("quorum/east/diff/?from_offset=10&to_time=2199-01-01T00:00:00Z", "to_time"),
        ("quorum/east/diff/?from_time=2199-01-01T00:00:00Z", "from_time"),
        ("quorum/east/state/?offset=999999999", "offset"),
        ("quorum/east/state/?offset=-1", "offset"),
        ("quorum/east/state/?offset=5&time=2026-11-21T03:04:00Z", "time"),
        ("quorum/east/state/?kind=anomaly", "kind"),
        ("quorum/east/diff/", "from_offset"),
        ("quorum/east/records/", "offset"),
        ("quorum/east/advice/?add=x", "add"),
        ("quorum/east/advice/?per_site=dc-a", "per_site"),
        ("metadata-changes/?cluster=east&broker=x", "broker"),
        ("metadata-changes/?cluster=east&from=yesterday", "from"),
        ("partition-changes/?partitions=3", "partitions"),
    ],
)
def test_a_wrong_question_is_refused_by_the_field(ask, path, field):
    assert field in ask(path, 400)["fields"]


def test_advice_needs_a_description(ask):
    make_log(make_cluster("west"))
    assert ask("quorum/west/advice/?remove=3", 409)["code"] == "not_described"


def test_no_change_is_planned_while_the_voters_are_not_judged(ask):
    why = "Not checked yet: the leader was elected 3 s before."
    QuorumStatus.objects.update(memory={"unjudged": why})
    told = ask("quorum/east/advice/?remove=3", 409)
    assert told["code"] == "not_judged"
    assert why in str(told)


def test_the_verdict_is_reported_with_its_reason(ask, log):
    assert ask("quorum/east/")["verdict"] == {"severity": "warning", "word": "1 finding", "why": ""}
    log.finding_set.all().delete()
    QuorumStatus.objects.update(
        succeeded_at=timezone.now(), failing_since=timezone.now(), error="No."
    )
    (told,) = ask("quorum/")["results"]
    assert (told["verdict"]["word"], "No." in told["verdict"]["why"]) == ("Unknown", True)


@pytest.mark.parametrize("path", ["quorum/nowhere/", "quorum/voter-sets/?cluster=nowhere"])
def test_an_unknown_cluster_is_not_found(ask, path):
    ask(path, 404)


PATHS = [
    "quorum/", "quorum/voter-sets/", "quorum/elections/", "metadata-changes/", "partition-changes/",
    "quorum/east/state/?kind=partition",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_list_asks_as_many_questions_whatever_the_number_of_rows(sign_in, viewer, log, path):
    client = sign_in(viewer)
    few = count_queries(client, V1 + path)
    for number in range(1, 30):
        partition = make_partition(log, "orders", number, 10 + number)
        make_change(partition, 100 + number, 100, placed(1, 1, 2, 3))
    make_quorum(make_cluster("west"), timezone.now())
    assert count_queries(client, V1 + path) == few


def test_rows_of_clusters_that_a_person_does_not_see_are_left_out(client, log):
    from tests.console.safety.world import make_person

    make_quorum(make_cluster("west"), timezone.now())
    client.force_login(make_person("eva", west="viewer"))
    for path in PATHS[:5]:
        rows = client.get(V1 + path).json()["results"]
        assert {row["cluster"] for row in rows} == {"west"}, path
    assert client.get(f"{V1}quorum/east/state/").status_code == 404
    assert client.get(f"{V1}metadata-changes/?cluster=east").status_code == 404


def test_where_clocks_jump_the_first_later_record_ends_the_state(ask, log):
    partition = make_partition(log, "clicks", offset=800)
    make_change(partition, 800, 200, placed(1, 1, 2, 3))
    # Another leader, whose clock is a minute behind.
    make_change(partition, 801, 260, placed(2, 2, 3), epoch=8)
    at = (log.created_at - timedelta(seconds=230)).isoformat().replace("+", "%2B")
    rows = ask(f"quorum/east/state/?kind=partition&topic=clicks&time={at}")["results"]
    assert rows == []


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("remove=3", "remove-controller --controller-id 3"),
        ("remove=9", "is no voter"),
        ("remove=x", "is not a node id"),
        ("sites=dc-a", "is not of the form name=value"),
        ("replace=2&sites=1=dc-a,2=dc-b,3=dc-c", "add-controller"),
    ],
)
def test_the_advisors_page_shows_steps_or_a_reason(client, ask, query, told):
    page = client.get(f"/quorum/east/advisor/?{query}").content.decode()
    assert told in page

"""The translation workbench: one offset or a list, both ways, with what proves the answers."""

import html

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from console.clusters.models import CollectionRound, Noun
from console.frame.pages.uploads import LARGEST_UPLOAD_BYTES
from console.replication.translation.limits import limits_of
from console.replication.translation.workbench import (
    FORWARD,
    REVERSE,
    to_csv,
    translate_all,
    translate_one,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import InvalidFields, Unreachable
from jobs.replication.failover.evidence import Leg, Way
from jobs.replication.translation.questions import Limits, Question
from jobs.replication.translation.sync_history import Facts
from jobs.replication.translation.translator import Translator
from tests.console.making import make_flow, make_partition
from tests.console.replication.readiness_world import translator
from tests.jobs.replication.failover.making import (
    NOW_MS,
    ORDERS,
    failover_evidence,
    plan_of,
)
from tests.jobs.replication.failover.making import flow as spec_of_plan

pytestmark = pytest.mark.django_db


@pytest.fixture
def flow():
    flow = make_flow()
    make_partition(flow, remote_topic="east.orders")
    return flow


@pytest.fixture
def client(sign_in, viewer):
    return sign_in(viewer)


def ask(flow, *asked, direction=FORWARD):
    questions = [Question(n, TopicPartition(t, p), o) for n, (t, p, o) in enumerate(asked, start=1)]
    return translate_all(flow, translator(), questions, direction)


def address(flow):
    return reverse("replication:translate", args=[flow.pk])


def post(client, flow, **form):
    answer = client.post(address(flow), {"direction": "forward"} | form)
    return answer, html.unescape(answer.content.decode())


def test_an_offset_has_bounds_what_proves_them_and_mirror_makers_answer(flow):
    (exact, between) = ask(flow, ("orders", 0, 100), ("orders", 0, 150))
    assert (exact.lo, exact.hi, exact.exact, exact.mm2, exact.to_topic) == (
        500,
        500,
        True,
        500,
        "east.orders",
    )
    assert (between.exact, between.mm2) == (False, 501)
    assert between.lo <= 550 <= between.hi
    assert between.evidence_text == "100 → 500; 200 → 600"


def test_the_way_back_asks_by_the_names_of_the_target(flow):
    (found,) = ask(flow, ("east.orders", 0, 500), direction=REVERSE)
    assert found.to_topic == "orders"
    assert found.lo <= 100
    assert found.mm2 is None


@pytest.mark.parametrize(
    ("question", "direction", "words"),
    [
        (("clicks", 0, 1), FORWARD, "patterns of the flow exclude this topic"),
        (("orders", 7, 1), FORWARD, "This partition has no offset sync"),
        (("orders", 0, 1), REVERSE, "does not replicate this partition"),
    ],
)
def test_what_cannot_be_answered_says_why(flow, question, direction, words):
    (found,) = ask(flow, question, direction=direction)
    assert (found.lo, found.hi, found.exact) == (None, None, False)
    assert words in found.reason


@pytest.fixture
def collected(flow):
    """Both clusters have answered just now."""
    for cluster in (flow.source, flow.target):
        CollectionRound.objects.create(
            cluster=cluster, noun=Noun.BROKERS, succeeded_at=timezone.now()
        )


SYNCS = {ORDERS: ((100, 40), (200, 140), (260, 220))}


@pytest.mark.parametrize("offset", [100, 101, 150, 199, 200, 230, 259, 260])
def test_the_page_is_as_certain_as_a_plan_of_the_same_syncs(flow, offset):
    told = Translator(SYNCS, facts=Facts(all_changes_told=True))
    leg = Leg(spec_of_plan(), Way.FORWARD, told, {ORDERS: 300}, {}, NOW_MS)
    evidence = failover_evidence(committed=offset, here_end=300, there=(0, 300), legs=(leg,))
    (planned,) = plan_of(evidence).groups[0].items
    found = translate_one(flow, told, Question(1, ORDERS, offset))
    assert (found.lo, found.hi, found.reason) == (planned.lo, planned.hi, planned.reason)
    assert (found.exact, found.mm2) == (planned.exact, planned.mm2)


def test_the_limits_of_a_cluster_that_does_not_answer_are_not_known(flow, collected):
    def away(connection, partitions):
        raise Unreachable("lost", cluster=connection.alias)

    assert limits_of(flow, {ORDERS}, is_reverse=False, read=away) == Limits()


def test_a_cluster_that_was_not_collected_from_lately_is_not_asked(flow):
    def asked(connection, partitions):
        raise AssertionError("the cluster is queried")

    assert limits_of(flow, {ORDERS}, is_reverse=True, read=asked) == Limits()


@pytest.mark.parametrize(
    ("offset", "is_told", "expected"),
    [
        pytest.param(100, True, "Exact", id="a sync"),
        pytest.param(230, True, "No record reprocessed", id="between two, all records known"),
        pytest.param(230, False, "Range", id="between two others"),
    ],
)
def test_the_page_says_what_resuming_there_costs(flow, offset, is_told, expected):
    told = Translator(SYNCS, facts=Facts(all_changes_told=is_told))
    found = translate_one(flow, told, Question(1, ORDERS, offset))
    shown = render_to_string("replication/translation/_translation.html", {"answer": found})
    assert expected in shown


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        pytest.param(("lost", 0, 1), "topic", "There is no topic lost on east.", id="topic"),
        pytest.param(
            ("orders", 3, 1),
            "partition",
            "The highest partition of orders on east is 2.",
            id="partition",
        ),
        pytest.param(
            ("orders", 0, 301),
            "offset",
            "The log end offset of orders-0 on east is 300.",
            id="offset",
        ),
        pytest.param(
            ("clicks", 0, 1), "topic", "patterns of the flow exclude this topic", id="excluded"
        ),
    ],
)
def test_a_question_about_what_is_not_there_is_refused_at_its_field(flow, asked, field, words):
    limits = Limits("east", {"orders": 3, "lost": 0}, {ORDERS: 300})
    topic, partition, offset = asked
    question = Question(1, TopicPartition(topic, partition), offset)
    with pytest.raises(InvalidFields) as refused:
        translate_one(flow, translator(), question, FORWARD, limits)
    assert list(refused.value.errors) == [field]
    assert words in refused.value.errors[field]


def test_the_end_of_the_log_is_an_offset_that_a_group_can_have(flow):
    limits = Limits("east", {"orders": 3}, {ORDERS: 300})
    assert translate_one(flow, translator(), Question(1, ORDERS, 300), FORWARD, limits).lo == 601


def test_in_a_list_what_is_not_there_is_said_at_its_line(flow):
    limits = Limits("east", {"orders": 3}, {ORDERS: 300})
    questions = [Question(1, ORDERS, 301), Question(2, ORDERS, 200)]
    wrong, right = translate_all(flow, translator(), questions, FORWARD, limits)
    assert (wrong.lo, wrong.reason) == (None, "The log end offset of orders-0 on east is 300.")
    assert right.exact


def test_page_and_rest_refuse_a_topic_that_the_flow_leaves_out(client, flow):
    query = {"direction": "forward", "topic": "clicks", "partition": 0, "offset": 5}
    shown = html.unescape(client.get(address(flow), query).content.decode())
    assert "The patterns of the flow exclude this topic." in shown
    assert "Reason</dt>" not in shown
    answer = client.get(f"/api/v1/flows/{flow.pk}/translate/", query)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, ["topic"])


def test_the_answers_as_csv_are_safe_for_spreadsheets(flow):
    text = to_csv(ask(flow, ("=cmd", 0, 1), ("orders", 0, 100)))
    lines = text.splitlines()
    assert lines[0].startswith("line,group,topic,partition,offset,to_topic,lo,hi,exact,reason")
    assert lines[1].startswith("1,,'=cmd,0,1,")
    assert lines[2].startswith("2,,orders,0,100,east.orders,500,500,true,")


def test_one_question_stands_in_the_address(client, flow):
    answer = client.get(
        address(flow), {"direction": "forward", "topic": "orders", "partition": 0, "offset": 5}
    )
    assert answer.status_code == 200
    assert "This partition has no offset sync" in html.unescape(answer.content.decode())


def test_a_wrong_question_is_said_at_its_field(client, flow):
    answer = client.get(
        address(flow), {"direction": "forward", "topic": "orders", "partition": -1, "offset": "x"}
    )
    assert "Enter a whole number" in html.unescape(answer.content.decode())


def test_a_pasted_list_names_the_lines_that_it_could_not_read(client, flow):
    _, shown = post(client, flow, text="orders,0,5\norders,x,5")
    assert "read as CSV" in shown
    assert "Line 2" in shown
    assert "'x' is no partition" in shown


def test_an_uploaded_list_is_read(client, flow):
    upload = SimpleUploadedFile("offsets.json", b'{"orders":{"0":5}}')
    _, shown = post(client, flow, file=upload)
    assert "read as JSON" in shown


def test_a_list_comes_back_as_csv(client, flow):
    answer, text = post(client, flow, text="orders,0,5", csv="1")
    assert answer.headers["Content-Type"].startswith("text/csv")
    assert "orders,0,5" in text


@pytest.mark.parametrize(
    ("form", "words"),
    [
        pytest.param({}, "Paste a list of offsets", id="nothing"),
        pytest.param({"text": "garbage"}, "Line 1: Fields: 1. Needed", id="garbage"),
        pytest.param(
            {"file": SimpleUploadedFile("x", b"\xff\xfe\x00")}, "Byte 0 is not UTF-8", id="binary"
        ),
        pytest.param(
            {"file": SimpleUploadedFile("x", b"a" * (LARGEST_UPLOAD_BYTES + 600_000))},
            "larger than 5 MiB and was not read",
            id="too large",
        ),
    ],
)
def test_what_is_no_list_is_told_at_its_field(client, flow, form, words):
    answer, shown = post(client, flow, **form)
    assert answer.status_code == 200
    assert words in shown


def test_a_list_over_rest_is_answered_in_its_order(client, flow):
    body = {"offsets": [{"topic": "orders", "partition": 0, "offset": n} for n in (7, 3)]}
    answer = client.post(f"/api/v1/flows/{flow.pk}/translate/", body, "application/json")
    assert answer.status_code == 200
    assert [one["offset"] for one in answer.json()["translations"]] == [7, 3]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"offsets": []},
        {"offsets": [{"topic": "orders", "partition": 0}]},
        {"offsets": [{"topic": "orders", "partition": 0, "offset": -1}]},
        {"offsets": [{"topic": "orders", "partition": 0, "offset": 1}], "direction": "up"},
    ],
)
def test_a_wrong_list_over_rest_is_refused_at_its_field(client, flow, body):
    answer = client.post(f"/api/v1/flows/{flow.pk}/translate/", body, "application/json")
    assert answer.status_code == 400


def test_one_offset_over_rest_is_in_the_address(client, flow):
    query = {"topic": "orders", "partition": 0, "offset": 7}
    found = client.get(f"/api/v1/flows/{flow.pk}/translate/", query).json()
    assert (found["lo"], found["exact"], found["line"]) == (None, False, 1)
    assert client.get(f"/api/v1/flows/{flow.pk}/translate/", {"topic": "orders"}).status_code == 400

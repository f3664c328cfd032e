"""The translation workbench: one offset or a list, both ways, with what proves the answers."""

import html

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from console.frame.uploads import LARGEST_UPLOAD_BYTES
from console.replication.workbench import FORWARD, REVERSE, to_csv, translate_all
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.questions import Question
from tests.console.making import make_flow, make_partition
from tests.console.replication.readiness_world import translator

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
    assert between.evidence_text == "100 > 500; 200 > 600"


def test_the_way_back_asks_by_the_names_of_the_target(flow):
    (found,) = ask(flow, ("east.orders", 0, 500), direction=REVERSE)
    assert found.to_topic == "orders"
    assert found.lo <= 100
    assert found.mm2 is None


@pytest.mark.parametrize(
    ("question", "direction", "words"),
    [
        (("clicks", 0, 1), FORWARD, "patterns leave this topic out"),
        (("orders", 7, 1), FORWARD, "no offset sync of this partition"),
        (("orders", 0, 1), REVERSE, "copies no such partition"),
    ],
)
def test_what_cannot_be_answered_says_why(flow, question, direction, words):
    (found,) = ask(flow, question, direction=direction)
    assert (found.lo, found.hi, found.exact) == (None, None, False)
    assert words in found.reason


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
    assert "There is no offset sync of this partition" in html.unescape(answer.content.decode())


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
        pytest.param({"text": "garbage"}, "Line 1: It has 1 fields", id="garbage"),
        pytest.param(
            {"file": SimpleUploadedFile("x", b"\xff\xfe\x00")}, "Byte 0 is not UTF-8", id="binary"
        ),
        pytest.param(
            {"file": SimpleUploadedFile("x", b"a" * (LARGEST_UPLOAD_BYTES + 600_000))},
            "larger than 5 MiB, and nothing of it was read",
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

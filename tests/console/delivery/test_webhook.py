import base64
import hashlib

import pytest

from console.delivery.models import DeliveryState
from console.delivery.outbox import deliver_due
from console.reports.sending.source import LARGEST_FILES_BYTES
from jobs.reports.document import Document
from jobs.reports.rendering.formats import Format
from tests.console.delivery.making import DAY, NOW, PDF, make_document, queue_one

pytestmark = pytest.mark.django_db


def sent(delivery, now=NOW):
    deliver_due(now)
    delivery.refresh_from_db()
    return delivery


def test_a_receiver_gets_the_report_and_its_files(receiver):
    delivery = sent(queue_one("webhook", receiver.url))
    assert (receiver.body["type"], receiver.body["timestamp"]) == (
        "report.ready", "2026-11-23T07:00:00.000Z"
    )  # fmt: skip
    body = receiver.body["data"]
    assert (body["name"], body["kind"]) == ("Weekly availability", "availability")
    assert body["headline"] == "All topics were available 99.98 % of the week."
    assert (body["run"], body["delivery"], body["link"]) == (
        str(delivery.run_id),
        delivery.pk,
        None,
    )
    assert body["verdicts"][0]["word"] == "Available"
    assert Document.from_mapping(body["document"]) == make_document()
    (file,) = body["files"]
    assert (base64.b64decode(file["content"]), file["bytes"]) == (PDF, len(PDF))
    assert file["sha256"] == hashlib.sha256(PDF).hexdigest()
    assert delivery.state == DeliveryState.DELIVERED


def test_a_receiver_gets_what_could_not_be_made(receiver):
    error = "PDF could not be made: TypstError."
    sent(queue_one("webhook", receiver.url, files={Format.CSV: b"zip"}, error=error))
    assert receiver.body["data"]["error"] == error
    assert [file["format"] for file in receiver.body["data"]["files"]] == ["csv"]


def test_json_is_sent_once_as_the_document(receiver):
    sent(queue_one("webhook", receiver.url, files={}, formats=["json"]))
    assert [file["content"] for file in receiver.body["data"]["files"]] == [None]


def test_files_that_are_too_large_are_named_only(receiver):
    large = b"x" * (LARGEST_FILES_BYTES + 1)
    sent(queue_one("webhook", receiver.url, files={Format.PDF: large, Format.CSV: b"zip"}))
    contents = {file["format"]: file["content"] for file in receiver.body["data"]["files"]}
    assert contents == {"pdf": None, "csv": base64.b64encode(b"zip").decode()}


def test_a_receiver_can_check_the_signature(receiver):
    sent(queue_one("webhook", receiver.url))
    assert receiver.is_signed("a key of twenty letters")
    assert not receiver.is_signed("another key of letters")


def test_a_second_attempt_has_the_same_id_and_body_and_a_new_signature(receiver):
    receiver.status = 503
    delivery = sent(queue_one("webhook", receiver.url))
    receiver.status = 200
    sent(delivery, delivery.next_at)
    (first, body), (second, again) = receiver.got
    assert body == again
    assert first["webhook-id"] == second["webhook-id"] == f"delivery-{delivery.pk}"
    assert int(second["webhook-timestamp"]) - int(first["webhook-timestamp"]) >= 60
    assert receiver.is_signed("a key of twenty letters")
    assert delivery.state == DeliveryState.DELIVERED


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (202, "delivered"), (301, "refused"), (302, "pending"), (307, "pending"), (308, "refused"), (400, "refused"), (401, "refused"),
        (404, "refused"), (410, "refused"), (408, "pending"), (425, "pending"), (429, "pending"),
        (500, "pending"), (503, "pending"),
    ],
)  # fmt: skip
def test_the_status_decides(receiver, status, state):
    receiver.status, receiver.answer = status, b"said\r\nso \xe2\x80\xae"
    delivery = sent(queue_one("webhook", receiver.url))
    assert delivery.state == state
    assert f"answered {status}: said so." in delivery.sentence
    assert len(receiver.got) == 1


def test_a_key_that_comes_back_is_not_stored(receiver):
    receiver.status, receiver.answer = 400, b"bad key: a key of twenty letters"
    assert "twenty" not in str(sent(queue_one("webhook", receiver.url)).log)


@pytest.mark.parametrize(
    "said",
    [
        b"Cannot POST /in?token=PLANTED-0815",
        b"no token PLANTED-0815",
        b"/in%3Ftoken%3DPLANTED-0815",
        b" " * 990 + b"PLANTED-0815",
    ],
    ids=["the path", "the token", "quoted", "where the answer is cut"],
)
@pytest.mark.parametrize("status", [200, 302, 404, 500])
def test_what_a_receiver_repeats_of_its_address_is_not_stored(receiver, said, status):
    receiver.status, receiver.answer = status, said
    delivery = sent(queue_one("webhook", receiver.url.replace("abc", "PLANTED-0815")))
    assert f"answered {status}" in delivery.sentence
    assert "PLANT" not in str(delivery.log)


@pytest.mark.parametrize(
    ("target", "planted"),
    [
        pytest.param("in/PLANT1", "PLANT1", id="with a digit"),
        pytest.param("in?key=PLANTS", "PLANTS", id="a value of the query"),
        pytest.param("in?key=a%2FPLANT", "a/PLANT", id="a value that is quoted"),
    ],
)
def test_a_short_secret_of_its_address_that_a_receiver_repeats_is_not_stored(
    receiver, target, planted
):
    receiver.status, receiver.answer = 404, f"unknown key {planted}".encode()
    delivery = sent(queue_one("webhook", receiver.url.replace("in?token=abc", target)))
    assert "unknown key (secret)" in delivery.sentence
    assert "PLANT" not in str(delivery.log)


def test_an_address_that_the_guard_refuses_is_refused(receiver, settings):
    settings.OUTBOUND_NETWORKS = []
    delivery = sent(queue_one("webhook", receiver.url))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert "which is not public" in delivery.sentence


def test_without_a_key_nothing_is_sent(receiver, settings):
    settings.WEBHOOK_KEY = ""
    delivery = sent(queue_one("webhook", receiver.url))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert "set WEBHOOK_KEY" in delivery.sentence


def test_a_receiver_that_is_away_is_tried_again(receiver):
    url = receiver.url
    receiver._server.server_close()
    delivery = sent(queue_one("webhook", url))
    assert delivery.state == DeliveryState.PENDING
    assert "did not answer" in delivery.sentence
    assert delivery.created_at + DAY > delivery.next_at

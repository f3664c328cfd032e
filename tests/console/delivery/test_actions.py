import pytest

from console.accounts.models import AuditEntry, Outcome
from console.delivery import actions
from console.delivery.models import DeliveryState
from console.delivery.outbox import GIVE_UP_AFTER, deliver_due
from console.frame.errors import ActionRefused
from console.frame.security.masking import mark_of
from jobs.cluster.errors import InvalidFields
from tests.console.delivery.mail_server import Mailbox
from tests.console.delivery.making import DAY, MINUTE, NOW, make_delivery, queue_one

pytestmark = pytest.mark.django_db

TO = "ops@example.org"


def test_a_refused_delivery_is_tried_again_for_three_days_more(mail_servers, settings):
    mail_servers.start(Mailbox(rcpt={"ops": "550 no such user"}))
    delivery = queue_one("email", TO)
    deliver_due(NOW)
    settings.EMAIL_PORT = 1
    actions.retry(delivery.pk, NOW + 5 * DAY)
    deliver_due(NOW + 5 * DAY)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (DeliveryState.PENDING, 1)
    assert [line["outcome"] for line in delivery.log] == ["refused", "retry", "pending"]
    mailbox = mail_servers.start()
    assert deliver_due(NOW + 5 * DAY + GIVE_UP_AFTER) == 1
    assert len(mailbox.messages) == 1


@pytest.mark.parametrize("state", [DeliveryState.PENDING, DeliveryState.DELIVERED])
def test_what_is_under_way_or_delivered_is_not_tried_again(state):
    delivery = make_delivery(state=state)
    with pytest.raises(ActionRefused) as refusal:
        actions.retry(delivery.pk, NOW + MINUTE)
    assert refusal.value.code == "not_over"


def test_a_delivery_that_is_gone_is_said():
    with pytest.raises(ActionRefused, match="not there any more"):
        actions.retry(4711, NOW)


def test_a_retry_is_in_the_trail():
    delivery = make_delivery()
    actions.retry(delivery.pk, NOW)
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.subject) == ("report.retry_delivery", f"delivery:{delivery.pk}")


def test_a_test_mail_is_sent_at_once_and_says_what_the_server_said(mailbox, admin):
    said = actions.send_test("email", TO, admin, NOW)
    assert said.endswith("accepted it: 250 OK: queued as 4711.")
    (message,) = mailbox.messages
    assert (message["To"], message["Subject"]) == (TO, "crosslog test message")
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.outcome) == (admin, Outcome.DONE)
    assert entry.subject == f"email o…@example.org {mark_of(TO)}"
    assert TO not in str(entry.after)


def test_a_test_of_a_folder_writes_a_file(folder, admin):
    actions.send_test("folder", "weekly", admin, NOW)
    assert "can write" in (folder / "weekly" / "crosslog-test.txt").read_text()


def test_a_test_of_a_webhook_is_signed(receiver, admin):
    receiver.answer = b"thanks"
    assert actions.send_test("webhook", receiver.url, admin, NOW).endswith("answered 200: thanks.")
    assert (receiver.body["type"], receiver.body["data"]) == ("report.test", {})
    assert receiver.is_signed("a key of twenty letters")
    assert "token=abc" not in AuditEntry.objects.get().subject


def test_a_test_that_fails_says_why_and_is_in_the_trail(mail_servers, admin):
    mail_servers.start(Mailbox(rcpt={"ops": "550 no such user"}))
    with pytest.raises(ActionRefused, match="550 no such user"):
        actions.send_test("email", TO, admin, NOW)
    assert AuditEntry.objects.get().outcome == Outcome.FAILED


def test_a_wrong_address_is_refused_at_its_field(mail_servers, admin):
    with pytest.raises(InvalidFields) as wrong:
        actions.send_test("email", "ops", admin, NOW)
    assert list(wrong.value.errors) == ["address"]

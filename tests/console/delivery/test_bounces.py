import io
import sys
from email.message import EmailMessage
from types import SimpleNamespace

import pytest
from django.core.management import call_command

from console.delivery.bounces import take_bounce
from console.delivery.models import DeliveryState
from console.delivery.outbox import deliver_due
from tests.console.delivery.making import MINUTE, NOW, queue_one

pytestmark = pytest.mark.django_db

STATUS = """\
Reporting-MTA: dns; mail.example.org

Final-Recipient: rfc822; ops@example.org
Action: {action}
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 mailbox
  unavailable

"""


def notification(
    message_id, action="failed", original="text/rfc822-headers", kind="delivery-status"
):
    """What a mail server sends back (RFC 3464), written out."""
    return f"""\
From: MAILER-DAEMON@mail.example.org
To: crosslog@example.org
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
Message-ID: <bounce-1@mail.example.org>
MIME-Version: 1.0
Content-Type: multipart/report; report-type={kind}; boundary="b"

--b
Content-Type: text/plain

Sorry.
--b
Content-Type: message/delivery-status

{STATUS.format(action=action)}
--b
Content-Type: {original}

From: crosslog@example.org
To: ops@example.org
Message-ID: {message_id}
Subject: Weekly availability

--b--
""".encode()


@pytest.fixture
def delivery(mailbox):
    delivery = queue_one("email", "ops@example.org")
    deliver_due(NOW)
    delivery.refresh_from_db()
    return delivery


@pytest.mark.parametrize("original", ["text/rfc822-headers", "message/rfc822"])
def test_a_mail_that_came_back_was_refused_for_the_reason_it_says(delivery, original):
    found = take_bounce(notification(delivery.message_id, original=original), NOW + MINUTE)
    assert found.pk == delivery.pk
    assert (found.state, found.delivered_at) == (DeliveryState.REFUSED, None)
    assert found.sentence == (
        "The e-mail came back: ops@example.org: smtp; 550 5.1.1 mailbox unavailable."
    )


def ordinary(message_id):
    message = EmailMessage()
    message["In-Reply-To"] = message["Message-ID"] = message_id
    message.set_content("I am on holiday. Action: failed")
    return message.as_bytes()


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(lambda own: notification(own, action="delayed"), id="a delay"),
        pytest.param(lambda own: notification(own, action="relayed"), id="relayed"),
        pytest.param(lambda own: notification(own, kind="disposition-notification"), id="read"),
        pytest.param(lambda own: notification("<other@example.org>"), id="of another mail"),
        pytest.param(lambda own: notification(own.replace("-1-", "-1-0")), id="of no delivery"),
        pytest.param(ordinary, id="an answer of a person"),
        pytest.param(lambda own: b"\xff\x00" * 100, id="no mail"),
        pytest.param(lambda own: b"", id="nothing"),
        pytest.param(lambda own: notification(own)[:500], id="cut off"),
    ],
)
def test_no_other_message_changes_anything(delivery, message):
    assert take_bounce(message(delivery.message_id), NOW) is None
    delivery.refresh_from_db()
    assert delivery.state == DeliveryState.DELIVERED


def test_a_bounce_that_comes_twice_is_written_once(delivery):
    raw = notification(delivery.message_id)
    assert take_bounce(raw, NOW)
    assert take_bounce(raw, NOW) is None
    delivery.refresh_from_db()
    assert len(delivery.log) == 2


def test_a_mail_server_pipes_it_into_a_command(delivery, monkeypatch, capsys):
    raw = io.BytesIO(notification(delivery.message_id))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
    call_command("take_bounce")
    assert capsys.readouterr().out.startswith(f"Delivery {delivery.pk}: The e-mail came back")

import pytest

from console.delivery.models import DeliveryState
from console.delivery.outbox import deliver_due
from console.delivery.results import quoted
from console.reports.making.parts import MailBody
from console.reports.sending.contents import Contents
from console.reports.sending.message import LARGEST_ATTACHED_BYTES, report_message
from jobs.reports.rendering.formats import Format
from tests.console.delivery.mail_server import Mailbox
from tests.console.delivery.making import NOW, PDF, queue_one
from tests.jobs.cluster.protocol.certificates import Authority

pytestmark = pytest.mark.django_db

TO = "ops@example.org"
RTL, HOSTILE = "\u202egnp.exe", "Weekly\r\nBcc: eve@example.org"


def sent(delivery):
    """Send what is due and return the delivery afterwards."""
    deliver_due(NOW)
    delivery.refresh_from_db()
    return delivery


def test_a_mail_has_the_report_as_its_body_and_the_other_formats_attached(mailbox):
    delivery = sent(queue_one("email", TO, files={Format.HTML: b"<p>", Format.PDF: PDF}))
    (message,) = mailbox.messages
    text = message.get_body(("plain",)).get_content()
    html = message.get_body(("html",)).get_content()
    assert "Available: All topics were available 99.98 % of the week." in text
    assert "Topics: 16 022" in text.replace("\u202f", " ").replace("\u00a0", " ").replace(",", " ")
    assert "All topics were available" in html
    files = [(part.get_filename(), part.get_content()) for part in message.iter_attachments()]
    assert files == [("crosslog-availability-2026-11-16.pdf", PDF)]
    assert (delivery.state, delivery.attempts) == (DeliveryState.DELIVERED, 1)
    assert delivery.sentence.endswith("accepted it: 250 OK: queued as 4711.")


def test_a_mail_says_who_it_is_from_and_that_no_person_wrote_it(mailbox):
    delivery = sent(queue_one("email", TO))
    (message,) = mailbox.messages
    assert mailbox.senders == ["crosslog@example.org"]
    assert (message["From"], message["To"]) == ("Crosslog <crosslog@example.org>", TO)
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"].datetime.replace(microsecond=0) == NOW
    assert message["Message-ID"] == delivery.message_id
    assert message["X-Crosslog-Delivery"] == str(delivery.pk)


def test_a_name_cannot_add_headers_or_turn_the_subject_around(mailbox):
    sent(queue_one("email", TO, name=f"{HOSTILE} {RTL} {'x' * 150}"))
    (message,) = mailbox.messages
    assert message["Bcc"] is None
    assert message["Subject"].startswith(
        r"Weekly\u000d\u000aBcc: eve@example.org \u202egnp.exe xxx"
    )


def test_what_is_too_large_for_a_mail_is_named_instead(mailbox):
    sent(
        queue_one(
            "email", TO, files={Format.PDF: b"x" * (LARGEST_ATTACHED_BYTES + 1), Format.CSV: b"zip"}
        )
    )
    (message,) = mailbox.messages
    assert "PDF is not attached" in message.get_body(("plain",)).get_content()
    assert [part.get_content() for part in message.iter_attachments()] == [b"zip"]


def test_pictures_are_inside_the_html(mailbox):
    delivery = queue_one("email", TO)
    contents = Contents(delivery.run)
    contents.mail = MailBody(
        "text", '<img src="cid:lag@crosslog" alt="lag">', {"lag@crosslog": b"png"}
    )
    message = report_message(delivery, contents, NOW).message()
    related = message.get_body(("related",))
    (picture,) = [part for part in related.walk() if part.get_content_type() == "image/png"]
    assert (picture["Content-ID"], picture.get_content()) == ("<lag@crosslog>", b"png")


@pytest.mark.parametrize("kind", ["starttls", "tls"])
def test_a_private_server_is_trusted_by_its_certificate(mail_servers, settings, tmp_path, kind):
    authority = Authority()
    settings.MAIL_CA = str(tmp_path / "ca.pem")
    (tmp_path / "ca.pem").write_text(authority.pem)
    settings.MAIL_TLS = kind
    settings.EMAIL_USE_TLS, settings.EMAIL_USE_SSL = kind == "starttls", kind == "tls"
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "crosslog", "a long password"
    mailbox = mail_servers.start(
        tls=authority.server(tmp_path), is_tls_first=kind == "tls", user=("crosslog", "a long password")
    )  # fmt: skip
    assert sent(queue_one("email", TO)).state == DeliveryState.DELIVERED
    assert len(mailbox.messages) == 1


@pytest.mark.parametrize(
    "name", ["127.0.0.1", "mail.example.org"], ids=["unknown CA", "other name"]
)
def test_a_server_with_another_certificate_gets_nothing(mail_servers, settings, tmp_path, name):
    authority, other = Authority(), Authority()
    settings.MAIL_CA = str(tmp_path / "ca.pem")
    trusted = other if name == "127.0.0.1" else authority
    (tmp_path / "ca.pem").write_text(trusted.pem)
    settings.EMAIL_USE_TLS = True
    mailbox = mail_servers.start(tls=authority.server(tmp_path, name))
    delivery = sent(queue_one("email", TO))
    assert (delivery.state, mailbox.messages) == (DeliveryState.PENDING, [])
    assert "its certificate is not trusted" in delivery.sentence
    assert "MAIL_CA" in delivery.sentence


def test_a_server_without_starttls_gets_nothing(mailbox, settings):
    settings.EMAIL_USE_TLS = True
    delivery = sent(queue_one("email", TO))
    assert (delivery.state, mailbox.messages) == (DeliveryState.PENDING, [])
    assert "STARTTLS" in delivery.sentence


@pytest.mark.parametrize(
    ("answers", "state", "sentence"),
    [
        pytest.param(
            {"rcpt": {"ops": "550 5.1.1 no such user here"}}, "refused",
            "refused ops@example.org: 550 5.1.1 no such user here.", id="recipient refused",
        ),
        pytest.param(
            {"rcpt": {"ops": "451 4.7.1 greylisted"}}, "pending",
            "refused ops@example.org: 451 4.7.1 greylisted.", id="recipient deferred",
        ),
        pytest.param(
            {"data": "554 5.6.0 spam"}, "refused", "refused the message: 554 5.6.0", id="message refused"
        ),
        pytest.param(
            {"data": "452 4.3.1 disk full"}, "pending", "refused the message: 452", id="message deferred"
        ),
    ],
)  # fmt: skip
def test_what_the_server_answers_decides(mail_servers, answers, state, sentence):
    mail_servers.start(Mailbox(**answers))
    delivery = sent(queue_one("email", TO))
    assert delivery.state == state
    assert sentence in delivery.sentence


def test_what_a_server_says_is_one_short_line_in_which_every_character_is_seen():
    said = quoted("no\r\n\x1b[31m \u202euser".encode() + b"\xff" + b"x" * 500)
    assert said.startswith("no [31m user\ufffdxxx")
    assert len(said) <= 200
    assert said.isprintable()


def test_a_wrong_password_is_said_and_not_shown(mail_servers, settings):
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "crosslog", "a wrong password"
    mail_servers.start(user=("crosslog", "the right one"))
    delivery = sent(queue_one("email", TO))
    assert delivery.state == DeliveryState.PENDING
    assert "refused the sign-in of MAIL_USER: 535" in delivery.sentence
    assert "a wrong password" not in str(delivery.log)


def test_a_server_that_is_not_there_is_tried_again(mail_servers, settings):
    settings.EMAIL_PORT = 1
    delivery = sent(queue_one("email", TO))
    assert delivery.state == DeliveryState.PENDING
    assert delivery.sentence == "127.0.0.1:1 did not answer: Connection refused."


def test_a_server_that_says_a_letter_now_and_then_holds_nothing_up(silent):
    delivery = sent(queue_one("email", TO))
    assert delivery.state == DeliveryState.PENDING
    assert "no whole answer within 0.3 s" in delivery.sentence

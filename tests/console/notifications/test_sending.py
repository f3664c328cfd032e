import itertools
import json
import logging
import socket
from datetime import timedelta

import pytest
from django.utils import timezone
from standardwebhooks import Webhook

from console.delivery.models import Delivery, DeliveryState
from console.delivery.outbox import deliver_due, prune
from console.delivery.results import Refused, TryAgain
from console.frame.security import masking, sealing
from console.notifications.models import NotificationChannel
from console.notifications.sending.channels import send_test
from jobs.notifications.message import Event
from tests.console.delivery.making import DAY, MINUTE, NOW
from tests.jobs.notifications.messages import make_item, make_message

pytestmark = pytest.mark.django_db

OPS, DEV = "ops@example.org", "dev@example.org"
WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
PLANTED = "PLANTED-0815-TOKEN"
HOSTILE = "<b>orders</b>\r\nBcc: eve@example.org \u202egnp"
_keys = itertools.count(1)


def make_channel(kind, address="", **fields):
    secrets = fields.pop("secrets", {})
    values = {"name": f"{kind} {next(_keys)}", "changed_at": NOW, "sealed": sealing.seal(secrets)}
    shown = address or masking.shown_address(secrets["url"])
    return NotificationChannel.objects.create(kind=kind, address=shown, **values | fields)


def queue_message(channel, message=None, at=NOW, **fields):
    values = {
        "source": "notification",
        "key": f"notification:{next(_keys)}",
        "sender": channel,
        "content": (message or make_message()).to_mapping(),
        "channel": channel.kind,
        "address": channel.address,
        "created_at": at,
        "next_at": at,
    }
    return Delivery.objects.create(**values | fields)


def sent(delivery, now=NOW):
    deliver_due(now)
    delivery.refresh_from_db()
    return delivery


@pytest.fixture
def webhook(receiver):
    return make_channel("webhook", secrets={"url": receiver.url, "key": WHSEC})


@pytest.fixture
def alertmanager(receiver):
    secrets = {"url": receiver.url, "token": PLANTED}
    return make_channel("alertmanager", secrets=secrets, name="on call")


@pytest.fixture
def mail_channel():
    return make_channel("email", f"{OPS}\n{DEV}")


def queue_mail(channel, message=None, address=OPS, **fields):
    return queue_message(channel, message, address=address, **fields)


def test_a_webhook_passes_the_check_of_standard_webhooks(webhook, receiver):
    now = timezone.now()
    delivery = sent(queue_message(webhook, at=now), now)
    headers, body = receiver.got[-1]
    told = Webhook(WHSEC).verify(body, headers)
    assert (told["type"], told["timestamp"]) == ("incident.opened", "2026-11-23T07:00:00.000Z")
    assert told["data"]["incidents"][0]["title"] == "Broker 1 of east down"
    assert delivery.state == DeliveryState.DELIVERED


def test_a_channel_without_a_key_signs_with_that_of_the_settings(receiver):
    channel = make_channel("webhook", secrets={"url": receiver.url})
    sent(queue_message(channel))
    assert receiver.is_signed("a key of twenty letters")


def test_no_webhook_is_sent_without_a_signature(receiver, settings):
    settings.WEBHOOK_KEY = ""
    channel = make_channel("webhook", secrets={"url": receiver.url})
    delivery = sent(queue_message(channel))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert delivery.sentence.endswith("enter one, or set WEBHOOK_KEY.")


def test_a_receiver_that_fails_gets_the_same_id_and_body_again(webhook, receiver):
    receiver.status = 500
    delivery = sent(queue_message(webhook))
    receiver.status = 200
    assert sent(delivery, delivery.next_at).state == DeliveryState.DELIVERED
    (first, body), (second, again) = receiver.got
    assert (body, first["webhook-id"]) == (again, second["webhook-id"])
    assert "." not in first["webhook-id"]
    assert int(second["webhook-timestamp"]) > int(first["webhook-timestamp"])


def test_two_messages_have_different_ids(webhook, receiver):
    queue_message(webhook, make_message(group="one"))
    sent(queue_message(webhook, make_message(group="two")))
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 2


def test_a_channel_that_was_down_for_a_day_gets_each_message_once_and_in_order(webhook, receiver):
    receiver.status = 503
    opened = queue_message(webhook)
    resolved = queue_message(
        webhook, make_message(event=Event.RESOLVED), at=NOW + timedelta(hours=20)
    )
    at = NOW
    while at < NOW + DAY:
        deliver_due(at)
        at = Delivery.objects.order_by("next_at").first().next_at
    receiver.status, before = 200, len(receiver.got)
    for minute in range(8 * 60):
        deliver_due(NOW + DAY + minute * MINUTE)
    types = [json.loads(body)["type"] for _, body in receiver.got[before:]]
    assert types == ["incident.opened", "incident.resolved"]
    assert {json.loads(body)["type"] for _, body in receiver.got[:before]} == {"incident.opened"}
    for delivery in (opened, resolved):
        delivery.refresh_from_db()
        assert delivery.state == DeliveryState.DELIVERED


def test_only_the_last_reminder_of_an_incident_is_sent_when_a_channel_is_back(webhook, receiver):
    events = (Event.OPENED, Event.REMINDER, Event.REMINDER)
    rows = [queue_message(webhook, make_message(event=event)) for event in events]
    queue_message(webhook, make_message(make_item(8), event=Event.REMINDER))
    deliver_due(NOW)
    bodies = [json.loads(body) for _, body in receiver.got]
    told = [(one["type"], one["data"]["incidents"][0]["id"]) for one in bodies]
    reminder = "incident.reminder"
    assert told == [("incident.opened", 1), (reminder, 1), (reminder, 8)]
    rows[1].refresh_from_db()
    assert rows[1].sentence == "Not sent: a later message of the same incidents is on its way."


def test_what_waited_for_an_earlier_message_is_due_as_soon_as_that_is_sent(webhook, receiver):
    first = queue_message(webhook)
    later = queue_message(webhook, make_message(event=Event.RESOLVED), next_at=NOW + 15 * MINUTE)
    sent(first)
    assert sent(later, NOW + MINUTE).state == DeliveryState.DELIVERED


def test_a_new_message_brings_forward_an_earlier_one_that_waits_for_hours(webhook, receiver):
    earlier = queue_message(webhook, next_at=NOW + timedelta(hours=4))
    later = sent(queue_message(webhook, make_message(event=Event.WORSE)))
    assert later.sentence == "Earlier messages of the same incidents are sent first."
    sent(earlier, NOW + timedelta(seconds=10))
    assert sent(later, later.next_at).state == DeliveryState.DELIVERED
    types = [json.loads(body)["type"] for _, body in receiver.got]
    assert types == ["incident.opened", "incident.worse"]


def test_a_message_of_other_incidents_waits_for_none(webhook, receiver):
    queue_message(webhook, make_message(group="other"), next_at=NOW + DAY)
    assert sent(queue_message(webhook)).state == DeliveryState.DELIVERED


def test_a_receiver_that_hangs_costs_one_time_out_and_holds_up_no_other(
    receiver, settings, mailbox, mail_channel
):
    settings.OUTBOUND_TIMEOUT_S = 0.2
    with socket.create_server(("127.0.0.1", 0)) as hung:
        url = f"http://127.0.0.1:{hung.getsockname()[1]}/in"
        channel = make_channel("webhook", secrets={"url": url, "key": WHSEC})
        first = queue_message(channel, make_message(group="one"))
        second = queue_message(channel, make_message(group="two"))
        mail = sent(queue_mail(mail_channel))
        hung.setblocking(False)
        hung.accept()[0].close()
        with pytest.raises(BlockingIOError):
            hung.accept()
    assert mail.state == DeliveryState.DELIVERED
    for delivery in (first, second):
        delivery.refresh_from_db()
        assert delivery.state == DeliveryState.PENDING
        assert "did not answer: no answer in time" in delivery.sentence


def test_a_redirect_is_refused_and_not_followed(webhook, receiver):
    receiver.status = 301
    delivery = sent(queue_message(webhook))
    assert (delivery.state, len(receiver.got)) == (DeliveryState.REFUSED, 1)
    assert "Redirects are not followed" in delivery.sentence


@pytest.mark.parametrize("kind", ["webhook", "alertmanager"])
def test_an_address_of_a_private_network_is_refused(request, kind, receiver, settings):
    channel = request.getfixturevalue(kind)
    settings.OUTBOUND_NETWORKS = []
    delivery = sent(queue_message(channel))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert "which is not public" in delivery.sentence


def test_an_alertmanager_webhook_has_its_body_and_a_token_and_no_signature(alertmanager, receiver):
    delivery = sent(queue_message(alertmanager))
    headers, _ = receiver.got[-1]
    assert headers["Authorization"] == f"Bearer {PLANTED}"
    assert "webhook-signature" not in headers
    assert (receiver.body["version"], receiver.body["receiver"]) == ("4", "on call")
    assert receiver.body["alerts"][0]["labels"]["alertname"] == "BrokerDown"
    assert delivery.state == DeliveryState.DELIVERED


def test_a_token_that_no_header_can_have_is_refused_and_not_shown(receiver, caplog):
    secrets = {"url": receiver.url, "token": f"{PLANTED}\r\nHost: eve"}
    delivery = sent(queue_message(make_channel("alertmanager", secrets=secrets)))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert PLANTED not in f"{delivery.log}{caplog.text}"


@pytest.mark.parametrize("status", [200, 302, 404, 500])
@pytest.mark.parametrize(
    "said",
    [f"no {PLANTED}", f"POST /in?token={PLANTED}", f"key {WHSEC}"],
    ids=["token", "path", "key"],
)
@pytest.mark.parametrize("kind", ["webhook", "alertmanager"])
def test_what_a_receiver_repeats_of_secrets_is_in_no_sentence_and_no_log(
    receiver, caplog, kind, said, status
):
    caplog.set_level(logging.DEBUG)
    secrets = {"url": receiver.url.replace("abc", PLANTED), "token": PLANTED, "key": WHSEC}
    receiver.status, receiver.answer = status, said.encode()
    delivery = sent(queue_message(make_channel(kind, secrets=secrets)))
    assert f"answered {status}" in delivery.sentence
    for secret in (PLANTED, WHSEC):
        assert secret not in f"{delivery.log}{delivery.address}{caplog.text}"


def test_a_removed_channel_gets_nothing(webhook, receiver):
    delivery = queue_message(webhook)
    webhook.delete()
    assert sent(delivery).state == DeliveryState.REFUSED
    assert (delivery.sentence, receiver.got) == ("This channel was removed.", [])


def test_a_disabled_channel_gets_nothing(webhook, receiver):
    NotificationChannel.objects.update(is_enabled=False)
    delivery = sent(queue_message(webhook))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert delivery.sentence == f"Channel {webhook.name} is disabled."


def test_secrets_of_another_secret_key_have_to_be_entered_once_more(webhook, receiver, settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another one", []
    delivery = sent(queue_message(webhook))
    assert (delivery.state, receiver.got) == (DeliveryState.REFUSED, [])
    assert delivery.sentence == (
        f"Enter the secrets of channel {webhook.name} once more: SECRET_KEY was changed."
    )


def test_a_mail_names_the_incident_as_text_and_as_html(mailbox, mail_channel, settings):
    settings.CROSSLOG_URL = "https://console.example.org"
    delivery = sent(queue_mail(mail_channel))
    (mail,) = mailbox.messages
    assert (mail["Subject"], mail["To"]) == ("[Critical] Broker 1 of east down", OPS)
    assert mail["Message-ID"] == delivery.message_id
    text = mail.get_body(("plain",)).get_content()
    assert "What to do: Start the broker." in text
    assert "https://console.example.org/incidents/" in text.splitlines()
    link = "https://console.example.org/incidents/1/"
    assert f'<a href="{link}">{link}</a>' in mail.get_body(("html",)).get_content()


def test_messages_of_a_group_are_one_thread(mailbox, mail_channel):
    for event in (Event.OPENED, Event.REMINDER, Event.RESOLVED):
        sent(queue_mail(mail_channel, make_message(event=event)))
    sent(queue_mail(mail_channel, make_message(group="other")))
    threads = [(mail["References"], mail["In-Reply-To"]) for mail in mailbox.messages]
    assert threads[0] == threads[1] == threads[2] != threads[3]
    assert threads[0][0] == threads[0][1]
    assert len({mail["Message-ID"] for mail in mailbox.messages}) == 4


def test_a_name_adds_no_header_and_no_markup_to_a_mail(mailbox, mail_channel):
    link = "https://console.example.org/incidents/1/"
    item = make_item(title=HOSTILE, sentence=f"{link}@eve.example", subject=HOSTILE)
    sent(queue_mail(mail_channel, make_message(item)))
    (mail,) = mailbox.messages
    html = mail.get_body(("html",)).get_content()
    assert mail["Bcc"] is None
    assert mail["Subject"] == (
        r"[Critical] <b>orders</b>\u000d\u000aBcc: eve@example.org \u202egnp"
    )
    assert r"&lt;b&gt;orders&lt;/b&gt;\u000d\u000aBcc" in html
    assert html.count("<a href=") == 1
    assert "\u202e" not in f"{html}{mail.get_body(('plain',)).get_content()}"


def test_an_encoded_word_of_a_name_adds_no_header_to_a_mail(mailbox, mail_channel):
    title = "=?utf-8?q?x=0D=0ABcc:_eve@example.org?="
    queue_mail(mail_channel, make_message(make_item(title=title)))
    deliver_due(NOW)
    (mail,) = mailbox.messages
    assert mail["Bcc"] is None
    assert mail["Subject"] == r"[Critical] \u003d?utf-8?q?x=0D=0ABcc:_eve@example.org?="


def test_what_was_queued_while_the_clock_was_a_day_ahead_is_sent_at_once(webhook):
    assert sent(queue_message(webhook, at=NOW + DAY)).state == DeliveryState.DELIVERED


def test_ended_notifications_are_removed_after_the_time_of_incidents(webhook, settings):
    sent(queue_message(webhook))
    waiting = queue_message(webhook, next_at=NOW + MINUTE)
    days = timedelta(days=settings.INCIDENTS_RETENTION_D)
    prune(NOW + days)
    assert Delivery.objects.count() == 2
    prune(NOW + days + MINUTE)
    assert Delivery.objects.get() == waiting


def test_an_address_that_was_removed_from_its_channel_gets_nothing(mailbox, mail_channel):
    delivery = queue_mail(mail_channel)
    NotificationChannel.objects.update(address=DEV)
    assert sent(delivery).state == DeliveryState.REFUSED
    assert delivery.sentence == f"{OPS} was removed from channel {mail_channel.name}."
    assert mailbox.messages == []


def test_the_domain_of_an_address_is_checked_again(mailbox, mail_channel, settings):
    settings.MAIL_DOMAINS = ["example.net"]
    delivery = sent(queue_mail(mail_channel))
    assert (delivery.state, mailbox.messages) == (DeliveryState.REFUSED, [])
    assert "MAIL_DOMAINS" in delivery.sentence


def test_a_mail_server_that_hangs_is_tried_again(silent, mail_channel):
    delivery = sent(queue_mail(mail_channel))
    assert (delivery.state, delivery.next_at > NOW) == (DeliveryState.PENDING, True)
    assert "did not answer" in delivery.sentence


@pytest.mark.parametrize("kind", ["webhook", "alertmanager"])
def test_a_test_is_sent_at_once(receiver, kind):
    secrets = {"url": receiver.url, "key": WHSEC, "token": PLANTED}
    sentence = send_test(kind, secrets, "", NOW)
    assert sentence.endswith("answered 200.")
    told = receiver.body
    assert told.get("type", told.get("version")) in {"notification.test", "4"}
    assert "crosslog test message" in json.dumps(told)
    assert not Delivery.objects.exists()


def test_a_test_by_mail_goes_to_each_address(mailbox):
    sentence = send_test("email", {}, f"{OPS}\n{DEV}", NOW)
    assert [mail["To"] for mail in mailbox.messages] == [OPS, DEV]
    assert mailbox.messages[0]["Subject"] == "crosslog test message"
    assert sentence.count("accepted it") == 2


@pytest.mark.parametrize(("status", "error"), [(404, Refused), (500, TryAgain)])
def test_a_test_that_fails_says_why_without_a_secret(receiver, status, error):
    receiver.status, receiver.answer = status, f"no {PLANTED}".encode()
    secrets = {"url": receiver.url, "token": PLANTED}
    with pytest.raises(error, match=f"answered {status}: no") as caught:
        send_test("alertmanager", secrets, "", NOW)
    assert PLANTED not in str(caught.value)

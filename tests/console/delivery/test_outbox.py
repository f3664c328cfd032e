import itertools
import os
import subprocess
import sys
from datetime import timedelta

import pytest

from console.delivery import outbox
from console.delivery.models import Delivery, DeliveryState
from console.delivery.outbox import claim, deliver_due
from console.reports.models import Trigger
from console.reports.sending.source import queue_deliveries
from tests.console.delivery.mail_server import Mailbox
from tests.console.delivery.making import (
    DAY,
    MINUTE,
    NOW,
    make_report_run,
    queue_one,
)

pytestmark = pytest.mark.django_db

OPS, DEV = ("email", "ops@example.org"), ("email", "dev@example.org")


def test_a_run_is_queued_once_for_each_recipient():
    run = make_report_run(OPS, DEV)
    assert queue_deliveries(run, NOW) == 2
    queue_deliveries(run, NOW + MINUTE)
    assert [(one.address, one.next_at) for one in run.deliveries.all()] == [
        ("ops@example.org", NOW),
        ("dev@example.org", NOW),
    ]


def test_a_preview_is_sent_to_nobody():
    assert queue_deliveries(make_report_run(OPS, trigger=Trigger.PREVIEW), NOW) == 0
    assert not Delivery.objects.exists()


def test_each_recipient_gets_a_mail_of_their_own(mailbox):
    queue_deliveries(make_report_run(OPS, DEV), NOW)
    assert deliver_due(NOW) == 2
    assert [message["To"] for message in mailbox.messages] == ["ops@example.org", "dev@example.org"]
    assert deliver_due(NOW + DAY) == 0
    assert len(mailbox.messages) == 2


def test_what_was_refused_holds_up_nobody(mail_servers):
    mailbox = mail_servers.start(Mailbox(rcpt={"ops": "550 no such user"}))
    queue_deliveries(make_report_run(OPS, DEV), NOW)
    assert deliver_due(NOW) == 1
    assert [message["To"] for message in mailbox.messages] == ["dev@example.org"]


def attempts_of(delivery, until):
    """Let time pass to each next attempt and return when there was one, from the beginning."""
    found, now = [], NOW
    while now <= until:
        deliver_due(now)
        found.append(now - NOW)
        delivery.refresh_from_db()
        if delivery.next_at is None:
            break
        now = delivery.next_at
    return found


def same(moment, expected):
    return abs(moment - expected) < timedelta(seconds=5)


def test_it_is_tried_again_after_1_5_15_60_minutes_then_every_4_hours_for_3_days(
    mail_servers, settings
):
    settings.EMAIL_PORT = 1
    delivery = queue_one(*OPS)
    tried = attempts_of(delivery, NOW + 9 * DAY)
    gaps = [later - before for before, later in itertools.pairwise(tried)]
    expected = [MINUTE, 5 * MINUTE, 15 * MINUTE, 60 * MINUTE, 240 * MINUTE, 240 * MINUTE]
    assert all(same(gap, wanted) for gap, wanted in zip(gaps, expected, strict=False))
    assert tried[-1] == 3 * DAY
    assert delivery.state == DeliveryState.GAVE_UP
    assert delivery.sentence.startswith("Given up after 3 days. 127.0.0.1:1 did not answer")
    assert delivery.attempts == len(tried) == len(delivery.log)


def test_a_server_that_is_away_for_a_day_loses_nothing(mail_servers, settings):
    settings.EMAIL_PORT = 1
    queue_deliveries(make_report_run(OPS, DEV), NOW)
    attempts_of(Delivery.objects.first(), NOW + DAY)
    assert set(Delivery.objects.values_list("state", flat=True)) == {DeliveryState.PENDING}
    mailbox = mail_servers.start()
    assert deliver_due(NOW + DAY + 4 * 60 * MINUTE) == 2
    assert len(mailbox.messages) == 2


def test_a_server_that_hangs_costs_one_time_out_for_all_its_recipients(silent):
    queue_deliveries(make_report_run(OPS, DEV, ("email", "qa@example.org")), NOW)
    deliver_due(NOW)
    assert len(silent) == 1
    sentences = {delivery.sentence for delivery in Delivery.objects.all()}
    assert len(sentences) == 1
    assert {delivery.attempts for delivery in Delivery.objects.all()} == {1}


def test_a_round_begins_nothing_after_its_time(mailbox):
    queue_deliveries(make_report_run(OPS, DEV), NOW)
    times = iter([0.0, 0.0, 0.0, 0.0, 0.0])
    assert deliver_due(NOW, lambda: next(times, outbox.ROUND_S)) == 1
    assert deliver_due(NOW + MINUTE) == 1


def test_a_delivery_is_claimed_by_one_worker_until_the_claim_is_over(mailbox):
    delivery = queue_one(*OPS)
    assert claim(delivery.pk, NOW) is not None
    assert claim(delivery.pk, NOW + MINUTE) is None
    assert deliver_due(NOW + MINUTE) == 0
    assert deliver_due(NOW + outbox.CLAIM + MINUTE) == 1
    assert len(mailbox.messages) == 1


def test_a_mail_that_may_have_been_sent_twice_has_one_message_id(mailbox):
    delivery = queue_one(*OPS)
    deliver_due(NOW)
    # The worker died before it could write that the mail was sent.
    Delivery.objects.update(state=DeliveryState.PENDING, next_at=NOW, claimed_until=NOW)
    deliver_due(NOW + MINUTE)
    assert len({message["Message-ID"] for message in mailbox.messages}) == 1
    assert len(mailbox.messages) == 2
    delivery.refresh_from_db()
    assert delivery.message_id == mailbox.messages[0]["Message-ID"]


def test_being_read_only_holds_no_finished_report_back(mailbox, settings):
    settings.CROSSLOG_READ_ONLY = True
    queue_one(*OPS)
    assert deliver_due(NOW) == 1


TWO_WORKERS = """
import django, threading
django.setup()
from django.core.management import call_command
from django.db import connection
call_command("migrate", verbosity=0)
from console.delivery.outbox import _Round
from console.reports.sending.source import queue_deliveries
from console.delivery.models import Delivery
from tests.console.delivery.making import NOW, make_report_run
queue_deliveries(make_report_run(*[("email", f"p{number}@example.org") for number in range(12)]), NOW)
due, start = list(Delivery.objects.values_list("pk", flat=True)), threading.Barrier(2)
def work():
    round_ = _Round(NOW, lambda: 0.0)
    start.wait()
    for pk in due:
        round_.take(pk)
    connection.close()
workers = [threading.Thread(target=work) for _ in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
print(Delivery.objects.filter(state="delivered", attempts=1).count())
"""


def test_two_workers_on_one_outbox_send_each_mail_once(mailbox, tmp_path, settings, put_database):
    """Real threads, each with its connection to a database in a file, that want each row at once."""
    put_database(tmp_path / "crosslog.sqlite3")
    environment = {
        **os.environ,
        "CROSSLOG_HOME": str(tmp_path),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "MAIL_HOST": "127.0.0.1",
        "MAIL_PORT": str(settings.EMAIL_PORT),
        "MAIL_TLS": "none",
        "MAIL_FROM": "crosslog@example.org",
    }
    ended = subprocess.run(
        [sys.executable, "-c", TWO_WORKERS],
        cwd=settings.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "12\n"), ended.stderr
    assert len({message["To"] for message in mailbox.messages}) == len(mailbox.messages) == 12

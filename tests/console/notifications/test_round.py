"""What a round writes of incidents: deliveries, notices, entries of timelines."""

import os
import subprocess
import sys
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from console.checks.areas.area import Area, Judged
from console.checks.models import CheckRound
from console.checks.round import due_checks, run_checks
from console.delivery.models import Delivery
from console.findings.incidents import store
from console.findings.incidents.models import Incident, IncidentEvent
from console.notifications.models import Notice, NotificationChannel, NotificationRoute
from console.notifications.round import notify
from jobs.findings import Finding as Found
from jobs.notifications.message import MOST_ITEMS, Message
from jobs.notifications.routes import OPENED_EVERY
from jobs.severity import Severity
from tests.console.findings.incident_rows import make_incident, resolved
from tests.console.making import NOW, make_cluster, make_flow
from tests.console.notifications import making
from tests.console.notifications.making import make_channel

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
make_route = partial(making.make_route, severity="info", wait_s=0)
DOWN = Found(
    "broker_down", Severity.CRITICAL, "Broker 3 of east is down.", "Start it.", "broker 3",
    since=NOW, brokers=(3,), evidence={"broker": 3},
)  # fmt: skip


def make_incidents(count):
    cluster = make_cluster()
    return Incident.objects.bulk_create(
        Incident(
            key=f"broker:{number}", cluster=cluster, subject_kind="broker", subject=str(number),
            check_id="broker_down", severity="critical" if number == count else "warning",
            rank=4 if number == count else 3, title=f"Broker {number} is down", sentence="It is down.",
            began_at=NOW, opened_at=NOW, last_seen_at=NOW,
        )
        for number in range(1, count + 1)
    )  # fmt: skip


def messages():
    return [Message.from_mapping(one.content) for one in Delivery.objects.order_by("pk")]


def told():
    return [(one.event.value, one.total) for one in messages()]


def entries():
    rows = IncidentEvent.objects.filter(kind="notified").order_by("pk")
    return list(rows.values_list("text", flat=True))


def queries_of(now=NOW):
    with CaptureQueriesContext(connection) as captured:
        notify(now)
    return len(captured)


def test_an_incident_is_told_from_its_opening_to_its_end(settings):
    settings.CROSSLOG_URL = "https://crosslog.example"
    channel, row = make_channel(), make_incident(cluster=make_cluster(), severity="warning")
    make_route(channel, repeat_s=3600)
    for minutes in (0, 5, 65, 70):
        notify(NOW + timedelta(minutes=minutes))
    Incident.objects.update(severity="critical", rank=4)
    notify(NOW + 2 * HOUR)
    Incident.objects.update(**resolved())
    for _ in range(2):
        notify(NOW + 2 * HOUR)
    assert [(one.event.value, one.severity) for one in messages()] == [
        ("opened", "warning"), ("reminder", "warning"), ("worse", "critical"),
        ("resolved", "critical"),
    ]  # fmt: skip
    assert entries() == [
        "Sent to on-call (Webhook): opened.",
        "Sent to on-call (Webhook): reminder.",
        "Sent to on-call (Webhook): worse.",
        "Sent to on-call (Webhook): resolved.",
    ]
    (item,) = messages()[0].items
    assert (item.place, item.link) == ("Cluster east", f"https://crosslog.example{row.href}")
    assert (item.began_at, item.ended_at) == ("2026-11-21T03:03:00.000Z", "")
    delivery = Delivery.objects.first()
    assert (delivery.source, delivery.sender, delivery.next_at) == ("notification", channel, NOW)
    assert delivery.key.startswith(f"notification:opened:{channel.pk}:")
    notice = Notice.objects.get()
    assert (notice.rank, notice.repeats, notice.resolved_at) == (4, 1, NOW + 2 * HOUR)


def test_each_step_of_getting_worse_is_sent():
    make_route(make_channel())
    make_incident(severity="info")
    notify(NOW)
    for severity in (Severity.WARNING, Severity.CRITICAL):
        Incident.objects.update(severity=severity.value, rank=severity.rank)
        notify(NOW)
    assert [one.severity for one in messages()] == ["info", "warning", "critical"]


def test_each_address_of_a_mail_channel_has_a_delivery():
    addresses = [f"{'o' * 60}{number}@{'example.' * 20}org" for number in range(2)]
    make_route(make_channel("Mail", "email", address="\n".join(addresses)))
    make_incident()
    notify(NOW)
    rows = Delivery.objects.order_by("pk")
    assert [row.address for row in rows] == addresses
    assert entries() == ["Sent to Mail (E-mail): opened."]


def test_an_incident_of_a_flow_is_one_of_its_target():
    flow = make_flow()
    make_route(make_channel(), cluster=flow.target)
    make_incident("flow", flow.name, flow=flow)
    make_incident("broker", "4", cluster=flow.source)
    notify(NOW)
    assert [one.items[0].place for one in messages()] == ["Flow orders to west"]


def test_ten_thousand_incidents_are_one_message_with_the_worst_first():
    make_route(make_channel())
    make_incidents(10_000)
    assert queries_of() < 200
    (message,) = messages()
    assert (message.total, len(message.items), message.severity) == (10_000, MOST_ITEMS, "critical")
    assert message.items[0].subject == "10000"
    assert (Notice.objects.count(), len(entries())) == (10_000, 10_000)


@pytest.mark.parametrize("after", [timedelta(), HOUR], ids=["opened", "reminder"])
def test_the_number_of_queries_does_not_grow_with_incidents(after):
    counts = []
    for count in (3, 50):
        Incident.objects.all().delete()
        NotificationChannel.objects.all().delete()
        NotificationRoute.objects.all().delete()
        make_incidents(count)
        make_route(make_channel(), make_channel("Teams", "teams"), repeat_s=3600)
        if after:
            notify(NOW)
        counts.append(queries_of(NOW + after))
    assert counts[0] == counts[1]


def test_without_channels_and_without_news_little_is_read():
    assert queries_of() == 1
    make_route(make_channel())
    assert queries_of() == 5


@pytest.mark.parametrize("gone", ["disabled", "removed"])
def test_a_channel_that_is_gone_is_sent_nothing(gone):
    channel = make_channel()
    make_route(channel)
    make_incident()
    notify(NOW)
    if gone == "disabled":
        NotificationChannel.objects.update(is_enabled=False)
    else:
        channel.delete()
    make_incident("broker", "4")
    Incident.objects.filter(subject="3").update(**resolved())
    notify(NOW + HOUR)
    assert told() == [("opened", 1)]


def test_what_a_removed_route_sent_is_resolved_and_not_repeated():
    route = make_route(make_channel(), repeat_s=60)
    make_incident()
    notify(NOW)
    route.delete()
    notify(NOW + HOUR)
    Incident.objects.update(**resolved())
    notify(NOW + HOUR)
    assert told() == [("opened", 1), ("resolved", 1)]


def test_a_message_says_how_many_of_its_group_are_still_open():
    make_route(make_channel(), group_by="all")
    rows = [make_incident("broker", str(number)) for number in range(3)]
    notify(NOW)
    for ended in (rows[:1], rows[1:]):
        Incident.objects.filter(pk__in=[row.pk for row in ended]).update(**resolved())
        notify(NOW)
    found = [(one.event.value, one.total, one.still_open) for one in messages()]
    assert found == [("opened", 3, 3), ("resolved", 1, 2), ("resolved", 2, 0)]


def test_an_end_that_a_route_does_not_send_is_not_sent_later():
    route = make_route(make_channel(), sends_resolved=False)
    make_incident()
    notify(NOW)
    Incident.objects.update(**resolved())
    notify(NOW)
    route.sends_resolved = True
    route.save()
    notify(NOW)
    assert told() == [("opened", 1)]


def test_a_group_waits_although_what_it_sent_is_over():
    make_route(make_channel())
    make_incident()
    notify(NOW)
    Incident.objects.update(**resolved())
    make_incident("broker", "4")
    for after in (timedelta(), OPENED_EVERY - timedelta(seconds=1), OPENED_EVERY):
        notify(NOW + after)
    assert told() == [("opened", 1), ("resolved", 1), ("opened", 1)]


def test_reminders_go_on_after_the_clock_was_a_year_ahead():
    make_route(make_channel(), repeat_s=3600)
    make_incident()
    notify(NOW + timedelta(days=365))
    notify(NOW)
    notify(NOW + HOUR)
    assert told() == [("opened", 1), ("reminder", 1)]


def test_what_was_sent_of_an_incident_is_removed_with_it(settings):
    make_route(make_channel())
    make_incident(**resolved())
    row = make_incident("broker", "4")
    notify(NOW)
    Incident.objects.filter(pk=row.pk).update(**resolved())
    store.prune(NOW + timedelta(days=settings.INCIDENTS_RETENTION_D + 1))
    assert not Notice.objects.exists()
    assert Delivery.objects.count() == 1


def rounds(at, *found):
    """Run two rounds of checks, after which an incident is open."""
    area = Area("probe", lambda given: [Judged(cluster, ("broker_down",), found)])
    cluster = make_cluster()
    for seconds in (5, 10):
        due_checks(at)
        CheckRound.objects.update(claimed_until=None)
        now = at + timedelta(seconds=seconds)
        assert run_checks(1, lambda: now, [area])  # noqa: B023  called at once


def test_the_round_of_all_checks_writes_incidents_with_their_deliveries():
    make_route(make_channel())
    rounds(NOW, DOWN)
    assert CheckRound.objects.get().error == ""
    assert (Incident.objects.count(), told()) == (1, [("opened", 1)])


def test_a_follow_up_that_breaks_is_named_and_what_it_missed_is_written_later():
    route = make_route(make_channel(), time_zone="Nowhere/At_All")
    rounds(NOW, DOWN)
    error = CheckRound.objects.get().error
    assert error == "Not checked, see the log of the worker: notifications."
    assert (Incident.objects.count(), Delivery.objects.count()) == (1, 0)
    NotificationRoute.objects.filter(pk=route.pk).update(time_zone="UTC")
    rounds(NOW + timedelta(minutes=1), DOWN)
    assert CheckRound.objects.get().error == ""
    assert told() == [("opened", 1)]


def test_a_follow_up_that_breaks_after_it_wrote_has_written_nothing(monkeypatch):
    def half(now):
        make_channel("Half")
        raise RuntimeError("it broke")

    monkeypatch.setitem(store.FOLLOW_UPS, "half", half)
    rounds(NOW, DOWN)
    assert CheckRound.objects.get().error.endswith(": half.")
    assert (Incident.objects.count(), NotificationChannel.objects.count()) == (1, 0)


TWO_ROUNDS = """
import django, threading
django.setup()
from django.core.management import call_command
from django.db import connection, transaction
call_command("migrate", verbosity=0)
from console.delivery.models import Delivery
from console.notifications.round import notify
from tests.console.findings.incident_rows import make_incident
from tests.console.making import NOW
from tests.console.notifications.making import make_channel, make_route
make_route(make_channel(), severity="info", wait_s=0)
[make_incident("broker", str(number)) for number in range(5)]
start = threading.Barrier(2)
def work():
    start.wait()
    with transaction.atomic():
        notify(NOW)
    connection.close()
workers = [threading.Thread(target=work) for _ in range(2)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
print(*Delivery.objects.values_list("content__total", flat=True))
"""


def test_two_rounds_at_once_send_once(tmp_path, settings, put_database):
    """Real threads, each with its connection to a database in a file."""
    put_database(tmp_path / "crosslog.sqlite3")
    environment = {
        **os.environ,
        "CROSSLOG_HOME": str(tmp_path),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "console.settings",
    }
    ended = subprocess.run(
        [sys.executable, "-c", TWO_ROUNDS],
        cwd=settings.ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "5\n"), ended.stderr

"""What is entered for channels and routes: checked, encrypted, audited."""

import pytest
from django.utils import timezone

from console.accounts.models import AuditEntry
from console.frame.errors import ActionRefused
from console.frame.security.sealing import unseal
from console.notifications import actions
from console.notifications.models import NotificationChannel, NotificationRoute
from console.notifications.queries import count_matches
from console.notifications.route_values import condition_of, never_matches
from jobs.cluster.errors import InvalidFields
from tests.console.findings.incident_rows import make_incident
from tests.console.making import make_cluster
from tests.console.notifications.hosts import hosts  # noqa: F401  # a fixture
from tests.console.notifications.making import make_channel, make_route

pytestmark = pytest.mark.django_db

HOOK = "https://hooks.example.org/in/pelargonium"
SLACK = "https://hooks.slack.com/services/T0/B0/pelargonium"
KEY = "marjoram and lovage".replace(" ", "-")
BOT = "12345:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


def save(person, row=None, **values):
    row = row or NotificationChannel(kind=values.get("kind", "webhook"))
    return actions.save(row, values, person, timezone.now())


def errors(person, row=None, **values):
    with pytest.raises(InvalidFields) as refused:
        save(person, row, **values)
    return refused.value.errors


def saved_route(person, row=None, **values):
    return actions.save(row or NotificationRoute(), values, person, timezone.now())


def route_errors(person, **values):
    told = {"name": "urgent", "severity": "critical", "channels": [make_channel().pk]} | values
    with pytest.raises(InvalidFields) as refused:
        saved_route(person, **told)
    return refused.value.errors


@pytest.mark.parametrize(
    ("kind", "address", "secrets", "shown"),
    [
        pytest.param("email", "Ops@Example.org\nops@example.org", {}, "Ops@example.org\nops@example.org", id="mail"),
        pytest.param("webhook", "", {"url": HOOK, "key": KEY}, "https://hooks.example.org/… #", id="webhook"),
        pytest.param("pagerduty", "", {"key": KEY}, "events.pagerduty.com #", id="PagerDuty"),
        pytest.param("telegram", "-100123", {"token": BOT}, "-100123", id="Telegram"),
    ],
)  # fmt: skip
def test_each_kind_keeps_its_secrets_encrypted_and_shows_where_it_leads(
    admin, kind, address, secrets, shown
):
    row = save(admin, kind=kind, name="on-call", secrets=secrets, address=address)
    assert row.address.startswith(shown)
    assert unseal(row.sealed) == secrets
    assert not any(text in row.sealed + row.address for text in secrets.values())


@pytest.mark.parametrize(
    ("kind", "values", "field", "text"),
    [
        pytest.param("email", {"address": "a@x.org\nb"}, "address", "b: This is no", id="second mailbox"),
        pytest.param("email", {}, "address", "Enter it.", id="no address"),
        pytest.param("slack", {}, "secrets.url", "Enter it", id="no URL"),
        pytest.param("slack", {"address": "x", "secrets": {"url": SLACK}}, "address", "no address", id="address of a URL kind"),
        pytest.param("webhook", {"secrets": {"url": HOOK}}, "secrets.key", "set WEBHOOK_KEY", id="no key at all"),
        pytest.param("webhook", {"secrets": {"url": HOOK, "key": "zonal-pela"}}, "secrets.key", "16", id="short key"),
        pytest.param("webhook", {"secrets": {"url": HOOK, "key": "whsec_%%%%%%%%%%%"}}, "secrets.key", "base64", id="broken key"),
        pytest.param("webhook", {"secrets": {"url": HOOK, "key": KEY + "\r\nX: y"}}, "secrets.key", "control", id="line end in a key"),
        pytest.param("webhook", {"secrets": {"url": "pelargonium:x", "key": KEY}}, "secrets.url", "https://", id="no scheme"),
        pytest.param("webhook", {"secrets": {"url": "http://hooks.example.org/", "key": KEY}}, "secrets.url", "only https", id="http"),
        pytest.param("teams", {"secrets": {"url": "https://u:pelargonium@hooks.example.org/"}}, "secrets.url", "without user", id="password in a URL"),
        pytest.param("teams", {"secrets": {"url": "https://a.example.net/pelargonium"}}, "secrets.url", "Add a.example.net to OUTBOUND_HOSTS", id="host that may not be called"),
        pytest.param("opsgenie", {"address": "eu", "secrets": {"key": KEY}}, "address", "Add api.eu.opsgenie.com to", id="host of a service"),
        pytest.param("opsgenie", {"address": "asia", "secrets": {"key": KEY}}, "address", "us or eu", id="region"),
        pytest.param("telegram", {"address": "1\u202e", "secrets": {"token": BOT}}, "address", "visible", id="mark in an address"),
        pytest.param("slack", {"secrets": {"url": SLACK, "colour": "x"}}, "secrets.colour", "no such field", id="unknown secret"),
        pytest.param("webhook", {"name": "a\r\nb"}, "name", "visible", id="line end in a name"),
        pytest.param("webhook", {"name": "a\u202eb"}, "name", "visible", id="mark in a name"),
        pytest.param("fax", {}, "kind", "one of email", id="unknown kind"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_field_without_a_secret(admin, kind, values, field, text):
    found = errors(admin, kind=kind, **{"name": "on-call"} | values)
    assert text in found[field]
    assert "pelargonium" not in str(found)
    assert not NotificationChannel.objects.exists()


def test_a_secret_that_is_not_entered_stays_and_an_optional_one_can_be_removed(admin, settings):
    row = save(admin, name="on-call", secrets={"url": HOOK, "key": KEY})
    save(admin, row, name="night", secrets={})
    assert unseal(row.sealed) == {"url": HOOK, "key": KEY}
    settings.WEBHOOK_KEY = "a key of twenty letters"
    save(admin, row, secrets={"key": None})
    assert unseal(row.sealed) == {"url": HOOK}
    assert "secrets.url" in errors(admin, row, secrets={"url": ""})


def test_a_token_is_not_sent_to_another_host(admin):
    row = save(admin, kind="alertmanager", name="on-call", secrets={"url": HOOK, "token": KEY})
    moved = {"url": "https://hooks.slack.com/x"}
    assert "another host" in errors(admin, row, secrets=moved)["secrets.token"]
    save(admin, row, secrets=moved | {"token": KEY})


def test_a_channel_whose_host_is_not_allowed_any_more_can_be_disabled(admin, settings):
    row = make_channel()
    settings.OUTBOUND_HOSTS = []
    assert not save(admin, row, is_enabled=False).is_enabled


def test_secrets_of_another_secret_key_have_to_be_entered_again(admin, settings):
    row = make_channel(secrets={"url": HOOK, "key": KEY})
    settings.SECRET_KEY = "another one of many letters"
    assert "secrets.url" in errors(admin, row, secrets={"key": KEY})
    with pytest.raises(ActionRefused, match="Enter them"):
        actions.send_test(row, admin, timezone.now())


def test_audit_entries_have_no_secret(admin):
    row = save(admin, name="on-call", secrets={"url": HOOK, "key": KEY})
    save(admin, row, secrets={"key": "sorrel-and-purslane"})
    actions.delete(row)
    entries = AuditEntry.objects.order_by("pk")
    assert [one.action for one in entries] == [
        "notification_channel.create", "notification_channel.change", "notification_channel.delete",
    ]  # fmt: skip
    assert entries[1].after["replaced"] == ["key"]
    told = str([(one.subject, one.before, one.after) for one in entries])
    assert not [text for text in ("pelargonium", KEY, "sorrel") if text in told]


def test_a_channel_that_a_route_uses_is_not_deleted(admin):
    row = make_channel()
    make_route(row)
    with pytest.raises(ActionRefused, match=r"Routes send to on-call: urgent\."):
        actions.delete(row)
    actions.delete(NotificationRoute.objects.get())
    actions.delete(row)
    assert not NotificationChannel.objects.exists()


@pytest.mark.parametrize(
    ("values", "field", "text"),
    [
        pytest.param({"checks": ["broker_dwn"]}, "checks", "broker_down is meant", id="misspelled check"),
        pytest.param({"checks": ["zz_*"]}, "checks", "There is no check zz_*.", id="glob of nothing"),
        pytest.param({"checks": ["[z-a]"]}, "checks", "cannot be evaluated", id="no glob"),
        pytest.param({"checks": ["broker_*"] * 101}, "checks", "At most 100", id="too many checks"),
        pytest.param({"subject_pattern": "a\nb"}, "subject_pattern", "visible", id="line end"),
        pytest.param({"cluster": "gone"}, "cluster", "no cluster gone", id="removed cluster"),
        pytest.param({"time_zone": "Mars"}, "time_zone", "No time zone", id="unknown zone"),
        pytest.param({"wait_s": -1}, "wait_s", "0 to 3600", id="negative wait"),
        pytest.param({"repeat_s": 5}, "repeat_s", "60 to", id="too often"),
        pytest.param({"channels": []}, "channels", "at least one channel", id="no channel"),
        pytest.param({"channels": [10**9]}, "channels", "no channel 1000000000", id="removed channel"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_route_is_said_at_its_field(admin, values, field, text):
    assert text in route_errors(admin, **values)[field]
    assert not NotificationRoute.objects.exists()


@pytest.mark.parametrize(
    ("starts", "ends", "field"),
    [
        pytest.param("08:00", None, "ends", id="no end"),
        pytest.param(None, "08:00", "starts", id="no start"),
        pytest.param("08:00", "08:00", "ends", id="no time between"),
    ],
)
def test_times_come_in_pairs(admin, starts, ends, field):
    at = {None: None, "08:00": timezone.now().time().replace(hour=8, minute=0)}
    assert set(route_errors(admin, starts=at[starts], ends=at[ends])) == {field}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({}, "critical, all checks", id="everything"),
        pytest.param({"severity": "info", "checks": ["broker_*"], "subject_pattern": "o-*"}, "info or worse, broker_*, subject o-*", id="narrowed"),
        pytest.param({"days": [0, 1, 2, 3, 4], "time_zone": "Europe/Berlin"}, "critical, all checks, Mon-Fri Europe/Berlin", id="weekdays"),
        pytest.param({"days": [5, 6]}, "critical, all checks, Sat, Sun UTC", id="two days"),
    ],
)  # fmt: skip
def test_a_condition_is_said_in_words(fields, words):
    assert condition_of(NotificationRoute(**{"severity": "critical"} | fields)) == words


def test_a_route_counts_the_open_incidents_that_it_matches(admin):
    east = make_cluster("east")
    make_incident(cluster=east, key="a", check_id="broker_down", severity="critical", subject="3")
    make_incident(cluster=east, key="b", check_id="broker_down", severity="warning", subject="4")
    channel = make_channel()
    wanted = {
        "all": ({}, 1),
        "warnings": ({"severity": "warning"}, 2),
        "subject": ({"severity": "warning", "subject_pattern": "4"}, 1),
        "cluster": ({"cluster": make_cluster("west")}, 0),
        "check": ({"checks": ["rf_*"]}, 0),
    }
    rows = {name: make_route(channel, name=name, **fields) for name, (fields, _) in wanted.items()}
    counts = count_matches(rows.values())
    assert {name: counts[row.pk] for name, row in rows.items()} == {
        name: count for name, (_, count) in wanted.items()
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"checks": ["gone_check"]}, "There is no check gone_check.", id="removed"),
        pytest.param({"checks": ["broker_down"]}, "", id="a check"),
        pytest.param({}, "", id="all"),
    ],
)
def test_a_route_says_why_it_can_never_match(fields, text):
    assert never_matches(NotificationRoute(**fields)) == text


def test_a_test_is_sent_and_audited_without_secrets(admin, receiver):
    row = make_channel(secrets={"url": receiver.url, "key": KEY})
    assert "answered 200" in actions.send_test(row, admin, timezone.now())
    receiver.status, receiver.answer = 400, b"no abc today"
    with pytest.raises(ActionRefused, match="answered 400"):
        actions.send_test(row, admin, timezone.now())
    told = [(one.outcome, one.after["sentence"]) for one in AuditEntry.objects.order_by("pk")]
    assert [outcome for outcome, _ in told] == ["done", "failed"]
    assert "token=abc" not in str(told)

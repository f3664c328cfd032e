"""Pages of channels and routes."""

import logging

import pytest

from console.delivery.models import Delivery
from console.frame.security.sealing import unseal
from console.notifications.kinds import KINDS
from console.notifications.models import NotificationChannel, NotificationRoute
from tests.console.making import count_queries
from tests.console.notifications.hosts import hosts  # noqa: F401  # a fixture
from tests.console.notifications.making import NOW, make_channel, make_route

pytestmark = pytest.mark.django_db

ROUTES, CHANNELS = "/notifications/", "/notifications/channels/"
HOOK = "https://hooks.slack.com/services/T0/B0/pelargonium"
PAGES = [ROUTES, f"{ROUTES}new/", f"{ROUTES}7/", CHANNELS, f"{CHANNELS}new/slack/", f"{CHANNELS}7/"]
POSTS = [f"{CHANNELS}7/test/", f"{CHANNELS}7/delete/", f"{ROUTES}7/delete/", f"{ROUTES}new/"]
FORM = {
    "name": "urgent", "severity": "critical", "days": ["0", "6"], "time_zone": "UTC", "group_by": "all",
    "wait_s": "10", "repeat_s": "0", "is_enabled": "on", "starts": "", "ends": "", "cluster": "",
}  # fmt: skip


def text_of(answer) -> str:
    return answer.content.decode()


def test_only_administrators_open_pages_and_find_them_in_the_sidebar(sign_in, operator, admin):
    make_route(make_channel(pk=7), pk=7)
    client = sign_in(operator)
    assert {client.get(path).status_code for path in PAGES} == {403}
    assert {client.post(path).status_code for path in POSTS} == {403}
    assert 'href="/notifications/"' not in text_of(client.get("/checks/"))
    assert client.get("/frame/search/?q=notification").json()["hits"] == []
    client = sign_in(admin)
    assert {client.get(path).status_code for path in PAGES} == {200}
    assert text_of(client.get("/checks/")).count('href="/notifications/"') == 2
    assert text_of(client.get("/incidents/")).count('href="/notifications/"') == 2


def test_without_a_channel_the_first_step_is_one(sign_in, admin):
    page = text_of(sign_in(admin).get(ROUTES))
    assert "Create a channel first, then a route" in page
    assert page.count(f'href="{CHANNELS}"') == 2
    assert "Create a channel first" in text_of(sign_in(admin).get(f"{ROUTES}new/"))
    assert f'href="{CHANNELS}new/telegram/"' in text_of(sign_in(admin).get(CHANNELS))


def test_a_secret_is_in_no_page_log_or_export(sign_in, admin, caplog):
    caplog.set_level(logging.DEBUG)
    client = sign_in(admin)
    form = {"name": "on-call", "is_enabled": "on", "secrets.url": HOOK}
    saved = client.post(f"{CHANNELS}new/slack/", form, follow=True)
    row = NotificationChannel.objects.get()
    assert unseal(row.sealed) == {"url": HOOK}
    wrong = client.post(f"{CHANNELS}new/slack/", form | {"name": ""})
    export = b"".join(client.get(f"{CHANNELS}?format=csv").streaming_content).decode()
    one = client.get(f"{CHANNELS}{row.pk}/")
    texts = [text_of(each) for each in (saved, wrong, one, client.get("/audit/"))]
    assert "Set. Empty: unchanged." in text_of(one)
    assert "hooks.slack.com/… #" in export
    assert not [text for text in (*texts, export, caplog.text) if "pelargonium" in text]


def test_an_empty_secret_is_unchanged_and_a_box_removes_an_optional_one(sign_in, admin, settings):
    settings.WEBHOOK_KEY = "a key of twenty letters"
    row = make_channel(
        secrets={"url": "https://hooks.example.org/a", "key": "zonal-pelargonium-16"}
    )
    client, path = sign_in(admin), f"{CHANNELS}{row.pk}/"
    client.post(path, {"name": "night", "secrets.url": "", "secrets.key": ""})
    row.refresh_from_db()
    assert (row.name, row.is_enabled, len(unseal(row.sealed))) == ("night", False, 2)
    client.post(path, {"name": "night", "remove.key": "on"})
    row.refresh_from_db()
    assert unseal(row.sealed) == {"url": "https://hooks.example.org/a"}


def test_what_is_wrong_is_at_its_field_and_nothing_is_lost(sign_in, admin):
    channel = make_channel()
    form = FORM | {"checks": "broker_dwn", "channels": [str(channel.pk)], "repeat_s": "5"}
    page = text_of(sign_in(admin).post(f"{ROUTES}new/", form))
    assert "broker_down is meant, probably." in page
    assert "Enter 0, or 60 to" in page
    assert "broker_dwn</textarea>" in page
    assert 'value="urgent"' in page
    assert page.count("checked") >= 4
    assert 'role="group" aria-label="Days"' in page
    form = {"name": "phone", "address": "mars", "secrets.key": "x"}
    page = text_of(sign_in(admin).post(f"{CHANNELS}new/opsgenie/", form))
    assert "The region is us or eu." in page
    assert "mars</textarea>" in page


def test_a_route_is_created_and_shown_in_words(sign_in, admin):
    channel = make_channel()
    client = sign_in(admin)
    form = FORM | {"checks": "broker_*\n", "channels": [str(channel.pk)]}
    form |= {"starts": "08:00", "ends": "18:00"}
    page = text_of(client.post(f"{ROUTES}new/", form, follow=True))
    assert "critical, broker_*, Mon, Sun 08:00-18:00 UTC" in page
    assert "Matches no open incident." in page
    row = NotificationRoute.objects.get()
    assert (row.checks, row.days, row.sends_resolved) == (["broker_*"], [0, 6], False)
    page = text_of(client.get(f"{ROUTES}{row.pk}/"))
    assert 'value="08:00"' in page
    client.post(f"{ROUTES}{row.pk}/delete/")
    assert not NotificationRoute.objects.exists()


def test_names_with_markup_are_text(sign_in, admin):
    make_route(make_channel("<b>on-call</b>"), name="<i>urgent</i>", subject_pattern="<u>*")
    for path in (ROUTES, CHANNELS):
        page = text_of(sign_in(admin).get(path))
        assert not [tag for tag in ("<b>on-call", "<i>urgent", "<u>*") if tag in page]


def test_the_last_delivery_of_a_channel_is_shown(sign_in, admin):
    row = make_channel()
    for state in ("delivered", "gave_up"):
        Delivery.objects.create(
            sender=row, channel="webhook", address="x", state=state, created_at=NOW
        )
    assert "Gave up" in text_of(sign_in(admin).get(CHANNELS))


@pytest.mark.parametrize("path", [ROUTES, CHANNELS])
def test_the_lists_need_as_many_queries_for_many_rows(sign_in, admin, path):
    make_route()
    few = count_queries(sign_in(admin), path)
    for number in range(4):
        make_route(make_channel(f"c{number}"), name=f"r{number}")
    assert count_queries(sign_in(admin), path) == few


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"email"}))
def test_a_form_says_where_the_host_of_a_channel_is_allowed(sign_in, admin, kind):
    assert "OUTBOUND_HOSTS" in text_of(sign_in(admin).get(f"{CHANNELS}new/{kind}/"))

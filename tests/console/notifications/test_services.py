"""What each service is sent, and what its answers mean."""

import json
import logging
import socket
import sys
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from console.delivery.results import Refused, TryAgain
from console.notifications.sending.apprise_door import Door, plugin_module
from console.notifications.sending.services import push
from jobs.notifications.message import Event, Item, Message
from tests.console.delivery.receiver import Receiver
from tests.console.notifications.five_services import (
    CHANNELS,
    HOSTS,
    KEY,
    SLACK,
    TAKEN,
    TEAMS,
    TOKEN,
    Leading,
    text_of,
)

SECRETS = ("quokka", "wombat", "quoll", "bilby", "numbat")
MODULES = ("slack", "workflows", "pagerduty", "opsgenie", "telegram")
KINDS = list(CHANNELS)
ITEM = Item(
    id=7, key="under-replicated/east", title="Topic orders is under-replicated",
    sentence="2 of 3 replicas are in sync.", severity="critical", state="open",
    check="under-replicated", place="east", subject_kind="topic", subject="orders",
    todo="Restart broker 3.", began_at="2026-11-23T07:00:00+00:00", ended_at="",
    link="https://crosslog.example/findings/7/",
)  # fmt: skip
MESSAGE = Message(Event.OPENED, "cluster:east", "critical", 1, "2026-11-23T07:00:10Z", (ITEM,))
GROUP_KEY = "crosslog-498e7bffddf60f80d5f938ff336eb8096ffd2b57d9b19cd005ad2709d295651c"
RESOLVED = replace(
    MESSAGE, event=Event.RESOLVED, items=(replace(ITEM, ended_at="2026-11-23T08:00:00+00:00"),)
)


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.end()


@pytest.fixture
def guard(receiver):
    return Leading(urlsplit(receiver.url).port)


@pytest.fixture
def sent(receiver, guard):
    """Sends a message to a kind; returns what its service got: address, headers, JSON."""

    def send(kind, message=MESSAGE):
        receiver.status, receiver.answer = TAKEN[kind]
        push(kind, *CHANNELS[kind], message, "id-1", guard)
        assert len(receiver.got) == 1
        ((method, url),) = guard.called
        assert method == "POST"
        return url, receiver.got[0][0], receiver.body

    return send


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_is_sent_the_incident_over_https_at_its_own_host(kind, sent):
    url, _, body = sent(kind)
    assert (urlsplit(url).scheme, urlsplit(url).hostname) == ("https", HOSTS[kind])
    for text in (ITEM.title, ITEM.sentence, ITEM.link):
        assert text in text_of(kind, body)


@pytest.mark.parametrize("kind", ["slack", "teams", "telegram"])
def test_a_resolved_incident_is_a_message(kind, sent):
    assert "[Resolved] Topic orders" in text_of(kind, sent(kind, RESOLVED)[2])


def test_slack_gets_plain_text_at_the_entered_address(sent):
    url, _, body = sent("slack")
    (block,) = body["attachments"][0]["blocks"]
    assert (url, block["type"], block["text"]["type"]) == (SLACK, "section", "plain_text")


def test_teams_gets_a_card_with_links_at_the_entered_address(sent):
    url, _, body = sent("teams")
    assert urlsplit(url)[:3] == urlsplit(TEAMS)[:3]
    assert set(urlsplit(url).query.split("&")) == set(urlsplit(TEAMS).query.split("&"))
    runs = [block["inlines"][0] for block in body["attachments"][0]["content"]["body"]]
    (link,) = [run["selectAction"]["url"] for run in runs if "selectAction" in run]
    assert link == ITEM.link


@pytest.mark.parametrize(
    ("message", "action"),
    [
        pytest.param(MESSAGE, "trigger", id="opened"),
        pytest.param(replace(MESSAGE, event=Event.WORSE), "trigger", id="worse"),
        pytest.param(replace(MESSAGE, event=Event.REMINDER), "trigger", id="reminder"),
        pytest.param(RESOLVED, "resolve", id="resolved"),
    ],
)
def test_pagerduty_gets_one_key_for_all_messages_of_a_group(message, action, sent):
    _, _, body = sent("pagerduty", message)
    assert (body["routing_key"], body["event_action"]) == (KEY, action)
    assert body["dedup_key"] == GROUP_KEY


def test_pagerduty_names_the_severity_and_the_incidents_behind_the_summary(sent):
    payload = sent("pagerduty")[2]["payload"]
    assert payload["summary"] == "[Critical] Topic orders is under-replicated"
    assert (payload["severity"], payload["custom_details"]["message"]) == ("critical", "id-1")


@pytest.mark.parametrize(
    ("severity", "priority"), [("critical", "P1"), ("warning", "P3"), ("info", "P5")]
)
def test_opsgenie_gets_a_priority_by_severity_and_one_alias_for_a_group(severity, priority, sent):
    url, headers, body = sent("opsgenie", replace(MESSAGE, severity=severity))
    assert (url, headers["Authorization"]) == (
        "https://api.opsgenie.com/v2/alerts",
        f"GenieKey {KEY}",
    )
    assert (body["priority"], body["alias"]) == (priority, GROUP_KEY)


def test_opsgenie_closes_the_alert_of_the_alias(sent):
    url, _, body = sent("opsgenie", RESOLVED)
    alerts = "https://api.opsgenie.com/v2/alerts"
    assert url == f"{alerts}/{GROUP_KEY}/close?identifierType=alias"
    assert "[Resolved] Topic orders" in body["note"]


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
def test_the_alert_of_a_group_stays_while_incidents_of_it_are_open(kind, guard):
    said = push(kind, *CHANNELS[kind], replace(RESOLVED, still_open=3), "id-1", guard)
    assert said.endswith("was not called: incidents of the group still open: 3.")
    assert guard.called == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_message_needs_no_incident(kind, sent):
    test = Message(Event.TEST, "test", "info", 0, "2026-11-23T07:00:10Z", ())
    body = sent(kind, test)[2]
    assert text_of(kind, body) == "crosslog test message"


def test_opsgenie_of_the_eu_has_a_host_of_its_own(receiver):
    guard = Leading(urlsplit(receiver.url).port, hosts=["api.eu.opsgenie.com"])
    receiver.answer = TAKEN["opsgenie"][1]
    said = push("opsgenie", {"key": KEY}, "EU", MESSAGE, "id-1", guard)
    assert said.startswith("https://api.eu.opsgenie.com answered 200")


def test_telegram_gets_text_for_the_chat(sent):
    url, _, body = sent("telegram")
    assert url == f"https://api.telegram.org/bot{TOKEN}/sendMessage"
    assert (body["chat_id"], body["parse_mode"]) == (-1001234567890, "HTML")
    assert body["disable_web_page_preview"]


MARKUP = "<!channel> *bold* <https://evil|click> @everyone &amp; <b>b</b> [x](http://y) <at>all</at> _i_ `c`"
ESCAPED = (
    "&lt;!channel&gt; *bold* &lt;https://evil|click&gt; @everyone &amp;amp; &lt;b&gt;b&lt;/b&gt; "
    "[x](http://y) &lt;at&gt;all&lt;/at&gt; _i_ `c`"
)


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("slack", ESCAPED),
        ("teams", MARKUP),
        ("pagerduty", MARKUP),
        ("opsgenie", MARKUP),
        ("telegram", ESCAPED),
    ],
)
def test_markup_in_names_is_text(kind, shown, sent):
    items = (replace(ITEM, title=MARKUP, sentence="Topic a\r\nb\u202e."),)
    body = sent(kind, replace(MESSAGE, items=items))[2]
    assert shown in text_of(kind, body)
    assert "Topic a\\u000d\\u000ab\\u202e." in text_of(kind, body)
    assert "entities" not in json.dumps(body)


@pytest.mark.parametrize(
    ("kind", "most"),
    [("slack", 3000), ("teams", 4000), ("pagerduty", 15000), ("opsgenie", 15000), ("telegram", 4096)],
)  # fmt: skip
@pytest.mark.parametrize("letter", ["x", "&", "\U0001f984"], ids=["ascii", "escaped", "pairs"])
def test_long_messages_name_fewer_incidents_and_count_the_others(kind, most, letter, sent):
    items = tuple(replace(ITEM, id=at, sentence=letter * (most // 10)) for at in range(20))
    text = text_of(kind, sent(kind, replace(MESSAGE, total=10_000, items=items))[2])
    assert len(text.encode("utf-16-le")) // 2 <= most
    shown = text.count(ITEM.title) - 1
    assert 1 <= shown < 20
    assert text.endswith(f"and {10_000 - shown:,} more incidents")


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_that_never_fits_is_cut_at_a_line(kind, sent):
    items = (replace(ITEM, sentence="x" * 40_000),) * 20
    text = text_of(kind, sent(kind, replace(MESSAGE, total=10_000, items=items))[2])
    assert text.splitlines()[-2:] == [ITEM.title, "[The text is cut. Incidents: 10,000]"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "raised"),
    [
        (301, Refused), (400, Refused), (401, Refused), (403, Refused), (404, Refused),
        (408, TryAgain), (429, TryAgain), (500, TryAgain), (503, TryAgain),
    ],
)  # fmt: skip
def test_a_status_says_whether_a_message_is_tried_again(kind, status, raised, receiver, guard):
    receiver.status, receiver.answer = status, b"invalid"
    with pytest.raises(raised, match=f"^https://{HOSTS[kind]}(:443)? answered {status}: invalid"):
        push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)
    assert len(receiver.got) == 1


@pytest.mark.parametrize("kind", ["slack", "opsgenie"])
def test_an_answer_that_the_service_never_gives_is_no_success(kind, receiver, guard):
    receiver.answer = b"Welcome to the hotel"
    with pytest.raises(Refused, match=r"Welcome to the hotel\. .* answers otherwise"):
        push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)


@pytest.mark.parametrize("kind", KINDS)
def test_a_host_that_is_not_allowed_is_not_called(kind, receiver):
    guard = Leading(urlsplit(receiver.url).port, hosts=["hooks.example.org"])
    with pytest.raises(Refused, match=f"^OUTBOUND_HOSTS does not name {HOSTS[kind]}:443"):
        push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)
    assert receiver.got == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_that_leads_to_a_private_address_is_not_called(kind, receiver):
    guard = Leading(urlsplit(receiver.url).port, resolves_to="10.0.0.7")
    with pytest.raises(Refused, match=r"is 10\.0\.0\.7, which is not public"):
        push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)
    assert receiver.got == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_that_does_not_answer_in_time_is_called_again_later(kind):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        guard = Leading(silent.getsockname()[1], timeout_s=0.1)
        with pytest.raises(TryAgain, match="no answer in time") as raised:
            push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)
    assert raised.value.is_away


@pytest.mark.parametrize(
    ("kind", "secrets", "address", "field"),
    [
        pytest.param("slack", {"url": "https://example.org/x/quokka"}, "", "Incoming webhook URL", id="other-host"),
        pytest.param("slack", {"url": "https://hooks.slack.com/workflows/T0/F0/X0/quokka"}, "", "Incoming webhook URL", id="workflow"),
        pytest.param("slack", {"url": ""}, "", "Incoming webhook URL", id="empty"),
        pytest.param("slack", {}, "", "Incoming webhook URL", id="absent"),
        pytest.param("teams", {"url": "https://logic.azure.com.example/workflows/quokka"}, "", "Workflow URL", id="workflow-url"),
        pytest.param("teams", {"url": TEAMS.replace("&sig=", "&no=")}, "", "Workflow URL", id="no-signature"),
        pytest.param("pagerduty", {"key": "quokka\r\nX: y"}, "", "Integration key", id="line-ends"),
        pytest.param("pagerduty", {"key": "quokkä"}, "", "Integration key", id="not-ascii"),
        pytest.param("opsgenie", {"key": "quokka wombat"}, "us", "API key", id="blank"),
        pytest.param("opsgenie", {"key": KEY}, "mars", "Region", id="region"),
        pytest.param("telegram", {"token": "quokka"}, "-100", "Bot token", id="token"),
        pytest.param("telegram", {"token": TOKEN}, "", "Chat id", id="no-chat"),
        pytest.param("telegram", {"token": TOKEN}, "-100, -200", "Chat id", id="two-chats"),
        pytest.param("telegram", {"token": TOKEN}, "https://x/", "Chat id", id="no-chat-id"),
    ],
)  # fmt: skip
def test_what_cannot_be_right_is_refused_by_the_name_of_its_field(
    kind, secrets, address, field, receiver, guard
):
    with pytest.raises(Refused, match=f": the field {field} is not valid") as raised:
        push(kind, secrets, address, MESSAGE, "id-1", guard)
    assert not any(word in raised.value.sentence for word in SECRETS)
    assert guard.called == []


@pytest.mark.parametrize("kind", ["slack", "teams"])
def test_options_of_apprise_in_a_url_count_for_nothing(kind, receiver, guard, tmp_path):
    (tmp_path / "template.json").write_text(
        '{"type": "message", "attachments": [{"contentType": "x"}]}'
    )
    receiver.status, receiver.answer = TAKEN[kind]
    url = CHANNELS[kind][0]["url"]
    mark = "&" if "?" in url else "?"
    url = f"{url}{mark}template={tmp_path / 'template.json'}&to=general&image=yes"
    push(kind, {"url": url}, "", MESSAGE, "id-1", guard)
    assert ITEM.title in text_of(kind, receiver.body)
    assert not {"channel", "icon_url"} & receiver.body.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [200, 403, 500])
def test_a_secret_is_in_no_sentence_and_in_no_log(kind, status, receiver, guard, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="apprise")
    secrets = CHANNELS[kind][0]
    receiver.status = status
    receiver.answer = (
        f"{guard.called} {SLACK} {TEAMS} {TOKEN} {' '.join(secrets.values())}".encode()
    )
    try:
        said = push(kind, *CHANNELS[kind], MESSAGE, "id-1", guard)
    except (Refused, TryAgain) as error:
        said = f"{error!r} {error.__cause__!r}"
    told = said + caplog.text
    assert not any(secret in told for secret in (*secrets.values(), *SECRETS))
    assert not [record for record in caplog.records if record.name == "apprise"]


@pytest.mark.parametrize("name", MODULES)
def test_a_plugin_has_no_way_to_the_network_but_the_door(name):
    module = plugin_module(name)
    assert isinstance(module.requests, Door)
    values = vars(module).values()
    names = [one.__name__ for one in values if hasattr(one, "__spec__")]
    names += [getattr(one, "__module__", "") for one in values if callable(one)]
    bound = {name.partition(".")[0] for name in names}
    ways = {"requests", "urllib", "urllib3", "http", "httpx", "smtplib", "socket", "subprocess"}
    assert not bound & ways


def test_the_door_is_closed_outside_of_a_push():
    with pytest.raises(LookupError):
        plugin_module("slack").requests.post("https://hooks.slack.com/")
    assert "apprise.plugins.discord" not in sys.modules

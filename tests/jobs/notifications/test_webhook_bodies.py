import json

import pytest

from jobs.notifications.message import Event
from jobs.notifications.webhook_bodies import alertmanager_of, event_of
from tests.jobs.notifications.messages import make_item, make_message

CONSOLE = "https://console.example.org"


@pytest.mark.parametrize(
    ("event", "type_"),
    [
        (Event.OPENED, "incident.opened"), (Event.WORSE, "incident.worse"),
        (Event.REMINDER, "incident.reminder"), (Event.RESOLVED, "incident.resolved"),
        (Event.TEST, "notification.test"),
    ],
)  # fmt: skip
def test_each_event_has_its_type(event, type_):
    assert event_of(make_message(event=event))[0] == type_


def test_data_of_an_event_names_the_incidents():
    data = event_of(make_message(make_item(3), total=10_000))[1]
    incident = data.pop("incidents")[0]
    assert data == {
        "summary": "[Critical] 10,000 incidents, worst: Broker 3 of east down",
        "group": "route-1/east",
        "severity": "critical",
        "total": 10_000,
    }
    assert (incident["id"], incident["check"], incident["subject"]) == (3, "broker_down", "3")
    assert incident["link"] == f"{CONSOLE}/incidents/3/"


def test_texts_of_an_event_are_visible_and_names_are_those_of_kafka():
    name = "\u202egnp"
    (incident,) = event_of(make_message(make_item(title=name, subject=name)))[1]["incidents"]
    assert (incident["title"], incident["subject"]) == (r"\u202egnp", name)


def test_an_alertmanager_body_has_all_fields_of_version_4():
    body = alertmanager_of(make_message(make_item(3)), "on call", CONSOLE)
    (alert,) = body.pop("alerts")
    labels = {
        "alertname": "BrokerDown",
        "severity": "critical",
        "place": "Cluster east",
        "cluster": "east",
        "check": "broker_down",
        "subject": "3",
        "group": "route-1/east",
    }
    annotations = {
        "summary": "Broker 3 of east down",
        "description": "Broker 3 down since 08:46:29 UTC: 2 partitions offline.",
        "runbook": "Start the broker.",
    }
    assert body == {
        "version": "4",
        "groupKey": "route-1/east",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "on call",
        "groupLabels": {"group": "route-1/east"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": CONSOLE,
    }
    fingerprint = alert.pop("fingerprint")
    assert (len(fingerprint), int(fingerprint, 16) > 0) == (16, True)
    assert alert == {
        "status": "firing",
        "labels": labels,
        "annotations": annotations,
        "startsAt": "2026-11-23T06:55:00.000Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": f"{CONSOLE}/incidents/3/",
    }


def test_a_resolved_alert_has_its_end_and_the_fingerprint_of_before():
    before = alertmanager_of(make_message(), "on call", CONSOLE)["alerts"][0]
    body = alertmanager_of(make_message(event=Event.RESOLVED), "on call", CONSOLE)
    (alert,) = body["alerts"]
    assert (body["status"], alert["status"]) == ("resolved", "resolved")
    assert alert["endsAt"] == "2026-11-23T06:59:41.000Z"
    assert alert["fingerprint"] == before["fingerprint"]


def test_alerts_have_what_they_share_in_common_and_no_empty_label():
    one, other = make_item(1), make_item(2, place="Flow orders", subject="")
    body = alertmanager_of(make_message(one, other, total=10_000), "on call", "")
    assert body["commonLabels"] == {
        "alertname": "BrokerDown",
        "check": "broker_down",
        "group": "route-1/east",
        "severity": "critical",
    }
    assert body["truncatedAlerts"] == 9_998
    assert {"subject", "cluster"}.isdisjoint(body["alerts"][1]["labels"])


def test_names_in_labels_and_annotations_are_visible():
    hostile = "a\r\nb\u202e"
    item = make_item(title=hostile, sentence=hostile, place=hostile, subject=hostile)
    body = alertmanager_of(make_message(item), hostile, CONSOLE)
    assert r"\\u202e" in json.dumps(body, ensure_ascii=False)
    assert not {"\r", "\n", "\u202e"} & set(json.dumps(body, ensure_ascii=False))
    assert body["receiver"] == body["alerts"][0]["labels"]["subject"] == r"a\u000d\u000ab\u202e"

"""Channels and routes over REST."""

import pytest

from console.accounts.models import AuditEntry
from console.frame.security.sealing import unseal
from console.notifications.models import NotificationChannel, NotificationRoute
from tests.console.making import make_cluster
from tests.console.notifications.hosts import hosts  # noqa: F401  # a fixture
from tests.console.notifications.making import make_channel, make_route

pytestmark = pytest.mark.django_db

CHANNELS, ROUTES = "/api/v1/notification-channels/", "/api/v1/notification-routes/"
HOOK = "https://hooks.slack.com/services/T0/B0/pelargonium"
SLACK = {"name": "on-call", "kind": "slack", "secrets": {"url": HOOK}}


def post(client, path, body):
    return client.post(path, body, "application/json")


def patch(client, path, body):
    return client.patch(path, body, "application/json")


def test_a_channel_is_created_and_its_secrets_are_in_no_answer_or_entry(sign_in, admin):
    client = sign_in(admin)
    answer = post(client, CHANNELS, SLACK)
    assert answer.status_code == 201, answer.json()
    told = answer.json()
    assert (told["secrets_set"], told["changed_by"]) == (["url"], "ada")
    assert told["address"].startswith("https://hooks.slack.com/… #")
    one = f"{CHANNELS}{told['id']}/"
    answers = [answer, client.get(CHANNELS), client.get(one), patch(client, one, {"name": "night"})]
    texts = [one.content.decode() for one in answers]
    texts += [str((one.before, one.after)) for one in AuditEntry.objects.all()]
    assert not [text for text in texts if "pelargonium" in text or "sealed" in text]
    assert unseal(NotificationChannel.objects.get(name="night").sealed) == {"url": HOOK}


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"secrets": [HOOK]}, "secrets", id="a list"),
        pytest.param({"secrets": {"url": {"a": 1}}}, "secrets.url", id="an object in it"),
        pytest.param({"kind": "folder"}, "kind", id="kind of reports"),
        pytest.param({"name": "x" * 101}, "name", id="long name"),
        pytest.param({"is_enabled": 7}, "is_enabled", id="number"),
        pytest.param({"colour": 1}, "colour", id="unknown field"),
    ],
)
def test_bad_input_of_a_channel_is_refused_at_its_field(sign_in, admin, values, field):
    answer = post(sign_in(admin), CHANNELS, SLACK | values)
    assert answer.status_code == 400
    assert field in answer.json()["fields"]
    assert "pelargonium" not in answer.content.decode()
    assert not NotificationChannel.objects.exists()


def test_two_channels_have_two_names(sign_in, admin):
    make_channel()
    fields = post(sign_in(admin), CHANNELS, SLACK).json()["fields"]
    assert fields["name"] == ["There is a channel on-call. Enter another name."]


def test_the_kind_of_a_channel_stays(sign_in, admin):
    row = make_channel()
    answer = patch(sign_in(admin), f"{CHANNELS}{row.pk}/", {"kind": "slack"})
    assert answer.json()["fields"]["kind"][0].startswith("It is shown, and cannot be changed.")


def test_a_route_is_created_changed_and_deleted(sign_in, admin):
    client, channel = sign_in(admin), make_channel()
    make_cluster("east")
    body = {"name": "urgent", "severity": "critical", "channels": [channel.pk], "cluster": "east"}
    body |= {"checks": ["broker_*"], "days": [0, 1], "starts": "08:00", "ends": "18:00"}
    answer = post(client, ROUTES, body)
    assert answer.status_code == 201, answer.json()
    told = answer.json()
    assert told | body | {"starts": "08:00:00", "ends": "18:00:00"} == told
    one = f"{ROUTES}{told['id']}/"
    changed = patch(client, one, {"name": "urgent", "is_enabled": False, "cluster": None}).json()
    assert changed == told | changed | {
        "is_enabled": False,
        "cluster": None,
        "channels": [channel.pk],
    }
    assert client.delete(one).status_code == 204
    assert not NotificationRoute.objects.exists()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        pytest.param({"channels": ["x"]}, "channels.0", id="no key"),
        pytest.param({"channels": [10**30]}, "channels.0", id="huge key"),
        pytest.param({"checks": "broker_*"}, "checks", id="no list"),
        pytest.param({"days": []}, "days", id="no day"),
        pytest.param({"days": [7]}, "days.0", id="eighth day"),
        pytest.param({"starts": "25:00"}, "starts", id="no time"),
        pytest.param({"severity": "bad"}, "severity", id="unknown severity"),
        pytest.param({"group_by": "x"}, "group_by", id="unknown group"),
        pytest.param({"wait_s": 10**30}, "wait_s", id="huge wait"),
        pytest.param({"colour": 1}, "colour", id="unknown field"),
    ],
)
def test_bad_input_of_a_route_is_refused_at_its_field(sign_in, admin, values, field):
    body = {"name": "urgent", "severity": "critical", "channels": [make_channel().pk]} | values
    answer = post(sign_in(admin), ROUTES, body)
    assert answer.status_code == 400
    assert field in answer.json()["fields"]


def test_a_channel_in_use_is_a_conflict(sign_in, admin):
    row = make_channel()
    make_route(row)
    answer = sign_in(admin).delete(f"{CHANNELS}{row.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (409, "in_use")


@pytest.mark.parametrize("path", [CHANNELS, ROUTES])
def test_operators_and_viewers_see_and_change_nothing(sign_in, viewer, operator, path):
    pk = make_route(make_channel(pk=7), pk=7).pk
    for person in (viewer, operator):
        client = sign_in(person)
        answers = [client.get(path), client.get(f"{path}{pk}/"), post(client, path, {})]
        answers += [patch(client, f"{path}{pk}/", {}), client.delete(f"{path}{pk}/")]
        assert {one.status_code for one in answers} == {403}
    assert post(client, f"{CHANNELS}{pk}/test/", {}).status_code == 403

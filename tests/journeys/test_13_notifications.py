"""A killed broker is one notification per channel, one reminder, and one that it is resolved."""

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook

from tests.console.delivery.receiver import Receiver
from tests.journeys.test_12_incident import LOST, RESOLVED_WITHIN_S, at_rest, incidents  # noqa: F401  a fixture
from tests.live.topics import new_topic_on
from tests.waiting import eventually, stays

pytestmark = pytest.mark.journey
SENT_WITHIN_S = 120
# Longer than the receiver needs to recover: it hangs, redirects and answers 500 first.
REPEAT_S = 75
QUIET_S = 15
KEY = f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
OPENED, REMINDER, RESOLVED = "incident.opened", "incident.reminder", "incident.resolved"


@pytest.fixture
def receiver():
    receiver = Receiver()
    receiver.first = [None, 302, 500]
    yield receiver
    receiver.end()


def test_each_channel_gets_one_message_one_reminder_and_one_when_the_broker_is_back(
    world, receiver
):
    new_topic_on(world.east, [[LOST, 1, 2]], min_insync_replicas="2")
    recipient = f"{secrets.token_hex(4)}@example.org"
    webhook = {"kind": "webhook", "secrets": {"url": receiver.url, "key": KEY}}
    with (
        channel(world, **webhook) as hook,
        channel(world, kind="email", address=recipient) as mail,
        route(world, [hook, mail]) as made,
    ):
        world.east.node(LOST).kill()
        eventually(lambda: REMINDER in events(receiver), SENT_WITHIN_S, every=0.3)
        (found,) = [one for one in incidents(world) if one["id"] == told(receiver)[0]["id"]]
        world.post(f"incidents/{found['id']}/acknowledge/")
        most = reminders_due(world, found["id"])
        world.start_all()
        eventually(lambda: RESOLVED in events(receiver), RESOLVED_WITHIN_S, every=0.3)
        eventually(lambda: RESOLVED in subjects(world, recipient), SENT_WITHIN_S, every=0.3)
        stays(lambda: events(receiver)[-1] == RESOLVED, QUIET_S, every=0.5)

        # One reminder, unless the machine was so busy that more were due before the acknowledgement.
        for seen in (events(receiver), subjects(world, recipient)):
            assert seen == [OPENED, *[REMINDER] * (len(seen) - 2), RESOLVED]
            assert 3 <= len(seen) <= most + 2
        assert f"Broker {LOST} of east" in told(receiver)[0]["title"]
        for headers, body in receiver.taken:
            at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
            signed = Webhook(KEY).sign(headers["webhook-id"], at, body.decode())
            assert headers["webhook-signature"] == signed
        # A call that hung or failed was sent again with its id: a receiver recognises it.
        assert {headers["webhook-id"] for headers, _ in receiver.got} == {
            headers["webhook-id"] for headers, _ in receiver.taken
        }
        assert {"notified", "acknowledged"} <= {one["kind"] for one in entries(world, found["id"])}
        assert KEY not in json.dumps(world.get(f"notification-routes/{made}/"))


@contextmanager
def channel(world, **fields) -> Iterator[int]:
    """A channel; it is deleted with the block."""
    name = f"{fields['kind']} {secrets.token_hex(4)}"
    made = world.post("notification-channels/", {"name": name, **fields})["id"]
    try:
        yield made
    finally:
        world.console.visitor.delete(f"api/v1/notification-channels/{made}/")


@contextmanager
def route(world, channels: list[int]) -> Iterator[int]:
    """A route of incidents of brokers of east; it is deleted with the block."""
    fields = {
        "name": secrets.token_hex(4), "severity": "critical", "checks": ["broker_*"], "cluster": "east",
        "subject_pattern": str(LOST), "channels": channels, "repeat_s": REPEAT_S, "wait_s": 5,
    }  # fmt: skip
    made = world.post("notification-routes/", fields)["id"]
    try:
        yield made
    finally:
        world.console.visitor.delete(f"api/v1/notification-routes/{made}/")


def events(receiver) -> list[str]:
    """Return the types of what the receiver took."""
    return [json.loads(body)["type"] for _, body in receiver.taken]


def told(receiver) -> list[dict]:
    """Return the incidents of the first message."""
    return list(json.loads(receiver.taken[0][1])["data"]["incidents"])


def subjects(world, recipient: str) -> list[str]:
    """Return what the subjects of the e-mails to one address say."""
    found = [one["Subject"] for one in world.mailbox.messages if recipient in one["To"]]
    words = {"[Reminder]": REMINDER, "[Resolved]": RESOLVED}
    return [words.get(one.partition(" ")[0], OPENED) for one in found]


def entries(world, id_: int) -> list[dict]:
    """Return the timeline of an incident."""
    return list(world.get(f"incidents/{id_}/")["events"])


def reminders_due(world, id_: int) -> int:
    """Return how many reminders were due between the first message and the acknowledgement."""
    log = [(one["kind"], datetime.fromisoformat(one["at"])) for one in entries(world, id_)]
    first = min(at for kind, at in log if kind == "notified")
    last = max(at for kind, at in log if kind == "acknowledged")
    return int((last - first).total_seconds() // REPEAT_S)

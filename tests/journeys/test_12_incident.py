"""A broker that is killed is one incident, from its fencing to its return; an election is none."""

import re
from datetime import datetime

import pytest

from tests.live.quorum.quorums import described
from tests.live.topics import new_topic_on
from tests.waiting import Stalls, eventually, pause, stays

pytestmark = pytest.mark.journey
LOST = 3
FENCED_WITHIN_S, FOLLOWED_WITHIN_S, RESOLVED_WITHIN_S = 60, 60, 120
OPENED_WITHIN_S = 15
# Two rounds of checks agree by then.
ROUNDS_S = 15
# Longer than voters wait for their leader (2 s), shorter than a broker's session (6 s).
PAUSED_S = 5
# Replicas of each partition, and min.insync.replicas: two are offline without the broker, one at min ISR.
TOPICS = (([[LOST]], "1"), ([[LOST]], "1"), ([[LOST, 1, 2]], "2"))
# Topics of other journeys count, too.
SENTENCE = re.compile(
    rf"Broker {LOST} \(dc-c\) of east is down since \d\d:\d\d:\d\d UTC: "
    r"\d+ partitions offline, .*\d+ at min ISR, .*quorum 2 of 3, flows unaffected\.$"
)


# What other journeys leave behind (groups, applications, partitions) may stay as it is.
RESTS = {"broker", "cluster", "quorum", "observers"}
# After kill -9 the last known leader is elected, with an empty ISR: for Kafka that is unclean. These checks
# count restarts, elections and unclean ones of the last minutes or hours, those of other journeys too.
LASTING = ("broker_restarts", "election_storm", "unclean_election")


@pytest.fixture(autouse=True)
def at_rest(world):
    """What other journeys did to brokers is over, and what counts for longer is not checked."""
    excluded = {
        "cluster": "east",
        "is_excluded": True,
        "note": "Journeys restart brokers on purpose.",
    }
    made = [world.post("check-settings/", {**excluded, "check": one}) for one in LASTING]
    eventually(lambda: not disturbed(world), RESOLVED_WITHIN_S, every=0.5)
    yield
    for one in made:
        world.console.visitor.delete(f"api/v1/check-settings/{one['id']}/")


def test_a_killed_broker_is_one_incident_that_its_return_resolves(world):
    topics = [new_topic_on(world.east, each, min_insync_replicas=least) for each, least in TOPICS]
    with world.flow(topics[-1]) as flow:
        eventually(
            lambda: is_followed(world, topics) and is_running(flow), FOLLOWED_WITHIN_S, every=1
        )
        before = {one["id"] for one in incidents(world)}
        began = last_offset(world)
        with Stalls() as stalls:
            world.east.node(LOST).kill()
            fenced_at = eventually(lambda: fencing(world, began), FENCED_WITHIN_S, every=0.3)
            found = eventually(lambda: of_broker(world, before), FENCED_WITHIN_S, every=0.3)
        opened_at = datetime.fromisoformat(found["opened_at"])
        assert (opened_at - fenced_at).total_seconds() <= OPENED_WITHIN_S + stalls.seconds
        # Other rounds see its effects: each in its time.
        eventually(
            lambda: SENTENCE.match(one_of(world, found["id"])["sentence"]),
            FOLLOWED_WITHIN_S,
            every=0.3,
        )
        assert opened_beside(world, before, found["id"]) == []
        assert first_card(world) == f"/incidents/{found['id']}/"

        world.post(f"incidents/{found['id']}/acknowledge/")
        assert one_of(world, found["id"])["state"] == "acknowledged"
        world.start_all()
        over = eventually(lambda: resolved(world, found["id"]), RESOLVED_WITHIN_S, every=0.3)
        assert over["duration_ms"] > 0
        assert opened_beside(world, before, found["id"]) == []


def test_an_election_of_a_controller_opens_no_incident(world):
    before = {one["id"] for one in incidents(world)}
    leader = described(world.east)
    node = world.east.node(leader.leader_id)
    node.pause()
    pause(PAUSED_S, "the other voters elect a leader, which fences no broker so soon")
    node.resume()
    eventually(lambda: described(world.east).leader_epoch > leader.leader_epoch, 60, every=0.3)
    epoch = described(world.east).leader_epoch
    eventually(lambda: epoch in elections(world), FOLLOWED_WITHIN_S, every=0.3)
    stays(lambda: {one["id"] for one in incidents(world)} == before, ROUNDS_S, every=0.5)


def incidents(world) -> list[dict]:
    found = world.get("incidents/?state=all&cluster=east&limit=500")["results"]
    # Groups and applications that other journeys left behind become late at their own time.
    return [one for one in found if one["subject_kind"] not in {"group", "streams"}]


def disturbed(world) -> list[dict]:
    """Return the incidents of brokers and clusters that are not resolved."""
    return [
        one
        for one in incidents(world)
        if one["subject_kind"] in RESTS and one["state"] != "resolved"
    ]


def opened_beside(world, before: set[int], id_: int) -> list[str]:
    """Return the sentences of other incidents that were opened."""
    return [one["sentence"] for one in incidents(world) if one["id"] not in {*before, id_}]


def one_of(world, id_: int) -> dict:
    return next(one for one in incidents(world) if one["id"] == id_)


def of_broker(world, before: set[int]) -> dict | None:
    new = [one for one in incidents(world) if one["id"] not in before]
    return next((one for one in new if one["subject_kind"] == "broker"), None)


def first_card(world) -> str | None:
    """Return where the first card of the overview leads, of incidents that journeys did not leave behind."""
    cards = re.findall(r'class="incident__cause"><a href="([^"]*)"', world.console.visitor.page(""))
    known = {f"/incidents/{one['id']}/" for one in incidents(world)}
    return next((card for card in cards if card in known), None)


def is_running(flow) -> bool:
    """Return whether the flow runs, and its lag is known."""
    shown = flow.shown()
    return shown["status"]["state"] == "running" and shown["lag"] is not None


def resolved(world, id_: int) -> dict | None:
    one = one_of(world, id_)
    return one if one["state"] == "resolved" else None


def last_offset(world) -> int:
    return int(world.get("quorum/east/")["next_offset"])


def fencing(world, began: int) -> datetime | None:
    """Return when the broker was fenced, by the record of the metadata log."""
    path = f"metadata-changes/?cluster=east&kind=broker&broker={LOST}&limit=5"
    for row in world.get(path)["results"]:
        if row["offset"] >= began and row["state"].get("is_fenced"):
            return datetime.fromisoformat(row["at"])
    return None


def is_followed(world, topics: list[str]) -> bool:
    """Return whether the followed log has all replicas of these topics in sync."""
    rows = [
        row
        for topic in topics
        for row in world.get(f"availability/partitions/?cluster=east&topic={topic}")["results"]
    ]
    return len(rows) == len(topics) and all(
        row["source"] == "log" and set(row["isr"]) == set(row["replicas"]) for row in rows
    )


def elections(world) -> set[int]:
    found = world.get("quorum/elections/?cluster=east")["results"]
    return {one["epoch"] for one in found}

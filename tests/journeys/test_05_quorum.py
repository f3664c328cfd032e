"""The metadata log is followed while the leader of the quorum is killed."""

import pytest

from tests.live.quorum.quorums import described
from tests.waiting import eventually

pytestmark = pytest.mark.journey
FOLLOWED_WITHIN_S = 60


def test_an_election_voters_and_the_state_before_it_are_known_when_the_leader_was_killed(world):
    topic = world.topic("elected")
    eventually(lambda: state_of(world, topic), FOLLOWED_WITHIN_S, every=0.3)
    before = described(world.east)
    known_to = world.get("quorum/east/")["next_offset"]
    try:
        world.east.node(before.leader_id).kill()
        eventually(lambda: described(world.east).leader_epoch > before.leader_epoch, 60, every=0.3)
        after = described(world.east)
        late = world.topic("elected-late")
        eventually(lambda: state_of(world, late), FOLLOWED_WITHIN_S, every=0.3)
    finally:
        world.start_all()

    elections = world.get("quorum/elections/?cluster=east")["results"]
    election = next(one for one in elections if one["epoch"] == after.leader_epoch)
    assert election["leader_id"] == after.leader_id
    assert before.leader_id not in election["granting"]
    assert election["gap_ms"] > 0
    (voters,) = world.get("quorum/voter-sets/?cluster=east")["results"]
    assert {(one["id"], one["directory_id"]) for one in voters["voters"]} == {
        (one.id, one.directory_id) for one in after.voters
    }
    # The state at the moment before the kill has what there was then, and nothing of later.
    then = f"&offset={known_to}"
    assert [one["topic"] for one in state_of(world, topic, then)] == [topic]
    assert state_of(world, late, then) == []
    eventually(lambda: is_as_described(world, late), FOLLOWED_WITHIN_S, every=0.3)


def is_as_described(world, topic: str) -> bool:
    """Return whether the followed log has the leader and the ISR that the cluster describes."""
    (now,) = state_of(world, topic)
    known = world.partition(topic)
    return (now["state"]["leader"], set(now["state"]["isr"])) == (known.leader, set(known.isr))


def state_of(world, topic: str, moment: str = "") -> list[dict]:
    """Return the partitions of a topic as the followed log has them, now or at a moment."""
    path = f"quorum/east/state/?kind=partition&topic={topic}{moment}"
    return list(world.get(path)["results"])

"""A real quorum is followed through the deaths of its leaders, and its archive has the bytes of its disks."""

import shutil

import pytest

from jobs.lab.storage import format_node
from jobs.quorum.log.archive_manifest import read_manifest
from jobs.quorum.log.source import MetadataSource
from tests.live.quorum.quorums import (
    assert_same_bytes,
    described,
    following,
    leader,
    remove_voter,
    settle,
    status_of_tool,
)
from tests.waiting import eventually

# Segments of a few seconds, so that every test sees some roll over.
SMALL = {
    "internal.metadata.log.segment.bytes": "16384",
    "metadata.log.max.record.bytes.between.snapshots": "10000",
}
BEHIND_MS = 1_000


@pytest.fixture
def quorum(small_lab):
    """Three nodes that vote, each in a role of its own choosing."""
    return small_lab("quorum", nodes=3, overrides=SMALL).cluster("quorum")


def assert_as_the_tool_says(cluster):
    """Compare with kafka-metadata-quorum, asking again while an election is between the two."""
    eventually(lambda: _facts(cluster) == _facts_of_tool(cluster), 60, every=0.5)


def _facts(cluster) -> dict:
    found = described(cluster)
    endpoints = {node.id: node.endpoints for node in found.nodes}
    return {
        "leader": (found.leader_id, found.leader_epoch),
        "voters": {
            (
                one.id,
                one.directory_id,
                *(f"{e.name}://{e.host}:{e.port}" for e in endpoints[one.id]),
            )
            for one in found.voters
        },
        "observers": {(one.id, one.directory_id) for one in found.observers},
    }


def _facts_of_tool(cluster) -> dict:
    told = status_of_tool(cluster)
    return {
        "leader": (told["LeaderId"], told["LeaderEpoch"]),
        "voters": {
            (one["id"], one.get("directoryId"), *one["endpoints"]) for one in told["CurrentVoters"]
        },
        "observers": {(one["id"], one.get("directoryId")) for one in told["CurrentObservers"]},
    }


@pytest.mark.campaign("faults")
@pytest.mark.timeout(900)
def test_a_quorum_is_followed_whatever_happens_to_its_voters(quorum, tmp_path):
    with following(MetadataSource(quorum.connection), tmp_path / "a") as followed:
        settle(quorum, followed)
        assert_as_the_tool_says(quorum)
        for _ in range(3):
            dead = leader(quorum)
            dead.kill()
            followed.wait_for(followed.next_offset + 5)  # what no-ops alone do in 2.5 s
            dead.start()
            quorum.wait_until_serving()
        settle(quorum, followed)
        assert_as_the_tool_says(quorum)

        for voter in (leader(quorum), quorum.node(leader(quorum).plan.node_id % 3 + 1)):
            voter.pause()
            followed.wait_for(followed.next_offset + 5)
            voter.resume()
            quorum.wait_until_serving()  # a busy machine may have taken longer than its session
        settle(quorum, followed)
        assert_as_the_tool_says(quorum)

        for node in quorum.nodes.values():
            assert assert_same_bytes(followed.folder, node) > 0
    manifest = read_manifest(followed.folder)
    assert manifest.missing == ()
    assert manifest.dropped == ()
    assert manifest.finding is None
    assert manifest.log_start_offset == 0
    at_rest = sorted(followed.lags_ms)
    assert at_rest[len(at_rest) * 9 // 10] <= BEHIND_MS, at_rest


@pytest.mark.timeout(900)
def test_voters_that_come_go_and_change_their_disk_are_followed(quorum, tmp_path):
    def voter(node_id):
        return next((one for one in described(quorum).voters if one.id == node_id), None)

    with following(MetadataSource(quorum.connection), tmp_path / "a") as followed:
        added = quorum.add_controller()
        eventually(lambda: voter(4) is not None, 60)
        first = voter(4)
        assert_as_the_tool_says(quorum)

        added.kill()
        remove_voter(quorum, 4, first.directory_id)
        eventually(lambda: voter(4) is None, 60)
        shutil.rmtree(added.plan.data)
        format_node(added, quorum.identity)
        added.start()
        quorum.wait_until_serving()
        quorum._add_voter(added)
        eventually(lambda: voter(4) is not None, 60)
        assert voter(4).directory_id != first.directory_id
        settle(quorum, followed)
        assert_as_the_tool_says(quorum)

        # The leader goes: it answers for a while that it leads itself.
        gone = next(
            one for one in described(quorum).voters if one.id == leader(quorum).plan.node_id
        )
        remove_voter(quorum, gone.id, gone.directory_id)
        eventually(lambda: voter(gone.id) is None, 60)
        settle(quorum, followed)
        for node in quorum.nodes.values():
            assert assert_same_bytes(followed.folder, node) > 0
    manifest = read_manifest(followed.folder)
    assert (manifest.missing, manifest.dropped, manifest.finding) == ((), (), None)

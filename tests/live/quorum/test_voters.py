"""The history of voters and the change advisor, against a quorum whose voters really change."""

import shlex
import shutil
import time
from functools import partial

import pytest

from jobs.commands.quorum.voters import read_timeline
from jobs.lab.cluster import ADDED_BEFORE
from jobs.lab.storage import format_node
from jobs.quorum.advisor.advice import plan_change
from jobs.quorum.advisor.commands import Tools
from jobs.quorum.advisor.plan import DiskReplacement, RefusalCode, WantedChange
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from jobs.quorum.log.folder import read_folder
from jobs.quorum.timeline.clock import LogClock
from jobs.quorum.timeline.parts import Election
from jobs.quorum.voters.voter_sets import ReplicaKey, VoterNode
from tests.jobs.quorum.log.replica_digest import digest_folder
from tests.live.kafka_tools import LOG, QUORUM
from tests.live.quorum.described_state import state_from_description
from tests.live.quorum.quorums import REMOVED_BEFORE, change_voters, described, leader
from tests.waiting import eventually


@pytest.fixture
def quorum(small_lab):
    """Three nodes that vote."""
    return small_lab("voters", nodes=3).cluster("voters")


def timeline_of(quorum, node, high_watermark=None):
    return read_timeline(read_folder(node.plan.data / LOG), high_watermark)


def run(quorum, command: str) -> str:
    """Run a command of a plan with Kafka's own class, as bin/kafka-metadata-quorum.sh does."""
    script, *arguments = shlex.split(command)
    assert script == "bin/kafka-metadata-quorum.sh"
    quiet = quorum.node(1).plan.folder / "log4j2-tool.properties"
    with quorum.jvm.start_tool(QUORUM, arguments, logging=quiet) as tool:
        said, _ = tool.communicate()
    assert tool.returncode == 0, said
    return said


def plan(quorum, wanted, running=1):
    """Plan a change with what the quorum says now; a new voter must be seen first."""
    now = described(quorum)
    timeline = timeline_of(quorum, quorum.node(running), now.high_watermark)
    state = state_from_description(now, timeline, now_ms=now.described_at_ms)
    # The lab's files are node-N/server.properties: the advisor fills in the id.
    path = quorum.node(1).properties
    properties = str(path).replace("node-1", "node-{id}")
    return plan_change(state, wanted, Tools(quorum.bootstrap_servers, properties))


def settled(quorum, voters: set[int], running=1):
    """Wait until the log of a node has these voters, committed, and return its timeline."""

    def timeline():
        return timeline_of(quorum, quorum.node(running), described(quorum).high_watermark)

    def is_there() -> bool:
        read = timeline()
        return read.current.is_committed is True and read.current.voters.ids == voters

    eventually(is_there, 60, every=0.5)
    return timeline()


def add(quorum, command: str) -> None:
    """Run an addition as a plan says: again while the leader does not reach the new node yet."""

    change_voters(lambda: run(quorum, command), ADDED_BEFORE)


def remove(quorum, command: str) -> None:
    """Run a removal as a plan says: again while the leader cannot make it yet."""
    change_voters(lambda: run(quorum, command), REMOVED_BEFORE)


def start_observer(quorum, node, gone: str | None = None) -> ReplicaKey:
    """Format and start a controller without a vote; returns it as soon as it has caught up.

    A removed voter (`gone`: its directory) stays among the observers for 300 s.
    """
    format_node(node, quorum.identity)
    node.start()

    def seen():
        return next(
            (
                one
                for one in described(quorum).observers
                if one.id == 4 and one.directory_id != gone
            ),
            None,
        )

    found = []  # a new leader knows no observers for a moment

    def has_caught_up() -> bool:
        found[:] = [one for one in [seen()] if one and one.last_caught_up_at_ms is not None]
        return bool(found)

    eventually(has_caught_up, 60, every=0.5)
    return ReplicaKey(4, found[0].directory_id)


def replace_disk(quorum, fourth, key: ReplicaKey) -> None:
    """Give a voter another disk by a plan that knows only its id; the history recognises the swap."""
    fourth.kill()
    removal, addition = plan(quorum, WantedChange(replace=(DiskReplacement(4),))).steps
    remove(quorum, removal.command)
    settled(quorum, {1, 2, 3})
    shutil.rmtree(fourth.plan.data)
    new = start_observer(quorum, fourth, key.directory_id)
    add(quorum, addition.command)
    (seen,) = settled(quorum, {1, 2, 3, 4}).current.change.replaced_disk
    ids = (seen.old_directory_id, seen.new_directory_id)
    assert ids == (key.directory_id, new.directory_id)


@pytest.mark.timeout(900)
def test_plans_are_carried_out_and_the_history_tells_what_was_done(quorum):
    first = settled(quorum, {1, 2, 3})
    assert [anomaly.code for anomaly in first.anomalies if anomaly.is_finding] == []
    assert first.kraft_version == 1
    assert {voter.directory_id for voter in first.current.voters} == {
        quorum.identity.directory_ids[str(id_)] for id_ in (1, 2, 3)
    }

    # A node that does not run cannot be added.
    refused = plan(quorum, WantedChange(add=(VoterNode(ReplicaKey(4)),)))
    assert refused.refusal.code is RefusalCode.NOT_OBSERVED

    fourth = quorum._add_node(4, is_broker=False)
    quorum.identity.added_controllers.append(4)
    key = start_observer(quorum, fourth)
    added = plan(quorum, WantedChange(add=(VoterNode(key),)))
    for step in added.steps:
        add(quorum, step.command)
        assert "CurrentVoters" in run(quorum, step.check)
    read = settled(quorum, {1, 2, 3, 4})
    assert read.current.change.added == (key,)

    replace_disk(quorum, fourth, key)

    # The leader goes last of all, and resigns.
    gone = leader(quorum).plan.node_id
    stays = next(id_ for id_ in (1, 2, 3) if id_ != gone)
    for step in plan(quorum, WantedChange(remove=(gone,)), stays).steps:
        remove(quorum, step.command)
    settled(quorum, {1, 2, 3, 4} - {gone}, stays)
    # It resigns only after its removal was committed.
    eventually(
        lambda: timeline_of(quorum, quorum.node(stays)).elections[-1].leader_id != gone,
        60,
        every=0.5,
    )
    read = settled(quorum, {1, 2, 3, 4} - {gone}, stays)
    assert [anomaly for anomaly in read.anomalies if anomaly.is_finding] == []
    assert read.elections[-1].leader_id != gone
    # Where the machine is slow others lead for a moment only.
    after = next(one for one in reversed(read.elections) if one.leader_id == gone)
    (left,) = [one for one in read.elections if one.offset > after.offset][:1]
    assert left.previous_leader_id == gone


@pytest.mark.timeout(900)
def test_deaths_of_leaders_are_elections_with_their_time_and_health_sees_them(quorum):
    settled(quorum, {1, 2, 3})
    killed = []
    for _ in range(2):
        now = described(quorum)
        dead = quorum.node(now.leader_id)
        killed.append((now.leader_id, now.leader_epoch))
        at = time.time() * 1000
        dead.kill()
        alive = next(node for node in quorum.nodes.values() if node is not dead)
        eventually(lambda: described(quorum).leader_id != killed[-1][0], 60, every=0.5)
        after = described(quorum)
        # Where the machine is slow there may be one more election by now.
        eventually(lambda: after.leader_epoch in elected(quorum, alive), 60, every=0.5)  # noqa: B023
        assert elected(quorum, alive)[after.leader_epoch].leader_id == after.leader_id
        election = next(
            one for epoch, one in elected(quorum, alive).items() if epoch > killed[-1][1]
        )
        assert election.previous_leader_id == killed[-1][0]
        assert 500 <= election.gap_ms <= 30_000
        assert election.timestamp_ms >= at - 1_000
        assert len(election.granting) >= 2

        eventually(lambda: {"bare_majority", "voter_silent"} <= codes_of(quorum, alive), 30)  # noqa: B023
        codes = codes_of(quorum, alive)
        # What is much longer than the cadence of this log is a time without a controller.
        assert ("no_active_controller" in codes) or not is_long(alive, election), election
        dead.start()
        quorum.wait_until_serving()
        eventually(partial(is_whole, quorum, alive), 60, every=0.5)

    read = timeline_of(quorum, quorum.node(1), described(quorum).high_watermark)
    assert [one.code for one in read.anomalies if one.is_finding] == []
    replicas = tuple(
        digest_folder(read_folder(node.plan.data / LOG), node.name)
        for node in quorum.nodes.values()
    )
    picture = QuorumSnapshot(description=described(quorum), replicas=replicas)
    assert "replicas_differ" not in {
        one.code for one in evaluate_quorum(picture, now_ms()).findings
    }


def judge(quorum, node):
    """Judge the quorum with a node's log beside what its leader says, in the way the console does."""
    while True:
        now = described(quorum)
        timeline = timeline_of(quorum, node, now.high_watermark)
        if described(quorum).leader_epoch == now.leader_epoch:  # no election between the two
            break
    picture = QuorumSnapshot(description=now, timeline=timeline)
    found = evaluate_quorum(picture, now_ms()).findings
    assert not [one for one in found if one.code == "log_disagrees"]
    return found


def codes_of(quorum, node) -> set[str]:
    return {one.code for one in judge(quorum, node)}


def elected(quorum, node) -> dict[int, Election]:
    """Return the elections that a node's log has, by their epochs."""
    return {one.epoch: one for one in timeline_of(quorum, node).elections}


def is_long(node, election: Election) -> bool:
    """Return whether its gap is long beside the NoOp records, of those before it and of the whole log.

    A busy controller writes them late, and their cadence is a median.
    """
    clock, was_long = LogClock(), False
    for record in read_folder(node.plan.data / LOG).records():
        if record.offset == election.offset:
            was_long = clock.is_long(election.gap_ms)
        clock.tick(record.offset, record.epoch, record.timestamp_ms, record.type)
    return was_long and clock.is_long(election.gap_ms * 4 // 5)


def is_whole(quorum, node) -> bool:
    return "voter_silent" not in {one.code for one in judge(quorum, node)}


def now_ms() -> int:
    return int(time.time() * 1000)

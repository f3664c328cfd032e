"""Nodes of a real cluster are killed, and every partition becomes what was predicted."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from jobs.availability.what_if.outcome import RiskCode
from jobs.availability.what_if.simulation import Loss, Return, UncleanElection
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from tests.live import kafka_tools as tools
from tests.live.availability.drills import Drill

pytestmark = pytest.mark.timeout(900)

# A dead broker is fenced after six seconds instead of nine; nobody leaves the ISR for lag meanwhile.
SETTINGS = {
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    "auto.leader.rebalance.enable": "false",
}
RACKS = ("dc-a", "dc-b", "dc-c")  # nodes 1 and 4, 2 and 5, 3


def asked(least: int, **more: str) -> dict[str, str]:
    return {"min.insync.replicas": str(least), **more}


TOPICS = {
    "one-copy": ([2], asked(1)),
    "one-copy-asked-for-more": ([3], asked(2)),
    "in-one-site": ([1, 4], asked(2)),
    "in-one-site-min-1": ([4, 1], asked(1)),
    "two-sites-min-1": ([1, 2], asked(1)),
    "two-sites-min-2": ([5, 4], asked(2)),
    "three-sites": ([1, 2, 3], asked(2)),
    "three-sites-min-1": ([2, 4, 3], asked(1)),
    "all-must-be-there": ([3, 1, 5], asked(3)),
    "two-and-two": ([1, 4, 2, 5], asked(3)),
    "two-and-one": ([1, 4, 2], asked(2)),
    "five": ([5, 4, 3, 2, 1], asked(3)),
    "unclean-allowed": ([4, 2], asked(1, **{"unclean.leader.election.enable": "true"})),
    "unclean-allowed-two-and-one": (
        [4, 1, 2],
        asked(2, **{"unclean.leader.election.enable": "true"}),
    ),
}


@pytest.fixture(scope="module")
def broken(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    """Five nodes in three sites, all of them voters and brokers: three must run."""

    def plans(base_port: int) -> list[ClusterPlan]:
        return [replace(ClusterPlan("drill", 5, base_port, racks=RACKS), overrides=SETTINGS)]

    lab = Lab(tmp_path_factory.mktemp("drill"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    drill = Drill(lab.cluster("drill"), TOPICS)
    drill.make_topics()
    yield drill
    lab.kill()


@pytest.fixture
def drill(broken: Drill) -> Drill:
    """The cluster with every node up and every replica in sync."""
    broken.wait_until_whole()
    return broken


def nodes(*ids: int) -> frozenset[int]:
    return frozenset(ids)


def test_a_site_is_lost_at_once_and_its_nodes_come_back_one_by_one(drill: Drill) -> None:
    predicted = drill.predict(Loss(racks=frozenset({"dc-a"})))
    outcomes = {one.topic: one for one in predicted.overall}
    assert predicted.quorum.has_majority
    assert outcomes["in-one-site"].data_at_risk.code is RiskCode.LOST
    assert not outcomes["two-and-two"].after.is_writable
    drill.kill(1, 4)
    drill.assert_came_true(predicted)

    predicted = drill.predict(Return(nodes(1)))
    drill.bring_back(1)
    drill.assert_came_true(predicted)

    # Both of `in-one-site` crashed: none is eligible any more, and the last leader is taken.
    predicted = drill.predict(Return(nodes(4)))
    (found,) = [one for one in predicted.overall if one.topic == "in-one-site"]
    assert found.data_at_risk.code is RiskCode.UNCLEAN
    drill.bring_back(4)
    drill.assert_came_true(predicted)


@pytest.mark.campaign("drills")
def test_nodes_are_lost_in_sequence_until_the_majority_of_voters_is_gone(drill: Drill) -> None:
    predicted = drill.predict(Loss(nodes(3)))
    drill.kill(3)
    drill.assert_came_true(predicted)

    predicted = drill.predict(Loss(racks=frozenset({"dc-b"})))
    assert not predicted.quorum.has_majority
    assert any(one.after.is_writable for one in predicted.overall)
    drill.kill(2, 5)
    drill.assert_came_true(predicted)

    # With a third voter there is a leader again, which fences the other two.
    predicted = drill.predict(Return(nodes(3)))
    assert predicted.quorum.has_majority
    drill.bring_back(3)
    drill.assert_came_true(predicted)


@pytest.mark.campaign("drills")
def test_a_replica_that_missed_records_leads_only_after_an_unclean_election(drill: Drill) -> None:
    predicted = drill.predict(Loss(nodes(2)))
    drill.kill(2)
    drill.assert_came_true(predicted)

    drill.kill(1, 4)
    predicted = drill.predict(Return(nodes(2)))
    outcomes = {one.topic: one for one in predicted.overall}
    assert outcomes["two-and-one"].needs_unclean
    assert outcomes["unclean-allowed"].after.leader == 2
    drill.bring_back(2)
    drill.assert_came_true(predicted)

    predicted = drill.predict(UncleanElection("two-and-one"))
    words = ["--topic", "two-and-one", "--partition", "0", "--election-type", "unclean"]
    tools.run(drill.cluster, tools.ELECTION, *words)
    (found,) = [one for one in predicted.overall if one.topic == "two-and-one"]
    assert (found.after.leader, found.data_at_risk.code) == (2, RiskCode.UNCLEAN)
    drill.assert_came_true(predicted)

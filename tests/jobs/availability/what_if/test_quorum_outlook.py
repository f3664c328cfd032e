"""The verdict on a quorum of which the voters, or some of them, are not known."""

from dataclasses import replace

import pytest

from jobs.availability.what_if.answer_json import what_if_document
from jobs.availability.what_if.matrix import alike_partitions, matrix
from jobs.availability.what_if.model.cluster import ClusterModel
from jobs.availability.what_if.simulation import Return, simulate
from tests.jobs.availability.clusters import cluster, lose, partition

PARTITION = {"topic": "t", "partition": 0, "replicas": [1], "isr": [1], "leader": 1}


def test_without_known_voters_the_verdict_on_the_quorum_is_unknown():
    model = replace(cluster(partition()), voters=())
    answer = simulate(model, [lose(min(model.brokers))])
    assert (answer.quorum.is_known, answer.quorum.verdict) == (False, "unknown")
    assert answer.quorum.sentence.startswith("Unknown: voters not known.")
    told = what_if_document(answer)["steps"][0]["quorum"]
    assert (told["known"], told["has_majority"]) == (False, None)


def of_log(*fenced, voters=(1, 2, 3), **of_fenced):
    """Return a cluster of a metadata log in which these brokers are fenced."""
    brokers = [
        {"brokerId": n, "fenced": n in fenced, **(of_fenced if n in fenced else {})}
        for n in (1, 2, 3, 4, 5)
    ]
    told = [{"id": one} if isinstance(one, int) else one for one in voters]
    return ClusterModel.from_json(
        {"votersOffset": 3, "voters": told, "brokers": brokers, "partitions": [PARTITION]}
    )


@pytest.mark.parametrize(
    ("told", "alive"),
    [
        ({}, None),
        ({"alive": True}, True),
        ({"alive": False}, False),
        ({"alive": None}, None),
    ],
    ids=["nothing said", "said to live", "said to be dead", "said not to be known"],
)
def test_a_fenced_broker_says_nothing_of_the_voter_with_its_id(told, alive):
    model = of_log(2, voters=(1, {"id": 2, **told}, 3))
    assert [one.is_alive for one in model.voters] == [True, alive, True]


def test_a_broker_that_shuts_down_says_nothing_either():
    model = ClusterModel.from_json(
        {"brokers": [{"id": 1, "inControlledShutdown": True}, 2, 3], "voters": [1, 2, 3],
         "partitions": [PARTITION]}
    )  # fmt: skip
    assert [one.is_alive for one in model.voters] == [None, True, True]


def test_a_broker_of_a_document_that_is_said_to_be_dead_is_a_dead_voter():
    model = ClusterModel.from_json(
        {"brokers": [{"id": 1, "fenced": True, "alive": False}, 2], "voters": [1], "partitions": [
            {**PARTITION, "replicas": [2], "isr": [2], "leader": 2}]}
    )  # fmt: skip
    assert [one.is_alive for one in model.voters] == [False]


def test_that_voters_of_a_log_live_is_said_to_be_taken():
    answer = simulate(of_log(voters=(101, 102, 103)), [lose(1)])
    assert answer.quorum.sentence == (
        "3 of 3 voters alive, 2 needed: failures tolerated: 1. A metadata log does not tell which voters live: "
        "those without a fenced broker count as alive."
    )


def test_all_voters_live_whom_a_majority_needs():
    assert [one.is_alive for one in of_log(1, 2, voters=(1, 2)).voters] == [True, True]


@pytest.mark.parametrize(
    ("fenced", "lost", "verdict", "words"),
    [
        ((2,), (), "majority", "At least 2 of 3 voters alive, 2 needed; state of voter 2 unknown"),
        ((2,), (1,), "unknown", "At least 1 of 3 voters alive, 2 needed"),
        ((2,), (2,), "majority", "2 of 3 voters alive, 2 needed: failures tolerated: 0."),
        ((2,), (1, 3), "no majority", "no majority in any case"),
        ((2, 3), (1,), "unknown", "state of voters 2, 3 unknown"),
    ],
    ids=["nothing lost", "another is lost", "itself is lost", "both others", "two of three"],
)  # fmt: skip
def test_the_majority_is_unknown_where_it_depends_on_such_a_voter(fenced, lost, verdict, words):
    model = of_log(*fenced)
    answer = simulate(model, [lose(*lost)])
    assert answer.quorum.verdict == verdict
    assert words in answer.quorum.sentence
    assert matrix(alike_partitions(model), [lose(*lost)]).columns[0].quorum == answer.quorum
    assert answer.does_harm is (verdict == "no majority" or 1 in lost)


def test_a_voter_that_came_back_lives():
    answer = simulate(of_log(2), [lose(2), Return(frozenset({2})), lose(1)])
    assert (answer.quorum.verdict, answer.quorum.alive_ids) == ("majority", (2, 3))

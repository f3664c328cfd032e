"""The verdict on a quorum of which the voters are not known."""

from dataclasses import replace

from jobs.availability.what_if.simulation import Loss, simulate
from tests.jobs.availability.clusters import cluster, partition


def test_without_known_voters_the_verdict_on_the_quorum_is_unknown():
    model = replace(cluster(partition()), voters=())
    answer = simulate(model, [Loss(brokers=frozenset({min(model.brokers)}))])
    assert (answer.quorum.is_known, answer.quorum.verdict) == (False, "unknown")
    assert answer.quorum.sentence.startswith("Unknown: the voters are not known.")
    told = answer.to_json()["steps"][0]["quorum"]
    assert (told["known"], told["has_majority"]) == (False, None)

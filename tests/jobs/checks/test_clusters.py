"""Rules about clusters: what their collection says, and versions of brokers."""

import pytest

from jobs.checks.clusters import ClusterState, Trouble, collection, versions
from jobs.checks.settings import Setting, Settings
from tests.console.making import NOW

NONE = Settings()


def state(trouble=None, **fields):
    return ClusterState(1, "east", trouble, "No answer.", "Look.", NOW, **fields)


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        pytest.param(
            Trouble.UNREACHABLE, "Cluster east is unreachable: No answer.", id="unreachable"
        ),
        pytest.param(
            Trouble.OTHER_CLUSTER,
            "Another cluster answers at the address of east: No answer.",
            id="another cluster",
        ),
        pytest.param(
            Trouble.FAILING, "Collecting offsets, groups of east fails: No answer.", id="failing"
        ),
        pytest.param(
            Trouble.STALE,
            "Collecting offsets, groups of east is late: the last success was at 03:12:00 UTC.",
            id="late",
        ),
    ],
)
def test_a_cluster_that_is_not_collected_is_found_with_why_and_since_when(trouble, sentence):
    (found,) = collection(state(trouble, nouns=("offsets", "groups")), NONE, NOW)
    assert (found.code, found.sentence, found.todo) == (trouble, sentence, "Look.")
    assert found.since == NOW


def test_a_cluster_that_is_collected_in_time_has_no_finding():
    assert not list(collection(state(), NONE, NOW))


def test_an_excluded_check_finds_nothing():
    settings = Settings.of([Setting(Trouble.FAILING, cluster=1, is_excluded=True)])
    assert not list(collection(state(Trouble.FAILING), settings, NOW))


def test_brokers_on_two_versions_are_advice_with_the_brokers_of_each():
    (found,) = versions(state(releases={1: "3.9", 2: "4.1", 3: "3.9"}), NONE)
    assert found.sentence == (
        "Brokers of east run 2 versions of Kafka: 3.9 on broker 1, 3; 4.1 on broker 2."
    )
    assert not list(versions(state(releases={1: "3.9", 2: "3.9"}), NONE))

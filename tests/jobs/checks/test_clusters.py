"""Rules about clusters: what their collection says, and versions of brokers."""

import pytest

from jobs.checks.clusters import ClusterState, Trouble, collection
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

"""Whether a quorum lives after a loss."""

import pytest

from jobs.quorum.voters.majority import deadly_sites, quorum_after
from tests.jobs.quorum.voter_sets import voters


@pytest.mark.parametrize(
    ("size", "alive", "has_majority", "tolerated"),
    [
        (1, [1], True, 0),
        (2, [1], False, 0),
        (3, [1, 2, 3], True, 1),
        (3, [1, 2], True, 0),
        (3, [1], False, 0),
        (4, [1, 2, 3], True, 0),
        (4, [1, 2], False, 0),
        (5, [1, 2, 3, 4, 5], True, 2),
        (5, [3, 4, 5], True, 0),
        (3, [], False, 0),
        (0, [1], False, 0),
    ],
)
def test_a_quorum_lives_with_more_than_half_of_its_voters(size, alive, has_majority, tolerated):
    after = quorum_after(range(1, size + 1), alive)
    assert (after.has_majority, after.failures_tolerated) == (has_majority, tolerated)


def test_only_voters_count():
    after = quorum_after(voters(1, 2, 3), [3, 7, 8, 9])
    assert (after.alive_ids, after.missing_ids, after.has_majority) == ((3,), (1, 2), False)


@pytest.mark.parametrize(
    ("sites", "deadly"),
    [
        pytest.param({1: "a", 2: "a", 3: "b"}, ("a",), id="two of three in one place"),
        pytest.param({1: "a", 2: "b", 3: "c"}, (), id="one in each place"),
        pytest.param({1: "a", 2: "a", 3: "a"}, ("a",), id="all in one place"),
        pytest.param({1: "a", 2: "b"}, (), id="one at no known site"),
    ],
)
def test_the_sites_that_take_the_majority_with_them_are_named(sites, deadly):
    assert deadly_sites([1, 2, 3], sites, [1, 2, 3]) == deadly


def test_when_a_voter_is_down_already_more_sites_are_deadly():
    sites = {1: "a", 2: "b", 3: "c"}
    assert deadly_sites([1, 2, 3], sites, [1, 2]) == ("a", "b")


def test_an_outlook_is_written_in_words():
    assert str(quorum_after([1, 2, 3], [1, 2])) == (
        "2 of 3 voters alive, 2 needed: no further one may fail"
    )
    assert str(quorum_after([1, 2, 3], [1])) == "1 of 3 voters alive: no majority (it needs 2)"

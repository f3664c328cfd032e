import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.wire.topics.sync_links import SyncLinks, link_headers

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


def headers(follows, together):
    """As a client gives them."""
    return [(name.decode(), value) for name, value in link_headers(follows, together)]


def follow(*records):
    links = SyncLinks()
    return [links.follows(*record) for record in records]


def test_those_written_together_follow_each_other():
    told = follow(
        (7, ONE, (10, 100), headers((5, 95), 3)), (8, ONE, (12, 101)), (9, ONE, (15, 102))
    )
    assert told == [(5, 95), (10, 100), (12, 101)]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param((9, ONE, (15, 102)), id="one between was compacted away"),
        pytest.param((8, OTHER, (15, 102)), id="it is about another partition"),
    ],
)
def test_nothing_is_known_of_one_that_does_not_stand_right_behind(after):
    assert follow((7, ONE, (10, 100), headers((5, 95), 3)), after)[-1] is None


def test_what_another_program_wrote_right_behind_follows_nothing():
    assert follow((7, ONE, (10, 100), headers((5, 95), 1)), (8, ONE, (15, 102))) == [(5, 95), None]


def test_the_first_of_a_flow_follows_nothing_and_those_with_it_do():
    assert follow((7, ONE, (10, 100), headers(None, 2)), (8, ONE, (11, 102))) == [None, (10, 100)]


@pytest.mark.parametrize(
    "value", [b"", b"x", b"1:", b"1:-2", b"1:2:3", b"9" * 5000, b"1:" + b"9" * 5000, None]
)
def test_a_note_that_cannot_be_read_counts_as_none(value):
    bad = [("crosslog.follows", value), ("crosslog.together", value)]
    assert follow((7, ONE, (10, 100), bad), (8, ONE, (11, 101))) == [None, None]

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.sync_history import SyncHistory
from jobs.wire.topics.sync_links import (
    LONGEST_CHAIN_BYTES,
    SyncLinks,
    decode_chain,
    encode_chain,
    link_headers,
)

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


FIVE_TO_EIGHT = encode_chain([(5, 95), (7, 96), (8, 98)])
ORDINARY = [((9, 99), None)]


@pytest.mark.parametrize("name", ["crosslog.chain", b"crosslog.chain"])
def test_a_record_with_a_chain_tells_its_changes_in_order_and_its_own_pair_last(name):
    told = SyncLinks().told(7, ONE, (9, 99), [(name, FIVE_TO_EIGHT)])
    assert told == [((7, 96), (5, 95)), ((8, 98), (7, 96)), ((9, 99), (8, 98))]


def test_a_chain_of_one_pair_only_says_what_its_record_follows():
    told = SyncLinks().told(7, ONE, (9, 99), [("crosslog.chain", encode_chain([(5, 95)]))])
    assert told == [((9, 99), (5, 95))]


@pytest.mark.parametrize(
    "chain",
    [
        pytest.param(None, id="null"),
        pytest.param(b"", id="nothing"),
        pytest.param(FIVE_TO_EIGHT[:-1], id="cut off"),
        pytest.param(b"\xff" * 11, id="no number"),
        pytest.param(encode_chain([(5, 95), (9, 98)]), id="as high as its record on the source"),
        pytest.param(encode_chain([(5, 95), (8, 99)]), id="as high as its record on the target"),
        pytest.param(encode_chain([(5, 95), (5, 96)]), id="not rising on the source"),
        pytest.param(encode_chain([(5, 95), (6, 95)]), id="not rising on the target"),
        pytest.param(encode_chain([(-1, 95)]), id="below 0"),
        pytest.param(b"\0" * (LONGEST_CHAIN_BYTES + 2), id="too long"),
    ],
)
def test_a_chain_that_is_not_sound_counts_as_absent(chain):
    bad = [("crosslog.chain", FIVE_TO_EIGHT), ("crosslog.chain", chain)]
    links = SyncLinks()
    assert links.told(6, ONE, (4, 94), headers(None, 2)) == [((4, 94), None)]
    assert links.told(7, ONE, (9, 99), bad) == ORDINARY, "its place alone links it to nothing"
    assert links.told(8, ONE, (9, 99), [*bad, *headers((1, 2), 2)]) == [((9, 99), (1, 2))]
    assert links.follows(9, ONE, (10, 100)) == (9, 99)


def test_a_sound_chain_counts_alone_whatever_other_headers_say():
    both = [*headers((1, 2), 3), ("crosslog.chain", FIVE_TO_EIGHT)]
    told = follow((7, ONE, (9, 99), both), (8, ONE, (10, 100)))
    assert told == [(8, 98), None]


STEPS = st.lists(st.tuples(st.integers(1, 2**50), st.integers(1, 2**50)), min_size=1, max_size=40)


def rising(steps):
    return list(accumulate(steps, lambda one, step: (one[0] + step[0], one[1] + step[1])))


@given(STEPS)
def test_a_chain_is_read_as_it_was_written(steps):
    assert decode_chain(encode_chain(rising(steps))) == tuple(rising(steps))


@given(st.binary(max_size=40))
def test_foreign_bytes_are_no_chain_or_one_that_rises(content):
    found = decode_chain(content)
    assert all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(found))
    assert not found or decode_chain(encode_chain(found)) == found


SMALL = st.tuples(st.integers(1, 3), st.integers(1, 3))


@given(st.lists(SMALL, min_size=1, max_size=12), st.lists(st.integers(1, 4), max_size=12))
def test_records_with_chains_say_what_a_record_for_each_sync_says(steps, sizes):
    pairs, links = rising(steps), SyncLinks()
    one_each, chained = SyncHistory(), SyncHistory()
    for before, pair in pairwise([None, *pairs]):
        one_each.add(*pair, follows=before)
    at, first = 0, 1
    for size in [1, *sizes, *[1] * len(pairs)]:
        told = pairs[max(at - 1, 0) : at + size]
        if at < len(pairs):
            note = [("crosslog.chain", encode_chain(told[:-1]))] if at else []
            for pair, follows in links.told(first, ONE, told[-1], note):
                chained.add(*pair, follows=follows)
        at, first = at + size, first + 1
    for upstream in range(pairs[-1][0] + 3):
        assert chained.certify(upstream) == one_each.certify(upstream)
        assert chained.reverse(upstream) == one_each.reverse(upstream)

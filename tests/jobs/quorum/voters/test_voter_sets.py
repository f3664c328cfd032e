"""Voter sets and their history: upstream's own cases (their numbers are those of the reference)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.voters.voter_sets import (
    NO_DIRECTORY_ID,
    Endpoint,
    LogHistory,
    ReplicaKey,
    VoterNode,
    VoterSet,
    VoterSetHistory,
)
from tests.jobs.quorum.voter_sets import (
    directory,
    key_of,
    minus,
    node,
    plus,
    renewed,
    voters,
)


@pytest.fixture
def history():
    """Upstream's table of H3 to H5: values at 100 and 200."""
    history = LogHistory()
    history.add_at(100, "100")
    history.add_at(200, "200")
    return history


def test_an_empty_history_has_no_value_and_no_last_entry():  # H1
    assert (LogHistory().value_at_or_before(100), LogHistory().last_entry()) == (None, None)


@pytest.mark.parametrize("offset", [-2, 99, 100], ids=["H2 below -1", "H2 before", "H2 again"])
def test_a_history_refuses_offsets_that_are_not_beyond_its_last(offset):
    history = LogHistory()
    history.add_at(-1, "-1")
    history.add_at(100, "100")
    with pytest.raises(ValueError, match="offset"):
        history.add_at(offset, "no")


@pytest.mark.parametrize(
    ("offset", "value"),
    [(-2, None), (-1, "-1"), (0, "-1"), (99, "-1"), (100, "100"), (101, "100"), (199, "100"),
     (200, "200"), (201, "200")],
)  # fmt: skip
def test_a_value_holds_from_its_offset_on(history, offset, value):  # H2
    whole = LogHistory()
    whole.add_at(-1, "-1")
    for at, one in history:
        whole.add_at(at, one)
    assert whole.value_at_or_before(offset) == value
    assert whole.last_entry() == (200, "200")


@pytest.mark.parametrize(
    ("end", "last"),
    [(201, (200, "200")), (200, (100, "100")), (101, (100, "100")), (100, None)],
)
def test_a_cut_drops_what_is_at_its_offset_or_behind(history, end, last):  # H3
    history.truncate_new_entries(end)
    assert history.last_entry() == last


@pytest.mark.parametrize(
    ("start", "answers"),
    [
        (99, {99: None, 100: "100"}),
        (100, {99: None, 100: "100"}),
        (101, {99: None, 100: "100"}),
        (200, {199: None, 200: "200"}),
    ],
)
def test_a_new_log_start_keeps_the_last_value_before_it(history, start, answers):  # H4
    history.truncate_old_entries(start)
    assert {at: history.value_at_or_before(at) for at in answers} == answers


def test_clearing_forgets_everything(history):  # H5
    history.clear()
    assert history.last_entry() is None


class TestVoterSetHistory:
    """Rows V; the mode `is_strict` is Kafka 3.9's, the other one Kafka 4's."""

    @pytest.mark.parametrize("is_strict", [False, True], ids=["4.x", "before 17973"])
    def test_the_static_set_is_last_but_has_no_offset(self, is_strict):  # V1
        static = voters(1, 2, 3)
        history = VoterSetHistory(static, is_strict=is_strict)
        history.truncate_new_entries(100)
        history.truncate_old_entries(100)
        assert (history.value_at_or_before(0), history.value_at_or_before(100)) == (None, None)
        assert (history.last_value(), history.last_voter_set_offset()) == (static, None)

    def test_without_a_static_set_the_last_one_is_empty(self):  # V2
        assert VoterSetHistory(VoterSet()).last_value() == VoterSet()
        assert VoterSetHistory().last_value() == VoterSet()

    @pytest.mark.parametrize("is_strict", [False, True], ids=["4.x", "before 17973"])
    def test_sets_hold_from_their_offsets_on(self, is_strict):  # V3
        static = voters(1, 2, 3)
        four = plus(static, 4)
        history = VoterSetHistory(static, is_strict=is_strict)
        with pytest.raises(ValueError, match="-2"):
            history.add_at(-2, four)
        history.add_at(100, four)
        assert (history.last_value(), history.value_at_or_before(99)) == (four, None)
        history.add_at(200, static)
        assert [history.value_at_or_before(at) for at in (100, 199, 200)] == [four, four, static]
        assert history.last_voter_set_offset() == 200

    def test_a_bootstrap_set_is_before_the_log(self):  # V4
        first = voters(1, 2, 3)
        four = plus(first, 4)
        history = VoterSetHistory()
        for at, set_ in ((-1, first), (100, four), (200, first)):
            history.add_at(at, set_)
        answers = [history.value_at_or_before(at) for at in (-2, -1, 99, 100, 199, 200)]
        assert answers == [None, first, first, four, four, first]

    def test_kafka_4_keeps_a_set_that_does_not_overlap_and_it_is_flagged(self):  # V5
        first = voters(1, 2, 3)
        alone = minus(first, 1, 2)
        again = plus(alone, 1, 2)
        history = VoterSetHistory()
        for at, set_ in ((100, first), (200, alone), (300, again)):
            history.add_at(at, set_)
        assert (history.value_at_or_before(200), history.last_value()) == (alone, again)
        assert history.non_overlapping == (200, 300)

    def test_before_17973_a_set_that_does_not_overlap_was_refused(self):  # V5
        first = voters(1, 2, 3)
        history = VoterSetHistory(is_strict=True)
        history.add_at(100, first)
        for set_ in (minus(first, 1, 2), plus(first, 4, 5)):
            with pytest.raises(ValueError, match="more than one"):
                history.add_at(200, set_)
        assert history.last_entry() == (100, first)

    @pytest.mark.parametrize("is_strict", [False, True], ids=["4.x", "before 17973"])
    def test_the_first_set_need_not_overlap_the_static_one(self, is_strict):  # V6
        history = VoterSetHistory(voters(1, 2, 3), is_strict=is_strict)
        history.add_at(100, voters(3))
        assert history.non_overlapping == ()

    @pytest.mark.parametrize("is_strict", [False, True], ids=["4.x", "before 17973"])
    def test_a_set_of_the_log_need_not_overlap_one_before_the_log(self, is_strict):  # R2
        history = VoterSetHistory(is_strict=is_strict)
        history.add_at(-1, voters(1, 2))
        history.add_at(0, voters(3, 4))
        assert history.non_overlapping == ()

    @pytest.mark.parametrize(("end", "last"), [(201, 5), (200, 4), (101, 4), (100, 3)])
    def test_a_cut_goes_back_to_the_set_before_or_the_static_one(self, end, last):  # V7
        static = voters(1, 2, 3)
        four = plus(static, 4)
        history = VoterSetHistory(static)
        history.add_at(100, four)
        history.add_at(200, plus(four, 5))
        history.truncate_new_entries(end)
        assert len(history.last_value()) == last

    @pytest.mark.parametrize(
        ("start", "answers"),
        [
            (99, {99: 0, 100: 4}),
            (100, {99: 0, 100: 4}),
            (101, {99: 0, 100: 4}),
            (200, {199: 0, 200: 5}),
        ],
    )
    def test_a_new_log_start_keeps_the_set_that_held(self, start, answers):  # V8
        four = voters(1, 2, 3, 4)
        history = VoterSetHistory(voters(1, 2, 3))
        history.add_at(100, four)
        history.add_at(200, plus(four, 5))
        history.truncate_old_entries(start)
        assert {at: len(history.value_at_or_before(at) or ()) for at in answers} == answers

    def test_clearing_leaves_the_static_set(self):  # V9
        static = voters(1, 2, 3)
        history = VoterSetHistory(static)
        history.add_at(100, plus(static, 4))
        history.clear()
        assert history.last_value() == static

    def test_what_was_cut_off_is_no_longer_flagged(self):
        first = voters(1, 2, 3)
        history = VoterSetHistory()
        history.add_at(100, first)
        history.add_at(200, minus(first, 1, 2))
        history.truncate_new_entries(200)
        history.add_at(200, plus(first, 4))
        assert history.non_overlapping == ()


class TestVoterSet:
    """Rows S."""

    def test_an_id_is_added_once_whatever_its_directory(self):  # S1
        three = voters(1, 2, 3)
        four = three.add_voter(node(4))
        assert three.add_voter(node(1)) is None
        assert four is not None
        assert sorted(four.ids) == [1, 2, 3, 4]

    def test_only_the_very_replica_is_removed(self):  # S1
        three = voters(1, 2, 3)
        assert three.remove_voter(ReplicaKey(4)) is None
        assert three.remove_voter(ReplicaKey(4, directory())) is None
        assert three.remove_voter(ReplicaKey(3, directory())) is None
        left = three.remove_voter(key_of(three, 3))
        assert left is not None
        assert sorted(left.ids) == [1, 2]

    def test_a_voter_is_updated_when_id_and_directory_are_its_own(self):  # S2
        three = voters(1, 2, 3)
        new = VoterNode(key_of(three, 3), (Endpoint("ABC", "abc", 1234),), 1, 1)
        updated = three.update_voter(new)
        assert three.update_voter(node(4)) is None
        assert three.update_voter(node(3)) is None
        assert updated is not None
        assert updated.node(3) == new

    def test_only_a_voter_that_tells_something_new_needs_an_update(self):  # S2
        three = voters(1, 2, 3)
        new = VoterNode(key_of(three, 3), (Endpoint("ABC", "abc", 1234),), 1, 1)
        assert three.voter_node_needs_update(new)
        assert not three.voter_node_needs_update(node(3))
        assert not three.voter_node_needs_update(node(4))
        assert not any(three.voter_node_needs_update(voter) for voter in three)

    def test_the_last_voter_cannot_be_removed(self):  # S3
        one = voters(1)
        assert one.remove_voter(key_of(one, 1)) is None

    def test_with_directory_ids_a_voter_is_id_and_directory(self):  # S4
        three = voters(1, 2, 3)
        first = key_of(three, 1)
        assert three.is_voter(first)
        strangers = [
            (1, directory()),
            (1, None),
            (2, first.directory_id),
            (4, first.directory_id),
            (4, None),
        ]
        assert not any(three.is_voter(ReplicaKey(*key)) for key in strangers)

    def test_without_directory_ids_a_voter_is_its_id(self):  # S5
        three = voters(1, 2, 3, has_directory=False)
        assert three.is_voter(ReplicaKey(1))
        assert three.is_voter(ReplicaKey(1, directory()))
        assert not three.is_voter(ReplicaKey(4))
        assert not three.is_voter(ReplicaKey(4, directory()))

    def test_only_one_can_be_the_only_voter(self):  # S6
        one, two = voters(1), voters(1, 2)
        assert one.is_only_voter(key_of(one, 1))
        strangers = [(1, directory()), (1, None), (4, directory()), (4, None)]
        assert not any(one.is_only_voter(ReplicaKey(*key)) for key in strangers)
        assert not any(two.is_only_voter(voter.key) for voter in two)

    @pytest.mark.parametrize(
        ("size", "change", "overlaps"),
        [
            pytest.param(3, lambda s: plus(s, 4), True, id="S7 one more"),
            pytest.param(3, lambda s: minus(s, 1), True, id="S7 one less"),
            pytest.param(3, lambda s: renewed(s, 1), True, id="S7 another directory"),
            pytest.param(5, lambda s: plus(s, 6, 7), False, id="S8 two more"),
            pytest.param(5, lambda s: minus(s, 1, 2), False, id="S8 two less"),
            pytest.param(5, lambda s: renewed(s, 1, 2), False, id="S8 two other directories"),
        ],
    )
    def test_majorities_meet_when_the_sets_differ_by_one(self, size, change, overlaps):
        before = voters(*range(1, size + 1))
        after = change(before)
        assert before.has_overlapping_majority(after) is overlaps
        assert after.has_overlapping_majority(before) is overlaps

    @pytest.mark.parametrize("has_directory", [True, False])
    def test_a_record_gives_back_the_set_that_made_it(self, has_directory):  # S9
        three = voters(1, 2, 3, has_directory=has_directory)
        assert VoterSet.from_voters_record(three.to_voters_record(0)) == three

    def test_the_upgrade_to_kraft_version_1_may_change_a_directory(self):  # S10
        three = voters(1, 2, 3)
        once, twice = node(3), node(3)
        assert three.update_voter_ignoring_directory_id(node(4)) is None
        updated = three.update_voter_ignoring_directory_id(once)
        assert updated is not None
        again = updated.update_voter_ignoring_directory_id(twice)
        assert again is not None
        assert again.node(3) == twice

    @pytest.mark.parametrize(
        ("has_directory", "versions"), [(False, [True, False]), (True, [True, True])]
    )
    def test_a_set_can_do_what_all_its_voters_can(self, has_directory, versions):  # S10
        three = voters(1, 2, 3, has_directory=has_directory)
        assert [three.supports_version(v) for v in (0, 1)] == versions

    def test_names_of_listeners_are_compared_in_upper_case(self):
        key = ReplicaKey(1, directory())
        one = VoterNode(key, (Endpoint("controller", "a", 1), Endpoint("B", "a", 2)))
        assert one == VoterNode(key, (Endpoint("B", "a", 2), Endpoint("CONTROLLER", "a", 1)))

    def test_the_zero_uuid_is_no_directory_id(self):
        assert ReplicaKey(1, NO_DIRECTORY_ID) == ReplicaKey(1)

    @pytest.mark.parametrize(
        "record",
        [{}, {"voters": [{}]}, {"voters": None}, {"voters": [{"voterId": "x"}]}],
        ids=["empty", "a voter without fields", "no list", "no number"],
    )
    def test_a_record_that_makes_no_sense_is_refused(self, record):
        with pytest.raises(ValueError, match=r"."):
            VoterSet.from_voters_record(record)

    def test_an_id_is_in_a_set_once(self):
        with pytest.raises(ValueError, match="once"):
            VoterSet((node(1), node(1)))


@given(st.sets(st.integers(0, 8), min_size=2, max_size=7), st.data())
def test_after_one_was_added_or_removed_any_two_majorities_share_a_voter(ids, drawn):
    before = voters(*ids)
    gone = drawn.draw(st.sampled_from(sorted(ids)))
    for after in (minus(before, gone), plus(before, 9)):
        assert before.has_overlapping_majority(after)
        assert before.majority + after.majority > len(before.keys | after.keys)

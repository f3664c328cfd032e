"""Which slot copies for which flow: even, rarely changed, and alone where a flow fills a slot."""

import pytest

from jobs.spark.slots.dealing import (
    CALM_S,
    FULL_S,
    SUSPECT_WITHIN_S,
    OwnSlots,
    SlotDeaths,
    choose_slot,
    even_out,
)

A, B, C = ("a", 0), ("b", 0), ("c", 0)


@pytest.mark.parametrize(
    ("placed", "shares", "slot"),
    [
        pytest.param({}, {}, 0, id="the first one of empty slots"),
        pytest.param({A: 0}, {}, 1, id="an empty one rather than one with an idle copy"),
        pytest.param({A: 0, B: 1}, {A: 0.5, B: 0.1}, 1, id="the one that takes less of a core"),
        pytest.param(
            {("new", 1): 1, A: 0}, {A: 0.9}, 0, id="one without another task of the same flow"
        ),
    ],
)
def test_a_copy_gets_the_slot_with_least_to_do(placed, shares, slot):
    assert choose_slot(("new", 0), [0, 1], placed, shares) == slot


def test_without_a_slot_a_copy_waits():
    assert choose_slot(A, [], {}, {}) is None


@pytest.mark.parametrize(
    ("placed", "shares", "move"),
    [
        pytest.param({A: 0, B: 1}, {A: 0.9, B: 0.1}, None, id="a single busy copy stays"),
        pytest.param({A: 0, B: 0, C: 1}, {A: 0.1}, None, id="small differences stay"),
        pytest.param(
            {A: 0, B: 0, C: 1}, {A: 0.9}, None, id="a copy that fills a slot is to leave it"
        ),
        pytest.param({A: 0, B: 0}, {}, (A, 1), id="a slot that came back gets a copy"),
        pytest.param(
            {A: 0, B: 0, C: 1}, {A: 0.5, B: 0.4, C: 0.0}, (B, 1), id="the move that evens out best"
        ),
    ],
)
def test_copies_move_between_shared_slots_where_that_helps(placed, shares, move):
    assert even_out([0, 1], placed, shares) == move


def test_a_copy_that_fills_a_shared_slot_for_a_while_is_to_leave_it():
    rule, shared = OwnSlots(), {A: 0, B: 0}
    assert rule.leave_shared(shared, {A: 0.7}, 100.0) is None
    assert rule.leave_shared(shared, {A: 0.7}, 100.0 + FULL_S) == A


def test_a_pause_begins_the_count_again():
    rule, shared = OwnSlots(), {A: 0, B: 0}
    rule.leave_shared(shared, {A: 0.7}, 100.0)
    rule.leave_shared(shared, {A: 0.5}, 110.0)
    assert rule.leave_shared(shared, {A: 0.7}, 100.0 + FULL_S) is None


def test_a_copy_that_is_alone_in_a_shared_slot_stays():
    rule = OwnSlots()
    rule.leave_shared({A: 0, B: 1}, {A: 0.9}, 0.0)
    assert rule.leave_shared({A: 0, B: 1}, {A: 0.9}, FULL_S) is None


def test_a_copy_returns_after_it_was_calm_for_longer_than_it_was_busy():
    rule = OwnSlots()
    assert rule.return_to_shared([A], {A: 0.1}, 0.0) is None
    assert rule.return_to_shared([A], {A: 0.1}, FULL_S) is None
    assert rule.return_to_shared([A], {A: 0.1}, CALM_S) == A


def test_between_the_two_bounds_a_copy_stays_where_it_is():
    rule = OwnSlots()
    rule.return_to_shared([A], {A: 0.1}, 0.0)
    rule.return_to_shared([A], {A: 0.45}, 60.0)
    assert rule.return_to_shared([A], {A: 0.1}, CALM_S) is None


def test_one_death_sets_no_flow_apart():
    assert SlotDeaths().note({"a": 10, "b": 0}, 0.0) is None


def test_of_the_flows_that_copied_at_both_deaths_the_one_with_most_in_flight_is_set_apart():
    deaths = SlotDeaths()
    deaths.note({"a": 10, "b": 99}, 0.0)
    assert deaths.note({"a": 10, "b": 20, "c": 500}, 60.0) == "b"


def test_deaths_far_apart_say_nothing_about_a_flow():
    deaths = SlotDeaths()
    deaths.note({"a": 10}, 0.0)
    assert deaths.note({"a": 10}, SUSPECT_WITHIN_S + 1) is None


def test_a_flow_that_was_set_apart_begins_with_a_clean_record():
    deaths = SlotDeaths()
    deaths.note({"a": 10}, 0.0)
    assert deaths.note({"a": 10}, 1.0) == "a"
    assert deaths.note({"a": 10}, 2.0) is None

"""Who is fetched when not everything can be copied at once."""

from collections import Counter

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.quotas import AHEAD_BYTES, STARVING_ROUNDS, STARVING_S, FetchScheduler

ORDERS, LOGS, MAIL = (TopicPartition(name, 0) for name in ("orders", "logs", "mail"))
ALL = [LOGS, MAIL, ORDERS]
FETCH = 1_000_000


def shares(turns: FetchScheduler, rounds: int, candidates=ALL, waiting=ALL) -> Counter:
    """Bytes that each partition got in so many rounds of 1 ms, each fetch as large as it may be."""
    got = Counter()
    for number in range(rounds):
        for where in turns.choose(candidates, waiting, number / 1000):
            turns.fetched(where, FETCH, number / 1000)
            got[where] += FETCH
    return got


def test_without_priorities_everybody_has_a_turn_in_the_order_given():
    assert FetchScheduler().choose(ALL, ALL, 0.0) == ALL


def test_the_higher_priority_is_named_first():
    assert FetchScheduler({"orders": 2}).choose(ALL, ALL, 0.0)[0] == ORDERS


def test_who_got_least_of_its_share_is_named_first_so_that_none_fills_every_answer_alone():
    turns = FetchScheduler({"orders": 3})
    turns.choose(ALL, ALL, 0.0)
    turns.fetched(ORDERS, FETCH, 0.0)
    turns.fetched(LOGS, 1, 0.0)
    assert turns.choose(ALL, ALL, 0.1) == [MAIL, LOGS, ORDERS]


@pytest.mark.parametrize(("priority", "ratio"), [(1, 2), (2, 4), (3, 8)])
def test_answers_that_one_partition_fills_are_shared_by_priority_all_the_same(priority, ratio):
    turns = FetchScheduler({"orders": priority})
    got = Counter()
    for number in range(4000):
        first = turns.choose(ALL, ALL, number / 1000)[0]
        turns.fetched(first, 64_000, number / 1000)
        got[first] += 64_000
    assert got[ORDERS] / got[LOGS] == pytest.approx(ratio, rel=0.1)


@pytest.mark.parametrize(("priority", "ratio"), [(1, 2), (2, 4), (3, 8)])
def test_one_more_in_priority_is_twice_as_much(priority, ratio):
    got = shares(FetchScheduler({"orders": priority}), 400)
    assert got[ORDERS] / got[LOGS] == pytest.approx(ratio, rel=0.1)


def test_a_negative_priority_is_below_all_that_are_not_named():
    got = shares(FetchScheduler({"logs": -1}), 400)
    assert got[ORDERS] / got[LOGS] == pytest.approx(2, rel=0.1)
    assert got[ORDERS] == got[MAIL]


def test_equal_priorities_never_wait_for_each_other():
    got = shares(FetchScheduler({"orders": 1, "mail": 1}), 100)
    assert got[ORDERS] == got[MAIL] == 100 * FETCH


def test_no_partition_waits_for_a_higher_priority_that_has_nothing_left_to_copy():
    got = shares(FetchScheduler({"orders": 5}), 100, waiting=[LOGS, MAIL])
    assert got[LOGS] == 100 * FETCH


def test_who_has_no_room_just_now_is_still_waited_for():
    turns = FetchScheduler({"orders": 3})
    got = shares(turns, 100, candidates=[LOGS], waiting=ALL)
    assert got[LOGS] <= AHEAD_BYTES / 8 + FETCH


def test_no_partition_starves_behind_a_higher_priority_that_does_not_get_on():
    turns = FetchScheduler({"orders": 5})
    turns.choose([LOGS], ALL, 0.0)
    turns.fetched(LOGS, FETCH, 0.0)
    late = [turns.choose([LOGS], ALL, STARVING_S) for _ in range(STARVING_ROUNDS)]
    assert late[:-1] == [[]] * (STARVING_ROUNDS - 1)
    assert late[-1] == [LOGS]


def test_who_starved_is_named_before_all_others():
    turns = FetchScheduler({"orders": 5})
    turns.choose(ALL, ALL, 0.0)
    turns.fetched(LOGS, FETCH, 0.0)
    late = [turns.choose(ALL, ALL, STARVING_S) for _ in range(STARVING_ROUNDS)]
    assert late[0] == [ORDERS, MAIL]
    assert late[-1] == [LOGS, ORDERS, MAIL]


def test_who_was_idle_has_saved_nothing_up():
    turns = FetchScheduler({"orders": 1})
    shares(turns, 1000, candidates=[LOGS, ORDERS], waiting=[LOGS, ORDERS])
    got = shares(turns, 50)
    assert got[MAIL] <= got[ORDERS]


def test_new_priorities_count_from_the_next_turn_on():
    turns = FetchScheduler({"orders": 3})
    shares(turns, 100)
    turns.prefer({"logs": 3})
    got = shares(turns, 400)
    assert got[LOGS] / got[ORDERS] == pytest.approx(8, rel=0.1)

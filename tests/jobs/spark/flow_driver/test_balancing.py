"""Which task copies which partition, by observed bytes."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.spark.flow_driver.balancing import Balance, assign, imbalance, moves

MB = 1_000_000.0


def parts(count: int, topic: str = "t") -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def loads_of(owners, rates) -> Counter:
    loads = Counter()
    for where, task in owners.items():
        loads[task] += rates[where]
    return loads


def test_partitions_whose_rates_are_unknown_are_dealt_evenly():
    assert Counter(assign(parts(10), {}, {}, [0, 1, 2]).values()) == {0: 4, 1: 3, 2: 3}


def test_the_largest_is_dealt_first_to_the_task_with_least_to_do():
    rates = dict(zip(parts(4), [10 * MB, 6 * MB, 5 * MB, 1 * MB], strict=True))
    dealt = assign(list(rates), {}, rates, [0, 1])
    assert loads_of(dealt, rates) == {0: 11 * MB, 1: 11 * MB}


def test_an_unknown_rate_counts_as_the_average():
    known = dict(zip(parts(2), [8 * MB, 2 * MB], strict=True))
    new = TopicPartition("new", 0)
    dealt = assign([*known, new], {}, known, [0, 1])
    assert dealt[new] == dealt[parts(2)[1]] != dealt[parts(2)[0]]


def test_what_is_owned_counts_and_stays():
    owned = {parts(1)[0]: 0}
    dealt = assign(parts(3)[1:], owned, dict.fromkeys(parts(3), MB), [0, 1])
    assert parts(1)[0] not in dealt
    assert Counter(dealt.values()) == {1: 1, 0: 1}


def test_a_partition_stays_with_the_task_that_had_it():
    before = {where: where.partition % 2 for where in parts(6)}
    assert assign(parts(6), {}, {}, [0, 1], before) == before


def test_a_partition_does_not_stay_where_the_task_is_gone():
    assert assign(parts(1), {}, {}, [0], {parts(1)[0]: 7}) == {parts(1)[0]: 0}


def test_a_partition_does_not_stay_where_there_is_too_much_already():
    before = dict.fromkeys(parts(4), 0)
    dealt = assign(parts(4), {}, dict.fromkeys(parts(4), MB), [0, 1], before)
    assert Counter(dealt.values()) == {0: 2, 1: 2}


def test_without_a_task_nothing_is_dealt():
    assert assign(parts(2), {}, {}, []) == {}


def test_a_move_evens_out_the_busiest_and_the_idlest():
    rates = dict(zip(parts(3), [4 * MB, 2 * MB, 3 * MB], strict=True))
    assert moves(dict.fromkeys(parts(3), 0), rates, [0, 1]) == {parts(1)[0]: 1}


def test_a_single_heavy_partition_is_not_moved_about():
    rates = dict(zip(parts(2), [90 * MB, 0.0], strict=True))
    assert moves({parts(2)[0]: 0, parts(2)[1]: 1}, rates, [0, 1]) == {}


@given(
    rates=st.lists(st.floats(0, 1e9), min_size=1, max_size=40),
    tasks=st.integers(1, 5),
    seed=st.randoms(),
)
def test_moves_never_make_it_worse_and_come_to_an_end(rates, tasks, seed):
    by_part = dict(zip(parts(len(rates)), rates, strict=True))
    owners = {where: seed.randrange(tasks) for where in by_part}
    for _ in range(50):
        before, _ = imbalance(owners, by_part, range(tasks))
        found = moves(owners, by_part, range(tasks))
        owners |= found
        after, _ = imbalance(owners, by_part, range(tasks))
        assert after <= before
        if not found:
            return
    pytest.fail("partitions are moved about for ever")


# All of it on task 0, which is twice the average.
LOPSIDED = dict.fromkeys(parts(4), 0)
RATES = dict.fromkeys(parts(4), MB)


def test_an_imbalance_must_last_before_anything_moves():
    balance = Balance()
    due = [bool(balance.due(LOPSIDED, RATES, [0, 1], now_s)) for now_s in (0.0, 10.0, 20.0)]
    assert due == [False, False, True]


def test_an_imbalance_that_was_over_meanwhile_begins_again():
    balance = Balance()
    even = {where: where.partition % 2 for where in parts(4)}
    owners = [LOPSIDED, even, LOPSIDED, LOPSIDED]
    due = [
        balance.due(o, RATES, [0, 1], now) for o, now in zip(owners, (0, 15, 20, 35), strict=True)
    ]
    assert due == [{}] * 4


def test_moves_come_at_most_once_a_minute():
    balance = Balance()
    due = [now for now in range(0, 200, 5) if balance.due(LOPSIDED, RATES, [0, 1], float(now))]
    assert due == [20, 80, 140]


def test_a_little_more_than_the_others_is_no_imbalance():
    balance = Balance()
    slight = {where: min(where.partition, 1) for where in parts(4)} | {parts(2)[1]: 0}
    due = [balance.due(slight, RATES, [0, 1], float(now)) for now in range(0, 100, 10)]
    assert due == [{}] * 10


def test_what_hardly_flows_is_not_moved():
    balance = Balance()
    trickle = dict.fromkeys(parts(4), 1000.0)
    due = [balance.due(LOPSIDED, trickle, [0, 1], float(now)) for now in range(0, 100, 10)]
    assert due == [{}] * 10


def test_one_task_is_always_balanced():
    assert imbalance(LOPSIDED, RATES, [0]) == (1.0, 0.0)

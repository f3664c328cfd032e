"""How the load of an application is spread, and which advice is sound."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import (
    Application,
    Confidence,
    Protocol,
    Store,
    Subtopology,
    TaskId,
    TasksByRole,
    Thread,
)
from jobs.streams.balance.advice import advice_on, balance_lines, balance_mapping, best_move
from jobs.streams.balance.load import RATE, balance_of, heaviest
from jobs.streams.lag import StandbyLag, ends_before, input_rates, restore_rate
from jobs.streams.observation import Facts, TopicFacts

MIB = 1 << 20
LOG = "app-totals-changelog"


def thread(process: str, active=(), standby=(), number=1, **more) -> Thread:
    now = TasksByRole(
        tuple(TaskId("0", one) for one in active), tuple(TaskId("0", one) for one in standby)
    )
    name = f"{process}-StreamThread-{number}"
    return Thread(name, name, "/10.0.0.1", process, endpoint=process, now=now, **more)


def application(
    *threads: Thread, partitions: int | None = None, at_ms=60_000, **more
) -> Application:
    count = partitions or 1 + max(task.partition for one in threads for task in one.now.active)
    store = Store("totals", ("0",), Confidence.EXACT, "", changelog=LOG)
    values = {"stores": {"totals": store}, "protocol": Protocol.CLASSIC} | more
    return Application(
        application_id="app",
        state="Stable",
        observed_at_ms=at_ms,
        threads=threads,
        subtopologies={"0": Subtopology("0", ("orders",), count, is_stateful=True)},
        tasks={TaskId("0", n): (TopicPartition("orders", n),) for n in range(count)},
        routes=None,
        topic_partitions={"orders": count},
        **values,
    )


def facts(sizes, ends=(), at_ms=60_000) -> Facts:
    known = {n: size for n, size in enumerate(sizes) if size is not None}
    numbers = range(len(sizes))
    log = TopicFacts(
        len(sizes), dict.fromkeys(numbers, 0), dict.fromkeys(numbers, 1_200_000), {}, known
    )
    orders = TopicFacts(len(sizes), {}, dict(enumerate(ends)))
    return Facts(at_ms, {LOG: log, "orders": orders}, {})


def kinds(found, sizes, **more):
    return {one.kind: one for one in advice_on(found, balance_of(found, facts(sizes)), **more)}


TWO = (thread("a", (0, 1)), thread("b", (2, 3)))


def test_state_is_summed_by_instance_with_and_without_copies():
    found = application(thread("a", (0, 1), (2,)), thread("b", (2, 3)))
    one, other = balance_of(found, facts([10, 20, 30, 40])).instances
    assert (one.state_bytes, one.bytes_with_copies, one.state_share) == (30, 60, 0.3)
    assert (other.state_bytes, other.bytes_with_copies, other.copies) == (70, 70, 0)


def test_a_size_that_is_not_known_makes_sums_lower_bounds_and_shares_unknown():
    balance = balance_of(application(*TWO), facts([10, None, 30, 40]))
    assert (balance.state_bytes, balance.state_unknown) == (80, 1)
    assert (balance.instances[0].state_bytes, balance.instances[0].state_unknown) == (10, 1)
    assert {one.state_share for one in balance.instances} == {None}
    assert (balance.state_skew, balance.max_over_mean, balance.counts_are_even) == (None,) * 3
    assert balance.spreads[0].top_share is None


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"left_out": ("Some.",)}, id="tasks are left out"),
        pytest.param(
            {"stores": {"s": Store("s", ("0", "1"), Confidence.OPEN, "", changelog=LOG)}},
            id="a store of one of several subtopologies",
        ),
        pytest.param(
            {"stores": {"s": Store("s", ("0",), Confidence.GIVEN, "")}}, id="no changelog"
        ),
    ],
)
def test_what_is_not_known_is_not_judged(more):
    found = application(*TWO, **more)
    seen = facts([900 * MIB, MIB, MIB, MIB])
    balance = balance_of(found, seen)
    assert (balance.state_skew, best_move(balance)) == (None, None)
    assert advice_on(found, balance) == ()


def test_a_member_whose_bytes_cannot_be_read_leaves_idle_threads_unknown():
    found = application(*TWO, thread("c", problem="Truncated."))
    assert balance_of(found, facts([1] * 4)).idle_threads is None
    assert balance_of(found, facts([1] * 4)).instances[2].idle_threads is None


def test_skew_is_against_the_best_split_which_the_largest_task_bounds():
    balance = balance_of(application(*TWO), facts([700, 100, 100, 100]))
    assert balance.state_skew == pytest.approx(800 / 700)
    assert balance.max_over_mean == pytest.approx(800 / 500)


def test_an_instance_with_more_threads_may_have_more_state():
    found = application(
        thread("a", (0,)),
        thread("a", (1,), number=2),
        thread("a", (2,), number=3),
        thread("b", (3,)),
    )
    balance = balance_of(found, facts([100] * 4))
    assert (balance.state_skew, balance.counts_are_even) == (1, True)


def test_a_rate_is_what_the_ends_grew_by_between_two_collections():
    found = application(*TWO)
    before = ends_before(found, facts([1] * 4, [100, 100, 100, 100], at_ms=0))
    now = replace(facts([1] * 4, [160, 100, 90, 400]), before=before)
    assert list(input_rates(found, now).values()) == [1, 0, None, 5]
    balance = balance_of(found, now)
    assert [(one.records_per_s, one.rate_unknown) for one in balance.instances] == [(1, 0), (5, 1)]
    assert [one.task for one in heaviest(balance, RATE)] == ["0_3", "0_0", "0_1", "0_2"]
    assert set(input_rates(found, replace(now, before=None)).values()) == {None}


def test_a_hot_partition_names_its_share_and_the_topic_whose_keys_to_count():
    found = kinds(application(*TWO), [900 * MIB, 100 * MIB, 100 * MIB, 100 * MIB])["hot-partition"]
    assert found.what.replace("\N{NO-BREAK SPACE}", " ") == (
        "Task 0_0 has 75 % of the state of subtopology 0 (900 MiB), 3x the mean of all."
    )
    assert found.topic == "orders"


def test_size_skew_with_even_counts_shows_the_move_that_lowers_it_most():
    sizes = [30 * MIB, 31 * MIB, 20 * MIB, 19 * MIB]
    found = kinds(application(*TWO), sizes, rate_per_s=5_000)["size-skew"]
    told = found.why.replace("\N{NO-BREAK SPACE}", " ")
    assert "Moving 0_0 from a to b, and 0_3 the other way: 61 % → 50 % of the state on a;" in told
    assert "2,400,000 records (49 MiB) at most to restore, at most 8 m at the 5,000/s" in told


def test_a_target_with_a_copy_restores_nothing():
    found = application(thread("a", (0, 1, 2, 3)), thread("b", (4, 5, 6, 7), (0, 1, 2, 3)))
    move = best_move(balance_of(found, facts([20 * MIB] * 4 + [10 * MIB] * 4)))
    assert (move.task.task, move.target.place, move.back) == ("0_0", "b", None)
    assert (move.records, move.size_bytes) == (0, 0)


def test_without_a_measured_rate_a_restore_has_no_duration():
    found = kinds(application(*TWO), [30 * MIB, 31 * MIB, 20 * MIB, 19 * MIB])["size-skew"]
    assert "how long it takes is unknown: no restore rate was measured" in found.why


def test_uneven_counts_are_the_assignor_s_business():
    found = application(thread("a", (0, 1, 2)), thread("b", (3,)))
    assert "size-skew" not in kinds(found, [20 * MIB] * 4)


def test_the_broker_assigns_the_tasks_of_the_streams_protocol():
    found = application(*TWO, protocol=Protocol.STREAMS)
    assert "takes no TaskAssignor" in kinds(found, [31 * MIB, 30 * MIB, MIB, MIB])["size-skew"].next


@pytest.mark.parametrize(
    ("threads", "is_advised"),
    [
        pytest.param(TWO, True, id="no copy"),
        pytest.param(
            (thread("a", (0, 1), (2, 3)), thread("b", (2, 3), (0, 1))), False, id="copies"
        ),
        pytest.param((thread("a", (0, 1, 2, 3)),), False, id="one instance"),
    ],
)
def test_large_state_without_a_standby_has_the_price_of_one(threads, is_advised):
    found = kinds(application(*threads), [1024 * MIB] * 4)
    assert ("no-standby" in found) is is_advised
    if is_advised:
        assert (
            "about 2\N{NO-BREAK SPACE}GiB more on each of 2 instances" in found["no-standby"].next
        )


def test_threads_beyond_tasks_with_copies_are_idle():
    found = application(thread("a", (0,), (1,)), thread("b", (1,)), thread("c"), thread("d"))
    balance = balance_of(found, facts([1, 1]))
    assert (balance.idle_threads, balance.thread_count) == (1, 4)


@pytest.mark.parametrize(
    ("position", "records", "rate"),
    [
        pytest.param(600_000, 50_000, 5_000, id="behind at both joins"),
        pytest.param(600_000, 20, None, id="caught up: it only followed its input"),
        pytest.param(600_000, None, None, id="the end is not known"),
        pytest.param(None, None, None, id="the position is not known"),
        pytest.param(0, 50_000, None, id="nothing restored"),
    ],
)
def test_a_restore_rate_needs_a_copy_that_was_behind_at_two_joins(position, records, rate):
    task = TaskId("0", 2)
    first = application(thread("a", (0, 1), (2,), offset_sums={task: 0}), TWO[1], at_ms=0)
    second = application(*TWO, at_ms=60_000)
    lag = StandbyLag(task, "a-StreamThread-1", "standby", position, records)
    assert restore_rate(first, second, [lag], 60_000) == rate


def test_lines_for_people_have_sums_shares_and_advice():
    found = application(*TWO)
    balance = balance_of(found, facts([30 * MIB, 31 * MIB, 20 * MIB, 19 * MIB]))
    told = "\n".join(balance_lines(balance_mapping(balance, advice_on(found, balance))))
    assert "a  1 threads, 2 active, 0 copies, state 61\N{NO-BREAK SPACE}MiB (61" in told
    assert "Advice: a has 61" in told


@st.composite
def loads(draw):
    sizes = draw(st.lists(st.integers(0, 1000), min_size=1, max_size=30))
    owners = draw(st.lists(st.sampled_from("abcd"), min_size=len(sizes), max_size=len(sizes)))
    threads = [thread(one, [n for n, own in enumerate(owners) if own == one]) for one in "abcd"]
    more = [
        thread(one, number=n) for n, one in enumerate(draw(st.lists(st.sampled_from("abcd"))), 2)
    ]
    return application(*threads, *more, partitions=len(sizes)), sizes


@settings(deadline=None)
@given(loads())
def test_sums_agree_and_no_instance_is_below_the_best_split(given_load):
    found, sizes = given_load
    balance = balance_of(found, facts(sizes))
    assert sum(one.state_bytes for one in balance.instances) == balance.state_bytes == sum(sizes)
    assert sum(one.active for one in balance.instances) == len(sizes)
    assert balance.state_skew is None or balance.state_skew >= 1 - 1e-9
    assert balance.idle_threads == max(0, len(found.threads) - len(sizes))


@settings(deadline=None)
@given(loads())
def test_a_move_lowers_the_largest_load_to_what_it_says(given_load):
    found, sizes = given_load
    balance = balance_of(found, facts(sizes))
    move = best_move(balance)
    if move is None:
        return
    state = {one.process_id: one.state_bytes for one in balance.instances}
    state[move.source.process_id] -= move.moved_bytes
    state[move.target.process_id] += move.moved_bytes
    after = max(state[one.process_id] / one.threads for one in balance.instances)
    assert after == pytest.approx(move.largest_per_thread)
    assert after < max(one.bytes_per_thread for one in balance.instances)

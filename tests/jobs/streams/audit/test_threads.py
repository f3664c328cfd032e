"""Threads of an application: idle ones, uneven tasks, lag that grows, warm-ups that do not end."""

import pytest

from jobs.streams.audit.rules import conditions_now
from tests.jobs.streams.audit.seeing import (
    BEYOND,
    NOW_MS,
    application,
    conditions,
    found,
    not_known,
    seen,
    thread,
)

TWO = application(thread(1, (0, 1)), thread(2, (2, 3)))


@pytest.mark.parametrize(
    ("of", "code", "said"),
    [
        pytest.param(
            application(thread(1, (0,)), thread(2, (1,)), thread(3), partitions=2),
            "streams_idle_threads", "has 3 threads for 2 tasks: 1 have none, c3.", id="a thread has no task",
        ),
        pytest.param(
            application(thread(1, (0, 1, 2)), thread(2, (3,))),
            "streams_tasks_uneven", "has threads with 1 to 3 active tasks.", id="three tasks and one",
        ),
    ],
)  # fmt: skip
def test_threads_with_too_little_to_do_are_found(of, code, said):
    assert found(of) == {code}
    assert conditions(of)[code].text == said


@pytest.mark.parametrize(
    "of",
    [
        pytest.param(TWO, id="equal"),
        pytest.param(application(thread(1, (0, 1, 2)), thread(2, (3, 4)), partitions=5), id="one more"),
        pytest.param(
            application(thread(1, (0,)), thread(2, standby=(0,)), partitions=1), id="a standby is a task"
        ),
    ],
)  # fmt: skip
def test_threads_that_share_the_tasks_have_no_finding(of):
    assert found(of) == set()


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        pytest.param(
            application(thread(1, (0, 1, 2)), thread(2, (3,), warm_up=(0,))),
            {"streams_tasks_uneven"}, id="a warm-up runs",
        ),
        pytest.param(
            application(thread(1, (0, 1, 2)), thread(2, (3,)), next_rebalance_ms=0),
            {"streams_tasks_uneven", "streams_probing_overdue"}, id="a rebalance at once",
        ),
        pytest.param(
            application(thread(1, (0,)), left_out=BEYOND),
            {"streams_tasks_uneven", "streams_idle_threads", "streams_warm_up_endless"}, id="beyond the limits",
        ),
    ],
)  # fmt: skip
def test_what_does_not_last_or_is_not_all_seen_is_not_judged(of, codes):
    assert codes <= not_known(of)


def grown(*lags, minutes_before=1):
    """Return the conditions of the last of several audits, whose lags are given."""
    memory = {}
    for lag in lags:
        one = seen(TWO, minutes_before, memory=memory, lag_records=lag)
        result = conditions(one)
    return result.get("streams_too_few_threads"), memory


def test_lag_that_grows_while_each_thread_has_two_tasks_is_found_with_its_begin():
    one, memory = grown(100, 150, 300)
    assert one.holds
    assert "grown from 100 to 300 records" in one.text
    assert memory["lag"] == [100, NOW_MS, 300]


@pytest.mark.parametrize(
    ("lags", "more", "holds"),
    [
        pytest.param((100, 150, 120), {}, False, id="it shrank"),
        pytest.param((100,), {}, None, id="first collection"),
        pytest.param((100, None), {}, None, id="lag is not known"),
        pytest.param((100, 200), {"minutes_before": 60}, None, id="not watched in between"),
    ],
)
def test_lag_that_did_not_grow_or_was_not_watched_is_not_found(lags, more, holds):
    one, _ = grown(*lags, **more)
    assert (False if one is None else one.holds) is holds


def test_a_thread_with_one_task_needs_no_more_threads():
    of = application(thread(1, (0,)), thread(2, (1, 2, 3)))
    memory = {"lag": [1, NOW_MS, 1]}
    assert "streams_too_few_threads" not in conditions(of, memory=memory, lag_records=9)


WARM = application(thread(1, (0, 1)), thread(2, (2, 3), warm_up=(0,)), next_rebalance_ms=NOW_MS + 1)


@pytest.mark.parametrize(
    ("since_ms", "minutes_before", "lasted_s"),
    [
        pytest.param(NOW_MS - 9_000_000, 1, 9_000, id="since it was first seen"),
        pytest.param(NOW_MS - 9_000_000, 60, 0, id="not watched in between"),
    ],
)
def test_a_warm_up_lasts_as_long_as_it_was_watched(since_ms, minutes_before, lasted_s):
    memory = {"warm_ups": {"0_0 at h2:80": since_ms, "0_3 at h1:80": 0}}
    one = conditions(WARM, memory=memory, minutes_before=minutes_before)["streams_warm_up_endless"]
    assert one.value == lasted_s
    assert list(memory["warm_ups"]) == ["0_0 at h2:80"]


def test_a_probing_rebalance_in_the_past_is_overdue_above_its_threshold():
    late, little = (
        application(thread(1, (0, 1)), thread(2, (2, 3)), next_rebalance_ms=NOW_MS - ms)
        for ms in (3_600_000, 60_000)
    )
    assert conditions(late)["streams_probing_overdue"].value == 3_600
    assert "streams_probing_overdue" in {one["check"] for one in conditions_now(seen(late))}
    assert "streams_probing_overdue" not in {one["check"] for one in conditions_now(seen(little))}

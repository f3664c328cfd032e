"""Rules about time: age of records, bursts, windows that are not emitted."""

import base64
import struct
from dataclasses import replace

import pytest

from jobs.streams.assembly import application_of
from jobs.streams.audit.conditions import Seen
from jobs.streams.audit.times import judge_age, judge_bursts, judge_watermarks
from tests.jobs.streams.written import NOW_MS, TOPICS, facts, observation, two_processes

STREAM_MS = NOW_MS - 31_000


def commit(stream_ms=STREAM_MS, **closes):
    stores = b"".join(
        struct.pack(">i", len(name)) + name.encode() + struct.pack(">q", ms)
        for name, ms in closes.items()
    )
    content = b"\x02" + struct.pack(">qi", stream_ms, len(closes)) + stores
    return base64.b64encode(content).decode()


def seen(committed=100, metadata=None, newest_ms=NOW_MS - 1_000, end=100, was=90, **fields):
    orders = replace(facts(4, end), newest_ms=dict.fromkeys(range(4), newest_ms))
    told = commit() if metadata is None else metadata
    commits = {("orders", number): (committed, told) for number in range(4)}
    one = observation(two_processes(), TOPICS | {"orders": orders}, commits)
    before = observation(two_processes(), TOPICS | {"orders": facts(4, was)}, commits).facts
    return Seen(application_of(one), one.facts, **({"before": before} | fields))


OLD_MS = NOW_MS - 7_200_000


@pytest.mark.parametrize(
    ("one", "values"),
    [
        pytest.param(seen(), [(True, 1.0)], id="records of now"),
        pytest.param(seen(newest_ms=OLD_MS), [(True, 7_200.0)], id="old records"),
        pytest.param(seen(newest_ms=OLD_MS, was=100), [], id="no new records"),
        pytest.param(seen(newest_ms=OLD_MS, committed=80), [], id="there is lag"),
        pytest.param(seen(before=None), [(None, None)], id="first collection"),
    ],
)
def test_new_records_that_are_read_without_lag_have_an_age(one, values):
    assert [(found.holds, found.value) for found in judge_age(one)] == values


def test_records_that_came_in_a_time_that_was_not_watched_were_of_then():
    one = seen(newest_ms=OLD_MS)
    before = replace(one.before, observed_at_ms=OLD_MS - 1_000)
    assert list(judge_age(replace(one, before=before))) == []


def test_records_without_a_timestamp_have_no_age():
    assert [found.holds for found in judge_age(seen(newest_ms=-1))] == [None]


def test_a_partition_that_did_not_answer_makes_the_age_a_least_one():
    one = seen(newest_ms=OLD_MS)
    topic = replace(one.facts.topics["orders"], newest_ms={0: OLD_MS})
    one = replace(one, facts=replace(one.facts, topics=one.facts.topics | {"orders": topic}))
    assert [found.is_at_least for found in judge_age(one)] == [True]


@pytest.mark.parametrize(
    ("one", "values"),
    [
        pytest.param(seen(end=500_100), [(True, 500_000)], id="many records of half a minute"),
        pytest.param(seen(end=500_100, metadata=commit(OLD_MS)), [], id="of two hours"),
        pytest.param(seen(end=100), [], id="no lag"),
        pytest.param(seen(end=500_100, metadata=""), [(None, None)], id="stream time not known"),
    ],
)
def test_records_of_little_event_time_are_a_burst(one, values):
    assert [(found.holds, found.value) for found in judge_bursts(one)] == values


@pytest.mark.parametrize(
    ("one", "values"),
    [
        pytest.param(seen(metadata=commit(sums=STREAM_MS - 47_000)), [(True, 47.0)], id="as in healthy applications"),
        pytest.param(seen(metadata=commit(a=STREAM_MS - 1_000, b=STREAM_MS - 90_000_000)), [(True, 90_000.0)], id="the worst of several stores"),
        pytest.param(seen(metadata=commit(sums=-1)), [], id="none emitted yet"),
        pytest.param(seen(), [], id="no such store"),
    ],
)  # fmt: skip
def test_emitted_windows_are_behind_stream_time(one, values):
    assert [(found.holds, found.value) for found in judge_watermarks(one)] == values


def test_without_commits_windows_are_not_judged():
    one = seen()
    one = replace(one, facts=replace(one.facts, committed={}))
    assert [found.holds for found in judge_watermarks(one)] == [None]

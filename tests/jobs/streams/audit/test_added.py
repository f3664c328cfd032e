"""The rule about partitions that were added to an input."""

from dataclasses import replace

import pytest

from jobs.streams.assembly import application_of
from jobs.streams.audit.added import KEPT_FOR_MS, judge_added
from jobs.streams.audit.conditions import Added, Seen
from tests.jobs.streams.written import NOW_MS, TOPICS, facts, observation, two_processes

AT_MS = NOW_MS - 3_600_000
LOGGED = Added("orders", 2, 4, AT_MS, AT_MS)
NOW = observation(two_processes()).facts


def earlier(partitions):
    one = observation(two_processes(), TOPICS | {"orders": facts(partitions)}).facts
    return replace(one, observed_at_ms=AT_MS)


def seen(is_stateful=True, sources=("orders",), topics=None, **fields):
    one = observation(two_processes(), TOPICS | (topics or {}))
    application = application_of(one)
    part = replace(application.subtopologies["0"], is_stateful=is_stateful, source_topics=sources)
    return Seen(replace(application, subtopologies={"0": part}), one.facts, **fields)


@pytest.mark.parametrize(
    ("one", "said"),
    [
        pytest.param(seen(added=[LOGGED]), "orders at 2027-01-15 07:00:00 UTC (2 -> 4)", id="metadata log"),
        pytest.param(seen(before=earlier(3)), "orders between 2027-01-15 07:00:00 and 2027-01-15 08:00:00 UTC (3 -> 4)", id="two collections"),
        pytest.param(seen(before=earlier(2), added=[LOGGED]), "partitions were added: orders at 2027-01-15 07:00:00 UTC (2 -> 4). Keys", id="both tell of the same"),
    ],
)  # fmt: skip
def test_an_addition_is_told_with_its_time_and_the_stores_that_it_affects(one, said):
    (found,) = judge_added(one)
    assert said in found.text
    assert found.evidence["stores"] == ["totals"]
    assert found.evidence["other_topics"] == []


def test_a_topic_that_was_created_again_with_more_partitions_got_none():
    before = earlier(2)
    topic = before.topics["orders"]
    emptied = TOPICS | {"orders": replace(facts(4), ends=dict.fromkeys(range(4), 0))}
    assert topic.ends
    assert list(judge_added(seen(before=before, topics=emptied))) == []


def test_what_two_collections_saw_is_remembered():
    one = seen(before=earlier(3))
    list(judge_added(one))
    assert one.memory == {"added": [["orders", 3, 4, AT_MS, NOW_MS]]}
    (found,) = judge_added(seen(before=NOW, memory=one.memory))
    assert found.evidence["added"] == [["orders", 3, 4, AT_MS, NOW_MS]]


def test_topics_of_the_same_tasks_with_other_counts_are_named():
    one = seen(sources=("bills", "orders"), topics={"bills": facts(2)}, added=[LOGGED])
    (found,) = judge_added(one)
    assert "The same tasks read bills (2): Kafka Streams stops where it joins topics" in found.text


@pytest.mark.parametrize(
    ("one", "holds"),
    [
        pytest.param(seen(), [], id="none added"),
        pytest.param(seen(before=NOW), [], id="as many as before"),
        pytest.param(seen(is_stateful=False, added=[LOGGED]), [], id="no state"),
        pytest.param(seen(is_stateful=None, added=[LOGGED]), [None], id="state not known"),
        pytest.param(seen(added=[replace(LOGGED, topic="bills")]), [], id="other topic"),
        pytest.param(seen(added=[replace(LOGGED, new=8)]), [], id="topic created again since"),
        pytest.param(seen(added=[replace(LOGGED, at_ms=NOW_MS - KEPT_FOR_MS - 1)]), [], id="too long ago"),
    ],
)  # fmt: skip
def test_what_affects_no_state_is_no_finding(one, holds):
    assert [found.holds for found in judge_added(one)] == holds

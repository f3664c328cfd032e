"""Stores fed by topics of different size, and by patterns: a capture of a real application of Kafka 4.3.1."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.streams.answers import PARTITIONER, metadata_for_key
from jobs.streams.assembly import application_of
from jobs.streams.collection.capture import read_capture
from jobs.streams.lookup.candidates import SeenPlaces
from jobs.streams.topology.reading import DescriptionError, read_description
from jobs.wire.batches.hashes import partition_for_key
from tests.support import REPORTED

FOLDER = REPORTED / "streams_topics_of_different_sizes"
DESCRIBED = (FOLDER / "describe.txt").read_text("utf-8")
# Store, key, what the application answered (host, partition), what had the key (host, partition).
TRUTH = [
    (row[0], row[1], (f"{row[3]}:707{row[3][1]}", int(row[4][1:])), (row[6], int(row[7][1])))
    for row in map(str.split, (FOLDER / "truth.txt").read_text("utf-8").splitlines())
]


@cache
def application(text: str | None = DESCRIBED):
    (seen,) = read_capture(FOLDER / "capture.json")
    return application_of(seen, None if text is None else read_description(text))


def asked(key, store="totals", text=DESCRIBED, **seen):
    return metadata_for_key(application(text), store, key.encode(), SeenPlaces(**seen))


@pytest.mark.parametrize(("store", "key", "answered", "had"), TRUTH, ids=str)
@pytest.mark.parametrize("text", [DESCRIBED, None], ids=["described", "not described"])
def test_no_answer_is_called_right_that_was_wrong_or_cannot_be_known(
    text, store, key, answered, had
):
    found = asked(key, store, text)
    places = {partition_for_key(key.encode(), size) for size in (4, 6)}
    assert {one.partition for one in found.possible} == places
    assert had[1] in places
    assert found.jvm.is_right is (True if len(places) == 1 else None)
    assert answered[1] == had[1] or not found.jvm.is_right
    assert any("different partition counts" in one for one in found.cautions)
    if found.jvm.answer is not None:
        assert (found.jvm.answer.active, found.jvm.answer.partition) == answered
    else:
        assert (text, len(places)) == (None, 2)


@pytest.mark.parametrize(("store", "key", "answered", "had"), TRUTH, ids=str)
def test_where_the_changelog_has_the_key_decides(store, key, answered, had):
    found = asked(key, store, partitions=(had[1],))
    assert (found.partition, found.active.process.endpoint[:2]) == (had[1], had[0])
    assert (found.jvm.answer.active, found.jvm.answer.partition) == answered
    assert found.jvm.is_right is (answered[1] == had[1])
    assert PARTITIONER not in found.cautions
    if not found.jvm.is_right:
        assert f"in partition {had[1]}, by the size of farm.eggs" in found.jvm.reason


def test_a_key_in_two_partitions_is_in_both_and_the_answer_names_one():
    found = asked("k2", partitions=(1, 3))
    assert (found.partition, found.task, found.jvm.is_right) == (None, None, None)
    assert "in partition 1 and 3: the application names one of them" in found.jvm.reason


@pytest.mark.parametrize(
    ("seen", "unread", "is_right"),
    [((3,), (1,), None), ((1,), (3,), None), ((1,), (0, 2), False), ((3,), (0, 2), True)],
    ids=["the other place", "the answer's place", "wrong for sure", "right for sure"],
)
def test_a_place_that_was_not_read_leaves_doubt(seen, unread, is_right):
    assert asked("k2", partitions=seen, unread=unread).jvm.is_right is is_right


def test_a_key_where_no_topic_puts_it_is_of_another_partitioner():
    found = asked("k2", partitions=(5,))
    assert (found.partition, found.jvm.is_right) == (5, False)
    assert "custom partitioner" in found.jvm.reason
    assert PARTITIONER in found.cautions


def test_a_pattern_counts_with_the_topics_that_the_tasks_have():
    barn, loft = application().stores["barn"], application().stores["loft"]
    assert barn.source_topics == ("farm.straw", "farm.hay-a")
    assert (loft.source_topics, loft.is_fed_by_all) == (("farm.oat-a",), True)
    # k1: partition 2 of 3, partition 1 of 2.
    assert {one.partition for one in asked("k1", "barn").possible} == {1, 2}
    assert asked("k1", "barn").jvm.is_right is None
    found = asked("k1", "loft")
    assert (found.partition, found.partitions, found.jvm.is_right) == (2, 3, True)


@pytest.mark.parametrize("store", ["barn", "loft"])
def test_a_store_that_is_in_one_of_several_subtopologies_gets_no_answer_of_the_application(store):
    found = asked("k1", store, None)
    assert (found.jvm.answer, found.jvm.is_right, found.task) == (None, None, None)
    assert "in subtopology 1 or 2" in found.jvm.reason
    assert "Topology#describe()" in found.jvm.reason


@pytest.mark.parametrize("pattern", ["(?<=x)y.*", "farm\\.oat-[", "a{1,9999}{9}"])
def test_a_pattern_that_cannot_be_evaluated_leaves_the_topics_open(pattern):
    text = DESCRIBED.replace(r"farm\.hay-.*", pattern)
    found = asked("k1", "barn", text)
    assert {one.partition for one in found.possible} == {1, 2}
    assert found.jvm.answer is None


def test_the_size_of_a_topic_that_is_not_seen_is_not_guessed():
    whole = application()
    counts = {name: n for name, n in whole.topic_partitions.items() if name != "farm.eggs"}
    found = metadata_for_key(replace(whole, topic_partitions=counts), "totals", b"k2")
    assert (found.possible, found.jvm.is_right) == ((), None)
    assert "How many partitions farm.eggs has is not known" in found.cautions[0]


def test_any_process_answers_for_a_global_store():
    found = asked("k1", "names")
    assert (found.jvm.is_right, found.jvm.answer) == (True, None)
    assert "KIP-535" in found.jvm.reason
    stopped = replace(application(), threads=())
    assert metadata_for_key(stopped, "names", b"k1").jvm.is_right is None


def test_a_shared_store_may_be_answered_by_each_of_its_processors():
    """InternalTopologyBuilder keeps the sources of the processor that a store was connected to first."""
    text = DESCRIBED.replace("(stores: [])", "(stores: [totals])", 1).replace(
        "[farm.milk])\n      --> KSTREAM-MERGE-0000000002",
        "[farm.milk])\n      --> KSTREAM-AGGREGATE-0000000003",
    )
    assert asked("k2", text=text).jvm.answer is None


LINES = DESCRIBED.splitlines()
WORDS = ["", "\t", "\r", "Source: a", "Sink: b (topic: )", "Source: c (topics: [])", "--> none"]
WORDS += ["Source: d (topics: ()", "Mapper: e (x: y)", "Topology: bill:", "Global Stores:", "<-- a"]
WORDS += ["Source: f (topics: farm.*)", "Sub-topology: 0", "Sub-topology: 9", "GlobalStore: a"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, len(LINES) - 1), unique=True, max_size=6),
    st.permutations(range(4)),
    st.lists(st.tuples(st.integers(0, len(LINES)), st.sampled_from(WORDS)), max_size=3),
    st.integers(0, len(DESCRIBED)),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_description_is_refused_or_all_stores_are_answered_for(left_out, order, more, end, nl):
    lines = [line for number, line in enumerate(LINES) if number not in left_out]
    for at, word in more:
        lines.insert(at, word)
    quarter = len(lines) // 4 + 1
    parts = [lines[at * quarter : (at + 1) * quarter] for at in order]
    for text in (nl.join(lines), nl.join(line for one in parts for line in one), DESCRIBED[:end]):
        try:
            found = application(text)
        except DescriptionError:
            continue
        for store in found.stores:
            metadata_for_key(found, store, b"k2")
            metadata_for_key(found, store, b"k2", SeenPlaces((1,), (3,)))

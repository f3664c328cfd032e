"""Many questions answered as the translator answers each, with names, ends and reasons."""

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.archive import open_translator
from jobs.replication.translation.questions import Limits
from jobs.spark.analyses.offsets.bulk.answering import NOT_OF_THE_FLOW, Asking, answer
from jobs.spark.analyses.offsets.bulk.question_rows import QUESTIONS
from tests.jobs.spark.analyses.offsets.archives import flow, make_archive

SYNCS = {
    ("orders", 0): [(100, 90), (200, 180), (150, 200), (400, 260)],
    ("orders", 3): [(5, 5)],
    ("paid", 0): [(0, 0), (50, 50), (1_000, 990)],
}
OFFSETS = (0, 4, 5, 50, 51, 99, 100, 150, 151, 200, 205, 399, 400, 5_000)


@pytest.fixture
def folder(tmp_path):
    return make_archive(tmp_path / "archive", SYNCS)


def questions(*rows):
    columns = list(zip(*rows, strict=True))
    return pa.table([range(1, len(rows) + 1), [None] * len(rows), *columns], QUESTIONS)


def answers(asking, *rows):
    """Ask as a task does, to which the asking is sent."""
    table, tally = answer(pickle.loads(pickle.dumps(asking)), questions(*rows))
    return table.to_pylist(), tally


def test_each_answer_is_the_translators_and_mirror_makers(folder):
    rows = [(*where, offset) for offset in OFFSETS for where in SYNCS]
    translator = open_translator(folder)
    found, tally = answers(Asking(folder), *rows)
    for row in found:
        where = TopicPartition(row["topic"], row["partition"])
        told = translator.translate(where, row["offset"])
        assert (row["lo"], row["hi"], row["exact"], row["reason"]) == (
            told.lo, told.hi, told.exact, told.reason,
        )  # fmt: skip
        assert row["mm2"] == translator.mm2(where, row["offset"])
        assert row["width"] == (None if told.hi is None else told.hi - told.lo)
        assert row["to_topic"] is None
    assert tally.counts["answered"] == len(rows)
    assert tally.counts["exact"] == sum(row["exact"] for row in found)


def test_the_way_back_asks_by_the_names_of_the_target(folder):
    asking = Asking(folder, flow(), is_reverse=True)
    rows = [(f"east.{topic}", partition, at) for topic, partition in SYNCS for at in OFFSETS]
    found, _ = answers(asking, *rows, ("orders", 0, 7))
    translator = open_translator(folder)
    for row in found[:-1]:
        where = TopicPartition(row["to_topic"], row["partition"])
        assert f"east.{where.topic}" == row["topic"]
        told = translator.reverse(where, row["offset"])
        assert (row["lo"], row["hi"], row["reason"]) == (told.lo, told.hi, told.reason)
        assert row["mm2"] is None
    assert (found[-1]["lo"], found[-1]["to_topic"]) == (None, None)
    assert found[-1]["reason"] == NOT_OF_THE_FLOW


def test_as_known_at_a_time_later_syncs_say_nothing(tmp_path):
    folder = make_archive(
        tmp_path / "timed", {("orders", 0): [(0, 0), (100, 90), (200, 180)]}, at_ms=[10, 20, 30]
    )
    (then,), _ = answers(Asking(folder, at_ms=20), ("orders", 0, 200))
    (now,), _ = answers(Asking(folder), ("orders", 0, 200))
    assert (then["lo"], then["hi"], then["mm2"]) == (91, None, 91)
    assert (now["lo"], now["hi"], now["mm2"]) == (180, 180, 180)


def test_what_nothing_is_known_of_says_why(folder):
    ends = Limits("east", {"orders": 2, "gone": 0}, {TopicPartition("orders", 0): 300})
    asking = replace(Asking(folder, flow()), ends=ends)
    found, tally = answers(
        asking,
        ("orders", 0, 300),
        ("orders", 0, 301),
        ("orders", 1, 1),
        ("orders", 3, 5),
        ("secret", 0, 1),
        ("gone", 0, 1),
    )
    assert [row["to_topic"] for row in found[:1]] == ["east.orders"]
    assert [(row["lo"], row["hi"], row["exact"]) for row in found[1:]] == [(None, None, False)] * 5
    assert [row["reason"] for row in found[1:]] == [
        "The log end offset of orders-0 on east is 300.",
        "There is no offset sync of this partition.",
        "The highest partition of orders on east is 1.",
        "The flow leaves it out: It is excluded by the pattern secret",
        "There is no topic gone on east.",
    ]
    assert tally.unknown == {TopicPartition("orders", 1), TopicPartition("secret", 0)}
    assert (tally.counts["answered"], tally.counts["wrong"]) == (1, 3)

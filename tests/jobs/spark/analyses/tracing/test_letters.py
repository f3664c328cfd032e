"""Dead letters of records, grouped by step and error, without a cluster."""

import pytest

from jobs.spark.analyses.tracing.replaying.letters import MOST_GROUPS, merged, reduce_letters
from jobs.tracing.digests import digest
from jobs.tracing.extractors.extractor import preset_extractor
from tests.jobs.spark.analyses.records.given_records import reader_of, record

OPTIONS = {
    "extractor": preset_extractor("spring-dlt").to_mapping(),
    "registry": None,
    "ids": "digests",
    "messages": "hidden",
    "most": 3,
}


def spring(offset, error="java.io.IOException", *, at=None, replays=None, topic="orders"):
    """Return a dead letter as Spring for Apache Kafka writes it; `at`: its original partition, offset."""
    partition, original = at or (0, offset)
    headers = [
        (b"kafka_dlt-original-topic", topic.encode()),
        (b"kafka_dlt-original-partition", partition.to_bytes(4, "big")),
        (b"kafka_dlt-original-offset", original.to_bytes(8, "big")),
        (b"kafka_dlt-exception-fqcn", error.encode()),
        (b"kafka_dlt-exception-message", b"no money"),
    ]
    if replays is not None:
        headers.append((b"crosslog-replay-count", replays))
    return record(offset, b"k", b"value", headers=tuple(headers))


def letters_of(*records, **options):
    tables = reduce_letters([reader_of(records, topic="orders.DLT")], None, {**OPTIONS, **options})
    told = {row["name"]: row["count"] for row in tables["told"].to_pylist()}
    return tables["letters"].to_pylist() if "letters" in tables else [], told


def test_a_letter_has_its_place_its_original_and_its_size():
    ((found,), told) = letters_of(record(4, b"k"), spring(5, at=(2, 77)))
    assert (found["topic"], found["partition"], found["offset"]) == ("orders.DLT", 0, 5)
    original = found["original_topic"], found["original_partition"], found["original_offset"]
    assert original == ("orders", 2, 77)
    assert (found["step"], found["error"]) == ("orders", "java.io.IOException")
    assert found["bytes"] > len(b"kvalue")
    assert (told["records"], told["letters"], told["chosen"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(None, 0, id="no header"),
        pytest.param(b"2", 2, id="a count"),
        pytest.param(b"two", None, id="no number"),
        pytest.param(b"-1", None, id="below 0"),
    ],
)
def test_replays_are_those_of_the_header_and_unknown_where_it_cannot_be_read(header, expected):
    (found,), _ = letters_of(spring(1, replays=header))
    assert found["replays"] == expected


@pytest.mark.parametrize(
    ("chosen", "offsets"),
    [
        pytest.param({}, [1, 2, 3], id="all"),
        pytest.param({"error": "a.B"}, [1, 3], id="error"),
        pytest.param({"original_topic": "bills"}, [3], id="original topic"),
        pytest.param({"error": "a.B", "step": "orders"}, [1], id="both"),
        pytest.param({"error": "a"}, [], id="exact"),
    ],
)
def test_texts_choose_letters(chosen, offsets):
    given = (spring(1, "a.B"), spring(2, "a.C"), spring(3, "a.B", topic="bills"))
    found, told = letters_of(*given, **chosen)
    assert sorted(one["offset"] for one in found) == offsets
    assert told["letters"] == 3


def test_groups_have_counts_and_times():
    given = [spring(n, "a.B" if n % 2 else "a.C", replays=b"%d" % n) for n in range(1, 6)]
    tables = reduce_letters([reader_of(given[:3], given[3:], topic="orders.DLT")], None, OPTIONS)
    groups = {row["error"]: row for row in tables["groups"].to_pylist()}
    one = groups["a.B"]
    assert (one["letters"], one["first_ms"], one["last_ms"]) == (3, 1001, 1005)
    assert one["replays"] == 5


def test_the_newest_letters_are_listed_and_all_are_counted():
    given = [spring(n) for n in range(1, 6)]
    tables = reduce_letters([reader_of(given[:3], given[3:], topic="orders.DLT")], None, OPTIONS)
    assert [row["offset"] for row in tables["letters"].to_pylist()] == [5, 4, 3]
    assert [row["letters"] for row in tables["groups"].to_pylist()] == [5]


@pytest.mark.parametrize(
    ("choice", "message", "is_shown"), [("hidden", None, False), ("shown", "no money", True)]
)
def test_content_is_shown_only_when_it_is_chosen(choice, message, is_shown):
    extractor = {**OPTIONS["extractor"], "fields": {"id": "key"}}
    ids = "shown" if is_shown else "digests"
    options = {"extractor": extractor, "ids": ids, "messages": choice, "most": 3}
    tables = reduce_letters([reader_of([spring(1)], topic="orders.DLT")], None, options)
    (found,) = tables["letters"].to_pylist()
    assert (found["message"], found["id"]) == (message, "k" if is_shown else digest("k"))


def test_of_too_many_groups_the_smallest_are_one():
    given = [spring(n, f"error {n % 2_500}") for n in range(5_000)]
    tables = reduce_letters([reader_of(given)], None, OPTIONS)
    groups = merged([tables], 3)["groups"].to_pylist()
    assert len(groups) == MOST_GROUPS
    assert sum(row["letters"] for row in groups) == 5_000
    assert "(others)" in {row["error"] for row in groups}


def test_an_extractor_that_matches_nothing_has_no_letters():
    found, told = letters_of(record(1, b"k"))
    assert (found, told) == ([], {"records": 1, "letters": 0, "chosen": 0})

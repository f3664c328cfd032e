"""Columns of a chunk say what is found in each record alone."""

import json
from collections import Counter

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing.extractors.columns import ABSENT, Extraction
from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from jobs.tracing.extractors.forms import FORMS
from jobs.tracing.extractors.plain import PlainRecord, extract
from jobs.tracing.extractors.presets import PRESETS
from jobs.tracing.extractors.roles import ROLES, RoleType
from jobs.tracing.extractors.slices import Codebook
from tests.jobs.spark.analyses.records.given_records import reader_of, record

FIELDS = {
    "id": "header:id | value:/id | key",
    "type": "header:type as class | const:slip",
    "step": "value:/step | topic",
    "steps": "header:slip as csv | value:/steps",
    "done": "value:/log/*/name",
    "time": "value:/at | header:at as int64 | timestamp",
    "error": "header:error",
    "attempt": "header:attempt as big_endian | value:/attempt",
    "sequence": "offset",
    "original_partition": "partition",
    "parent": "header:traceparent as span_id",
}
TEXTS = st.sampled_from(["", "a", "b", "price", "pay,ship", "ä", "x" * 40])
BYTES = st.one_of(st.none(), st.binary(max_size=9), TEXTS.map(str.encode))
NAMES = st.sampled_from(["id", "type", "slip", "at", "error", "attempt", "traceparent", "other"])
VALUES = st.one_of(
    st.none(),
    st.binary(max_size=5),
    st.fixed_dictionaries(
        {},
        optional={
            "id": st.one_of(TEXTS, st.integers(), st.none()),
            "step": TEXTS,
            "steps": st.one_of(st.lists(TEXTS, max_size=3), TEXTS, st.none()),
            "log": st.lists(st.one_of(st.fixed_dictionaries({"name": TEXTS}), TEXTS), max_size=3),
            "at": st.one_of(st.integers(0, 2**60), TEXTS, st.just("2026-03-31T12:00:00Z")),
            "attempt": st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), TEXTS),
        },
    ).map(lambda value: json.dumps(value).encode()),
)
RECORDS = st.lists(
    st.tuples(BYTES, VALUES, st.lists(st.tuples(NAMES, BYTES), max_size=5)), min_size=1
)


def columns_of(extractor: Extractor, given_records):  # type: ignore[no-untyped-def]
    placed = [
        record(n, key, value, headers=[(name.encode(), raw) for name, raw in headers])
        for n, (key, value, headers) in enumerate(given_records)
    ]
    reader = reader_of(placed, topic="orders", partition=3)
    return Extraction(extractor, reader.chunks[0].records, "orders", 3)


def value_at(found: Extraction, role: str, index: int):  # type: ignore[no-untyped-def]
    if ROLES[role].type in {RoleType.NUMBER, RoleType.TIME}:
        number = int(found.numbers(role)[index])
        return None if number == ABSENT else number
    text = found.texts(role).text(index)
    return orjson.loads(text) if text and ROLES[role].type is RoleType.LIST else text


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.integers(-(2**64), 2**65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["0001-01-01T00:00:00", "9999-12-31T23:59:59-23:59", "-5", "1_0", "\u0663"]),
)
JSON = st.recursive(
    SCALARS,
    lambda one: (
        st.lists(one, max_size=3) | st.dictionaries(st.sampled_from("ab*0\u0663"), one, max_size=3)
    ),
    max_leaves=6,
)
DEEP = b'{"a":' + b"[" * 500 + b"]" * 500 + b"}"
HOSTILE = st.one_of(
    st.none(),
    st.binary(max_size=20),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([DEEP, b"[" * 100_000, b'{"a":1e400}', b'{"a":' + b"9" * 1000 + b"}"]),
)
HOSTILE_NAMES = st.sampled_from(["", "h", "hh", "h\u00e4", "other"])
PLACES = [
    "key",
    "value",
    "header:h",
    "header:hh#/a",
    "key:/a/0",
    "value:/a",
    "value:/*/a",
    "value:/a/\u0663",
]
DEFINITIONS = st.dictionaries(
    st.sampled_from([*ROLES]),
    st.lists(
        st.builds(
            "{} as {}".format,
            st.sampled_from([*PLACES, "topic", "partition", "offset", "timestamp", "const:a, b"]),
            st.sampled_from([*FORMS]),
        ),
        min_size=1,
        max_size=3,
    ).map(" | ".join),
    min_size=1,
    max_size=6,
)


@given(
    st.just(FIELDS) | DEFINITIONS,
    RECORDS
    | st.lists(
        st.tuples(HOSTILE, HOSTILE, st.lists(st.tuples(HOSTILE_NAMES, HOSTILE), max_size=4)),
        min_size=1,
        max_size=5,
    ),
)
@settings(deadline=None, max_examples=300)
def test_columns_are_what_each_record_alone_has(fields, given_records):
    extractor = Extractor.from_mapping({"name": "x", "fields": fields})
    found = columns_of(extractor, given_records)
    problems: Counter[str] = Counter()
    for n, (key, value, headers) in enumerate(given_records):
        plain = extract(extractor, PlainRecord("orders", 3, n, 1_000 + n, key, value, headers))
        assert {role: value_at(found, role, n) for role in fields} == {
            role: plain.values.get(role) for role in fields
        }
        problems.update(f"{role}: {text}" for role, text in plain.problems.items())
    assert (sum(found.problems.values()) > 0) >= (sum(problems.values()) > 0)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_reads_arbitrary_records_without_an_error(name):
    extractor = preset_extractor(name)
    found = columns_of(extractor, [(b"k", b"\x00\x01", []), (None, None, [("id", b"\xff")])])
    for role in extractor.fields:
        assert len(found.texts(role)) == 2


def test_a_time_is_the_timestamp_of_the_record_by_default():
    found = columns_of(preset_extractor("traceparent"), [(b"k", b"v", [])])
    assert found.numbers("time").tolist() == [1_000]


def test_texts_beyond_the_most_of_a_codebook_share_a_code():
    extractor = Extractor.from_mapping({"name": "x", "fields": {"id": "key"}})
    book = Codebook(most=2)
    found = columns_of(extractor, [(b"%d" % n, b"v", []) for n in range(4)])
    texts = [book.texts[code] for code in found.codes("id", book)]
    assert (texts.count(book.rest), len(set(texts))) == (2, 3)

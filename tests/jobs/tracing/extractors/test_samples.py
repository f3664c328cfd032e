"""Samples: what is redacted is shown nowhere; presets are found from records."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing.extractors.extractor import Extractor
from jobs.tracing.extractors.plain import PlainRecord
from jobs.tracing.extractors.samples import (
    LARGEST_BYTES,
    NOT_SHOWN,
    REDACTED,
    header_counts,
    matching_presets,
    sample_of,
)

SECRET = "4111-1111"


def record(key=None, value=None, headers=()) -> PlainRecord:
    return PlainRecord("orders", 0, 7, 1_700_000_000_000, key, value, list(headers))


def extractor(redact=(), **fields) -> Extractor:
    told = {"name": "x", "fields": fields or {"step": "topic"}, "redact": list(redact)}
    return Extractor.from_mapping(told)


@pytest.mark.parametrize(
    ("redact", "content"),
    [
        pytest.param("header:card", {"headers": [("card", SECRET.encode())]}, id="header"),
        pytest.param("header:Card", {"headers": [("card", SECRET.encode())]}, id="capitals"),
        pytest.param(
            "header:card",
            {"headers": [("card", SECRET.encode()), ("card", SECRET.encode())]},
            id="header-twice",
        ),
        pytest.param(
            "header:card#/no", {"headers": [("card", b'{"no":"4111-1111"}')]}, id="in-a-header"
        ),
        pytest.param("key", {"key": SECRET.encode()}, id="key"),
        pytest.param(
            "key:/0", {"key": b'{"0":"4111-1111","' + b"9" * 5000 + b'":1}'}, id="many-digits"
        ),
        pytest.param("value:/card/no", {"value": b'{"card":{"no":"4111-1111"}}'}, id="pointer"),
        pytest.param("value:/cards/*/no", {"value": b'{"cards":[{"no":"4111-1111"}]}'}, id="each"),
        pytest.param("value:/cards/00", {"value": b'{"cards":["4111-1111"]}'}, id="index"),
        pytest.param("value:/card/no", {"value": b'{"card":"{no: 4111-1111}"}'}, id="text-inside"),
        pytest.param(
            "value:/card",
            {"value": b'{"card":1,"card":"4111-1111","card":"4111-1111"}'},
            id="again",
        ),
        pytest.param(
            "value:/open",
            {"value": b'{"open":1,"card":' + b"[" * 300 + b'"4111-1111"' + b"]" * 300 + b"}"},
            id="too-deep",
        ),
        pytest.param("value:/card", {"value": b"<card>4111-1111</card>"}, id="no-json"),
        pytest.param("value:/card", {"value": b"\0\0\0\0\1 4111-1111"}, id="a-schema"),
    ],
)
def test_what_is_redacted_is_not_shown(redact, content):
    assert SECRET not in str(sample_of(extractor([redact]), record(**content)))


@pytest.mark.parametrize(
    ("redact", "role"),
    [
        ("value:/card/no", "value:/card/no"),
        ("value:/card/no", "value:/card"),
        ("value:/card", "value:/card/no"),
        ("value:/*/no", "value:/card/no"),
        ("value", "value:/card/no"),
        ("value:/card/no", "value"),
        ("header:Card", "header:card"),
    ],
)
def test_a_role_that_reads_what_is_redacted_shows_that_it_was_found_only(redact, role):
    given = record(value=b'{"card":{"no":"4111-1111"}}', headers=[("card", SECRET.encode())])
    assert sample_of(extractor([redact], id=role), given).values == {"id": REDACTED}


@settings(deadline=None)
@given(
    st.recursive(
        st.just(SECRET) | st.booleans(), lambda one: st.lists(one, max_size=3), max_leaves=8
    )
)
def test_a_redacted_part_is_hidden_whatever_is_in_it(inside):
    value = orjson.dumps({"open": "yes", "card": inside})
    shown = sample_of(extractor(["value:/card"]), record(value=value)).value
    assert shown == orjson.dumps({"open": "yes", "card": REDACTED}).decode()


def test_a_value_that_cannot_be_parsed_is_shown_unless_something_in_it_is_redacted():
    given = record(value=b"no json")
    assert sample_of(extractor(), given).value == "no json"
    assert sample_of(extractor(["value:/card"]), given).value == NOT_SHOWN


def test_content_is_shortened_and_control_characters_are_seen():
    shown = sample_of(extractor(), record(value=b"\x1b[31m" + b"x" * 5000)).value
    assert shown.startswith("\\u001b[31m")
    assert len(shown) == 2001


def test_a_large_value_is_neither_read_nor_shown_and_headers_are():
    given = record(value=b'"' + b"x" * LARGEST_BYTES + b'"', headers=[("id", b"7")])
    sample = sample_of(extractor(id="header:id", type="value:/type"), given)
    assert sample.values == {"id": "7"}
    assert sample.problems == {"type": "It is not read: there are more than 1048576 bytes."}
    assert sample.value == f"({LARGEST_BYTES + 2} bytes: not shown)"


def test_what_each_role_extracts_and_its_problems_are_there():
    given = record(value=b'{"id": 5, "time": "noon"}')
    sample = sample_of(extractor(id="value:/id", time="value:/time as iso"), given)
    assert sample.values == {"id": "5"}
    assert sample.problems == {"time": "It is no time as ISO 8601 writes it."}


def test_presets_are_found_by_their_own_places_with_counts():
    letters = [
        record(key=b"k", headers=[("kafka_dlt-exception-fqcn", b"java.lang.X")]) for _ in range(3)
    ]
    found = matching_presets([*letters, record(key=b"k", value=b"plain")])
    assert [(one.preset, one.found) for one in found] == [("spring-dlt", {"error": 3})]


def test_of_many_headers_the_first_are_shown_and_the_others_counted():
    given = record(headers=[(f"h{n}", b"1") for n in range(102)])
    shown = sample_of(extractor(), given).headers
    assert (len(shown), shown[-1]) == (101, ("(2 more headers: not shown)", None))
    assert len(header_counts([given])) == 100


def test_headers_are_counted_by_records():
    found = header_counts(
        [record(headers=[("a", b"1"), ("a", b"2")]), record(headers=[("b", None)])]
    )
    assert found == {"a": 1, "b": 1}

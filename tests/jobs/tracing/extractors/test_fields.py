"""Fields: how they are written, what is refused, and what forms make of values."""

import pytest

from jobs.tracing.extractors.fields import BadField, parse_fields
from jobs.tracing.extractors.forms import FORMS, BadValue


@pytest.mark.parametrize(
    "text",
    [
        "header:slip-id",
        "header:x-slip#/steps/0 as csv",
        "key",
        "value:/a~1b/c~0d",
        "value:/log/*/name | header:kafka_dlt-original-topic as text",
        "const:orders as uuid",
        "timestamp as ms",
        "value:/a as csv as text",
    ],
)
def test_a_field_is_written_as_it_was_read(text):
    fields = parse_fields(text)
    assert parse_fields(" | ".join(map(str, fields))) == fields


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("body:/a", "begins with one of"),
        ("header", "header:NAME"),
        ("value:a", "begins with /"),
        ("topic:x", "has nothing behind it"),
        ("header:a as java", "no form 'java'"),
        ("value:/*/a/*", "one * among them"),
        ("header:a\n", "printable"),
    ],
    ids=["place", "no name", "pointer", "topic", "form", "two lists", "line break"],
)
def test_what_is_no_field_is_refused_with_a_sentence(text, sentence):
    with pytest.raises(BadField, match=sentence.replace("*", r"\*")):
        parse_fields(text)


@pytest.mark.parametrize(
    ("form", "raw", "value"),
    [
        ("csv", b"validate, price,,ship", ["validate", "price", "ship"]),
        ("endpoints", b"kafka:orders?brokers=a,kafka://pay", ["orders", "pay"]),
        ("int", b"12", 12),
        ("int32", b"\x00\x00\x01\x00", 256),
        ("int64", b"\x00" * 7 + b"\x05", 5),
        ("big_endian", b"\x03", 3),
        ("flag", b"\x01", 1),
        ("uuid", bytes(range(16)), "00010203-0405-0607-0809-0a0b0c0d0e0f"),
        (
            "trace_id",
            b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0af7651916cd43dd8448eb211c80319c",
        ),
        ("span_id", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "b7ad6b7169203331"),
        ("class", b"java.lang.IllegalStateException: total: -1", "java.lang.IllegalStateException"),
        ("failure", b"SUCCESS", None),
        ("failure", b"FAILURE", "FAILURE"),
        ("flagged_uri", b"\x01s3://large/a", "s3://large/a"),
        ("flagged_uri", b"\x00inline", None),
        ("s", 12.5, 12_500),
        ("us", 1_700_000_000_000_000, 1_700_000_000_000),
        ("iso", b"2026-03-31T12:00:00.25Z", 1_774_958_400_250),
    ],
)
def test_a_form_reads_its_value(form, raw, value):
    assert FORMS[form](raw) == value


@pytest.mark.parametrize(
    ("form", "raw"),
    [
        ("int", b"twelve"),
        ("int", True),
        ("int", "9" * 30),
        ("int32", b"\x00"),
        ("big_endian", b""),
        ("uuid", b"no"),
        ("trace_id", b"00-" + b"0" * 32 + b"-b7ad6b7169203331-01"),
        ("flagged_uri", b"text"),
        ("iso", b"yesterday"),
        ("s", 1e308),
        ("ns", -5),
    ],
)
def test_a_value_without_the_form_is_refused(form, raw):
    with pytest.raises(BadValue):
        FORMS[form](raw)

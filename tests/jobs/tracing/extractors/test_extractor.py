"""Extractors are read without trusting them, and written as they were read."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.tracing.extractors.extractor import Extractor, preset_extractor, read_extractor
from jobs.tracing.extractors.plain import PlainRecord, extract
from jobs.tracing.extractors.presets import PRESETS

WHOLE = {
    "name": "order-fulfilment",
    "preset": "spring-dlt",
    "topics": "fulfilment.*",
    "fields": {"id": "header:slip-id", "steps": "header:slip as csv"},
    "topic_steps": {"fulfilment.pay": "pay"},
    "end_topics": ["fulfilment.done"],
    "groups": {"pay": "fulfilment-pay"},
    "stuck_after_s": 60,
    "stuck_steps": {"pay": 7200},
    "redact": ["header:authorization", "value:/customer/email"],
}


def test_an_extractor_is_written_as_it_was_read():
    found = Extractor.from_mapping(WHOLE)
    assert found.to_mapping() == WHOLE
    assert found.stuck_ms("pay") == 7_200_000
    assert found.stuck_ms("ship") == 60_000


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_an_extractor_of_its_own(name):
    assert Extractor.from_mapping(preset_extractor(name).to_mapping()) == preset_extractor(name)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"preset": "camel"}, "preset"),
        ({"fields": {"idd": "key"}}, "fields.idd"),
        ({"fields": {"id": "javascript:1"}}, "fields.id"),
        ({"fields": "key"}, "fields"),
        ({"stuck_after_s": 0}, "stuck_after_s"),
        ({"stuck_steps": {"pay": "long"}}, "stuck_steps"),
        ({"groups": {"pay": 1}}, "groups"),
        ({"redact": ["body"]}, "redact"),
        ({"redact": ["header:Kafka_DLT-Exception-FQCN"]}, "redact"),
        ({"fields": {"type": "value:/card"}, "redact": ["value:/card/no"]}, "redact"),
        ({"code": "import os"}, "code"),
        ({"stuck_after_s": float("inf")}, "stuck_after_s"),
        ({"steps": ["a\0"]}, "steps"),
        ({"end_topics": ["\ud800"]}, "end_topics"),
        ({"topic_steps": {"\0": "pay"}}, "topic_steps"),
        ({"groups": {"pay": "x" * 501}}, "groups"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_hold_is_named_at_its_field(change, field):
    with pytest.raises(InvalidFields) as refused:
        Extractor.from_mapping(WHOLE | change)
    assert list(refused.value.errors) == [field]


def test_a_file_is_read_and_a_preset_needs_none(tmp_path):
    file = tmp_path / "slip.yaml"
    file.write_text("name: slip\nfields:\n  id: header:slip-id\n")
    assert read_extractor(str(file)).name == "slip"
    assert read_extractor("masstransit").preset == "masstransit"


@pytest.mark.parametrize(
    "change", [{"fields": {"id": "value:/card"}}, {"fields": {"type": "value:/customer/kind"}}]
)
def test_ids_and_parts_of_what_is_redacted_can_be_read(change):
    found = Extractor.from_mapping(WHOLE | change | {"redact": ["value"]})
    assert found.redact


def test_an_empty_field_leaves_that_of_the_preset():
    found = Extractor.from_mapping({"name": "x", "preset": "cloudevents", "fields": {"parent": ""}})
    assert found.fields == preset_extractor("cloudevents").fields
    assert Extractor.from_mapping(found.to_mapping()) == found


@pytest.mark.parametrize(
    ("role", "content", "problem"),
    [
        ("attempt", b"9007199254740993", "It is a number beyond 2^53."),
        ("time", b"18446744073709551615", "It is no time from 1970 to 9999."),
        ("time", b'"0001-01-01T00:00:00"', "It is no time from 1970 to 9999."),
        ("id", b"[" * 500 + b"]" * 500, "It is nested too deep for a text."),
    ],
)
def test_what_leads_beyond_numbers_dates_and_depth_is_a_problem(role, content, problem):
    extractor = Extractor.from_mapping({"name": "x", "fields": {role: "value:/a/0"}})
    record = PlainRecord("orders", 0, 1, 5, None, b'{"a":[' + content + b"]}", [])
    found = extract(extractor, record)
    assert (found.values, found.problems) == ({}, {role: problem})


def test_problems_are_named_by_role():
    extractor = Extractor.from_mapping(
        {"name": "x", "fields": {"id": "value:/id", "step": "topic"}}
    )
    found = extract(extractor, PlainRecord("orders", 0, 1, 5, None, b"{", []))
    assert found.values == {"step": "orders"}
    assert found.problems == {"id": "It is no JSON."}

"""JSON that people give, refused with sentences of our own."""

import pytest

from jobs.json_text import BadJson, fault_of, parse_json


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "It is no JSON: it is empty.", id="empty"),
        pytest.param(" \n\t", "It is no JSON: it is empty.", id="blank"),
        pytest.param('{"a": [1,', "It is no JSON: it ends too early.", id="cut off"),
        pytest.param('{"a": 1,\n "b" 2}', "It is no JSON at line 2, column 6.", id="no colon"),
        pytest.param("{'a': 1}", "It is no JSON at line 1, column 2.", id="Python"),
        pytest.param("a: 1", "It is no JSON at line 1, column 1.", id="YAML"),
        pytest.param("[1] [2]", "It is no JSON at line 1, column 5.", id="two values"),
        pytest.param('{"a": NaN}', "It is no JSON: NaN is no number of JSON.", id="NaN"),
        pytest.param("1" * 5_000, "It holds a number with too many digits.", id="digits"),
        pytest.param("[" * 100_000, "It is nested too deeply.", id="deep"),
        pytest.param(b'"\xff"', "It is no JSON: byte 1 is no utf-8 text.", id="no text"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text, sentence):
    with pytest.raises(BadJson) as refused:
        parse_json(text)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("text", ["\ufeff{}".encode(), "{}".encode("utf-16")])
def test_forms_of_unicode_that_editors_write_are_read(text):
    assert parse_json(text) == {}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("offset"), "offset is missing"),
        (TypeError("'int' object is not iterable"), "a value has another form than it is to have"),
        (
            ValueError("max() arg is an empty sequence"),
            "a value has another form than it is to have",
        ),
        (BadJson("It is nested too deeply."), "It is nested too deeply"),
    ],
)
def test_errors_of_python_are_told_without_their_names(error, words):
    assert fault_of(error) == words

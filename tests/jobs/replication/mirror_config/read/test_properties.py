"""The .properties format, as java.util.Properties reads and writes it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.mirror_config.read.properties import (
    BadProperties,
    read_properties,
    write_properties,
)


def pairs(text):
    return [(line.key, line.value) for line in read_properties(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=1", [("a", "1")], id="equals"),
        pytest.param("a:1", [("a", "1")], id="colon"),
        pytest.param("a 1", [("a", "1")], id="blank"),
        pytest.param("a \t\f= \t1", [("a", "1")], id="blanks around a separator"),
        pytest.param("a = = 1", [("a", "= 1")], id="only the first separator counts"),
        pytest.param("a", [("a", "")], id="a key alone"),
        pytest.param("=1", [("", "1")], id="no key"),
        pytest.param("a = 1  ", [("a", "1  ")], id="blanks at the end belong to the value"),
        pytest.param("  a=1", [("a", "1")], id="blanks in front do not"),
        pytest.param("# a=1\n  ! b=2\nc=3", [("c", "3")], id="comments"),
        pytest.param("# a \\\nb=2", [("b", "2")], id="a comment does not continue"),
        pytest.param("a=1\\\n   ,2", [("a", "1,2")], id="a continued line"),
        pytest.param("a=1\\\\\nb=2", [("a", "1\\"), ("b", "2")], id="an escaped backslash ends it"),
        pytest.param("a=1\\\n#2", [("a", "1#2")], id="a continued line is no comment"),
        pytest.param("a=1\\\n\nb=2", [("a", "1"), ("b", "2")], id="a blank line ends it"),
        pytest.param("a=1\\", [("a", "1")], id="a backslash at the very end"),
        pytest.param("a=1\rb=2\r\nc=3", [("a", "1"), ("b", "2"), ("c", "3")], id="line ends"),
        pytest.param("a\\=b\\:c\\ d=1", [("a=b:c d", "1")], id="escaped separators in a key"),
        pytest.param("a=\\t\\n\\r\\f\\\\\\q", [("a", "\t\n\r\f\\q")], id="escapes"),
        pytest.param("a=\\u00e4\\uD83D\\uDE00", [("a", "ä\U0001f600")], id="unicode and a pair"),
        pytest.param("A->B.enabled = true", [("A->B.enabled", "true")], id="an arrow"),
        pytest.param(
            "A -> B.x = 1", [("A", "-> B.x = 1")], id="blanks around an arrow end the key"
        ),
        pytest.param("a=1\na=2", [("a", "1"), ("a", "2")], id="repeated keys are both told"),
    ],
)
def test_reading(text, expected):
    assert pairs(text) == expected


def test_lines_are_counted_where_a_setting_begins():
    text = "# one\na=1\\\n  2\n\nb=3"
    assert [(line.number, line.key) for line in read_properties(text)] == [(2, "a"), (5, "b")]


@pytest.mark.parametrize("text", ["x=\\u12", "x=\\uzzzz", "\\u1=2"])
def test_what_java_refuses_is_refused_with_its_line(text):
    with pytest.raises(BadProperties, match="line 2"):
        read_properties(f"# first\n{text}")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(st.lists(st.tuples(texts.filter(bool), texts), max_size=5))
def test_what_is_written_is_read_back(settings):
    assert pairs(write_properties(settings)) == settings


@given(texts)
def test_any_text_is_read_or_refused(text):
    try:
        read_properties(text)
    except BadProperties:
        assert "\\u" in text

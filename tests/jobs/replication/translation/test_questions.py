"""Lists of offsets that people paste or upload: every form is read, and what cannot be read is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.translation.questions import MOST_PROBLEMS, MOST_QUESTIONS, parse_questions


def read(text):
    found = parse_questions(text)
    return [(one.line, one.group, str(one.where), one.offset) for one in found.questions]


ONE = [(1, "", "orders-0", 42)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("orders,0,42", ONE, id="three fields"),
        pytest.param("orders;0;42\n", ONE, id="semicolons"),
        pytest.param("orders\t0\t42", ONE, id="tabs"),
        pytest.param("\ufefforders,0,42\r\n", ONE, id="as a spreadsheet writes it"),
        pytest.param("billing,orders,0,42", [(1, "billing", "orders-0", 42)], id="with a group"),
        pytest.param(
            "Offset,Partition,Topic\n42,0,orders", [(2, "", "orders-0", 42)], id="named fields"
        ),
        pytest.param('"orders","0","42"', ONE, id="quoted"),
        pytest.param("\n\norders,0,42\n\n", [(3, "", "orders-0", 42)], id="empty lines"),
        pytest.param('[{"topic":"orders","partition":0,"offset":42}]', ONE, id="a JSON list"),
        pytest.param('{"topic":"orders","partition":0,"offset":42}', ONE, id="one JSON object"),
        pytest.param(
            '{"topic":"orders","partition":0,"offset":42}\n{"topic":"a","partition":1,"offset":2}',
            [*ONE, (2, "", "a-1", 2)],
            id="JSON lines",
        ),
        pytest.param(
            '{"orders":{"0":42,"1":7}}', [*ONE, (1, "", "orders-1", 7)], id="startingOffsets"
        ),
        pytest.param(
            'v1\n{"batchWatermarkMs":0}\n{"orders":{"0":42}}\n-',
            [(3, "", "orders-0", 42)],
            id="a Spark checkpoint",
        ),
    ],
)
def test_every_form_is_read(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("", 0, "nothing in it", id="empty"),
        pytest.param("\0\1\2", 0, "not text", id="binary"),
        pytest.param("orders,0", 1, "Fields: 2.", id="a field too few"),
        pytest.param("orders,zero,42", 1, "'zero' is no partition", id="no number"),
        pytest.param("orders,0,-1", 1, "is a word of Kafka", id="latest"),
        pytest.param("orders,0,1.5", 1, "'1.5' is no offset", id="a fraction"),
        pytest.param("orders,0,9223372036854775808", 1, "is no offset", id="too high"),
        pytest.param(",0,1", 1, "names no topic", id="no topic"),
        pytest.param("[1]", 1, "no object", id="a number in JSON"),
        pytest.param('{"orders":{"0":null}}', 1, "has no offset", id="null"),
        pytest.param('{"orders":5}', 1, "neither a list", id="another document"),
        pytest.param("[{", 1, "no JSON", id="broken JSON"),
        pytest.param("[" * 100_000, 0, "nested too deeply", id="deep"),
        pytest.param('v1\n{}\n{"rate":5}', 3, "another source", id="not of Kafka"),
        pytest.param("v1\n{}", 0, "no offset in it", id="a checkpoint without sources"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_line(text, line, words):
    found = parse_questions(text)
    assert not found.questions
    assert found.problems[0].line == line
    assert words in found.problems[0].text


def test_a_bad_line_does_not_cost_the_good_ones():
    found = parse_questions("orders,0,1\norders,x,2\norders,1,3")
    assert [one.offset for one in found.questions] == [1, 3]
    assert [(one.line, found.problem_count) for one in found.problems] == [(2, 1)]


def test_thousands_of_bad_lines_are_counted_and_a_few_are_kept():
    found = parse_questions("\n".join(["bad"] * 999))
    assert (found.problem_count, len(found.problems)) == (999, MOST_PROBLEMS)


def test_a_list_has_a_longest_length_and_says_where_it_was_cut():
    found = parse_questions("\n".join(["t,0,1"] * (MOST_QUESTIONS + 5)))
    assert (len(found.questions), found.problem_count) == (MOST_QUESTIONS, 1)
    assert found.problems[0].line == MOST_QUESTIONS + 1


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text):
    found = parse_questions(text)
    assert found.questions or found.problems


@given(
    st.lists(
        st.tuples(
            st.from_regex(r"[a-z.]{1,9}", fullmatch=True), st.integers(0, 99), st.integers(0, 2**62)
        )
    )
)
def test_what_is_written_as_json_is_read_again(rows):
    text = json.dumps([{"topic": t, "partition": p, "offset": o} for t, p, o in rows])
    found = [(one.where, one.offset) for one in parse_questions(text).questions]
    assert found == [(TopicPartition(t, p), o) for t, p, o in rows]


GOOD = "".join(f"orders,0,{number}\n" for number in range(10_000))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("x\n" * 5_000, "1,000 of its first 1,000 rows", id="nothing else"),
        pytest.param(
            "orders,0,1\nx\n" * 5_000, "1,000 of its first 2,000 rows", id="every other line"
        ),
        pytest.param('{"offset":1}\n' + "x\n" * 5_000, "1,000 of its first", id="JSON lines"),
        pytest.param("[" + "1," * 5_000 + "1]", "1,000 of its first", id="a JSON list"),
        pytest.param("v1\n{}\n" + "x\n" * 5_000, "1,000 of its first", id="a Spark checkpoint"),
        pytest.param(
            GOOD + "x\n" * 50_000, "10,000 of its first 20,000", id="behind many good ones"
        ),
    ],
)
def test_a_list_that_holds_mostly_something_else_is_given_up(text, words):
    found = parse_questions(text)
    assert found.questions == []
    assert [(one.line, words in one.text) for one in found.problems] == [(0, True)]


def test_a_thousand_bad_lines_behind_ten_thousand_good_ones_are_named():
    found = parse_questions(GOOD + "x\n" * 1_000)
    assert (len(found.questions), found.problem_count) == (10_000, 1_000)


@pytest.mark.parametrize(("name", "most"), [("topic", 249), ("group", 255)], ids=["topic", "group"])
def test_a_name_that_is_too_long_is_refused_and_not_cut(name, most):
    row = {"topic": "orders", "group": "g", "partition": 0, "offset": 1}
    assert parse_questions(json.dumps([row | {name: "x" * most}])).questions
    found = parse_questions(json.dumps([row | {name: "x" * (most + 1)}]))
    assert [one.text for one in found.problems] == [f"Its {name} has more than {most} characters."]

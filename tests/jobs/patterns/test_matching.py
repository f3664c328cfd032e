"""Patterns against names: which one comes first, what is no pattern, bounds, and strange names."""

import fnmatch
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.patterns.java import NotAPattern, NotEvaluated
from jobs.patterns.matching import (
    LARGEST,
    LONGEST,
    Matcher,
    expression_of,
    glob_expression,
    list_problem,
    matcher_of,
    name_expression,
    name_pattern,
    pattern_problem,
)

# Each is tried by a backtracking engine in more ways than there are atoms.
EVIL = ("(.|.|.|.|.|.|.|.|.|.|.|.)*X", "(a+)+X", "(a*)*X", "(a|a)*X", "(.*a){20}X", "(x+x+)+y")
LONG_NAME = "a" * 249


@pytest.mark.parametrize("pattern", EVIL)
def test_a_pattern_with_countless_ways_is_answered(pattern):
    assert matcher_of((pattern,)).matches(LONG_NAME) is False


def test_the_first_pattern_that_matches_counts():
    found = matcher_of(("b.*", "a", "a.*", ".*"))
    assert [found.first(name) for name in ("bb", "a", "ab", "c", "")] == [0, 1, 2, 3, 3]
    assert matcher_of(("a", "b")).first("c") is None


def test_no_pattern_matches_nothing():
    assert matcher_of(()).first("") is None


def test_patterns_of_many_parts_keep_their_order():
    """More than RE2 is asked at once: their places count over all of them."""
    patterns = tuple(f"{'[a-z]{900}' * 9}{number}|n{number}" for number in range(20))
    found = Matcher(map(expression_of, patterns))
    assert [found.first(f"n{number}") for number in range(20)] == list(range(20))
    assert found.first("n20") is None


def test_the_largest_patterns_find_memory_to_be_matched():
    largest = f"(.?){{{LARGEST // 26}}}b"
    found = Matcher([expression_of(largest)] * 3)
    assert found.first(LONG_NAME) is None
    assert found.first("b") == 0


@pytest.mark.parametrize(
    ("name", "pattern", "matches"),
    [
        pytest.param("a\udcffb", "a.b", True, id="half a character is some character"),
        pytest.param("a\udcffb", "a\ufffdb", True, id="it is U+FFFD, as in Java"),
        pytest.param("a\udcffb", "a\\?b", False, id="it is no question mark"),
        pytest.param("a\udcffb", "ab", False, id="it does not vanish"),
        pytest.param("\ud83d\ude00", "\U0001f600", True, id="two halves are one character"),
        pytest.param("a\x00b", "a.b", True, id="a zero"),
        pytest.param("a\nb", "a.b", False, id="a line end"),
        pytest.param("a\n", "a$", False, id="a line end behind"),
        pytest.param("x" * 32_000, "x+", True, id="a name of 32,000 characters"),
    ],
)
def test_names_that_no_topic_has_are_matched(name, pattern, matches):
    assert matcher_of((pattern,)).matches(name) is matches


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        pytest.param("", "non-empty", id="empty"),
        pytest.param(7, "non-empty", id="a number"),
        pytest.param("a" * (LONGEST + 1), "10,001 characters, more than 10,000", id="long"),
        pytest.param("a{1001}", "{1001} at character 2 is not supported. The most", id="counts"),
        pytest.param("(a{1000}){1000}", "too large", id="counts of counts"),
        pytest.param("a{1000}" * 13, "All counts together", id="many counts"),
        pytest.param("(" * 300 + ")" * 300, "nested too deeply", id="nested"),
        pytest.param("(.{1,249}|x){3}", "too large", id="many steps"),
        pytest.param("(?!dead).*", "look-ahead (?!...) at character 1", id="look-ahead"),
        pytest.param("(?!dead).*", "into the exclude list: topics_exclude", id="what to do"),
        pytest.param(".*(?<!dead)", "look-behind (?<!...) at character 3", id="look-behind"),
        pytest.param("a++", "possessive", id="possessive"),
        pytest.param("(a)\\1", "back reference \\1 at character 4", id="back reference"),
        pytest.param("a$b", "a character behind $ at character 3", id="an end in the middle"),
        pytest.param("a\\b.*", "the edge of a word, \\b, at character 2", id="edge of a word"),
        pytest.param("x(?iu)é", "the flag (?u) at character 2", id="a flag of Java's"),
        pytest.param(
            "a\\p{javaLowerCase}", "\\p{javaLowerCase} at character 2", id="a class of Java's"
        ),
        pytest.param("[a-z&&[^b]]", "intersection", id="intersection"),
        pytest.param("[[:alpha:]]", "a class inside a class", id="a class of POSIX"),
        pytest.param("(?P<n>a)", "(?<name>...)", id="a name as Python writes it"),
        pytest.param("a{,3}", "{2,5}", id="a count as Python writes it"),
        pytest.param("a(", "the group is not closed, at character 2", id="not closed"),
        pytest.param("a\udcff", "half of a character", id="half a character"),
    ],
)
def test_what_is_wrong_is_said_with_where_and_what_to_do(pattern, words, capfd):
    problem = pattern_problem(pattern)
    assert words in problem
    assert problem.endswith((".", ".*"))
    assert capfd.readouterr() == ("", "")


def test_a_list_is_bounded_as_a_whole():
    assert list_problem([f"name-{number}" for number in range(5000)]) is None
    assert "together" in list_problem([f"[a-z]{{900}}{number}" for number in range(300)])
    assert "not closed" in list_problem(["a", "b("])


@given(st.text())
def test_a_name_is_matched_by_its_own_pattern(name):
    assert matcher_of((name_pattern(name),)).matches(name)
    assert Matcher([name_expression(name)]).matches(name)


@given(st.text(alphabet="ab.*?[]!-^\\{(", max_size=8), st.text(alphabet="abc.-^[!", max_size=6))
def test_globs_match_as_those_of_a_shell(glob, name):
    try:
        found = Matcher([glob_expression(glob)])
    except NotEvaluated:  # [b-a], which fits nothing
        return
    assert found.matches(name) is bool(re.compile(fnmatch.translate(glob)).fullmatch(name))


def test_a_glob_with_countless_ways_is_answered():
    assert not Matcher([glob_expression("*a" * 100 + "b")]).matches(LONG_NAME)


@given(st.text(alphabet="ab(|)*+?{}[]^-\\dQE.,12$:i<n>p&", max_size=12))
def test_any_text_is_a_pattern_or_is_refused(text):
    with suppress(NotAPattern):
        assert matcher_of((text,)).matches("ab") in {True, False}

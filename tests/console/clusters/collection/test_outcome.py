"""Sentences about what an answer left out."""

import pytest

from console.clusters.collection.outcome import sentence_about


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [
        pytest.param({}, "", id="nothing is missing"),
        pytest.param({"a": "No."}, "1 of 9 rows missing: No (a).", id="one"),
        pytest.param(
            {"a": "No", "b": "No", "c": "No", "d": "No", "e": "Yes"},
            "5 of 9 rows missing: No (a, b, c and 1 more); Yes (e).",
            id="many with one reason are counted together, the most frequent first",
        ),
        pytest.param(
            {name: f"reason {name}" for name in "abcde"},
            "5 of 9 rows missing: reason a (a); reason b (b); reason c (c); and 2 more reasons.",
            id="many reasons",
        ),
    ],
)
def test_sentence(reasons, sentence):
    assert sentence_about("rows missing", reasons, 9) == sentence

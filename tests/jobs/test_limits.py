"""Texts and sentences of clients within their limits."""

from pathlib import Path

import pytest

from jobs import limits
from jobs.limits import beyond, sentences, short


@pytest.mark.parametrize("text", ["", "orders", "x" * 255], ids=["empty", "short", "just fits"])
def test_a_text_that_fits_stays(text):
    assert short(text) == text


@pytest.mark.parametrize(
    "text", ["x" * 256, "a\0b", "\ud800"], ids=["long", "NUL", "half of a pair"]
)
def test_another_text_is_cut_and_fits(text):
    kept = short(text)
    assert kept != text
    assert len(kept) <= 255
    assert "\0" not in kept
    assert kept.encode()
    assert short(kept) == kept


def test_texts_that_differ_behind_the_cut_stay_different():
    assert short("x" * 300 + "a") != short("x" * 300 + "b")
    assert short("a\0b") != short("a\N{REPLACEMENT CHARACTER}b")


def test_of_many_sentences_the_first_are_kept_and_the_rest_counted():
    assert sentences(["a", "b"], 2) == ("a", "b")
    assert sentences(["a", "b", "c"], 1) == ("a", "2 more of such sentences are left out.")


def test_a_limit_is_said_only_where_it_was_passed():
    assert beyond(10, 10, "tasks") == ""
    assert beyond(12_000, 10_000, "tasks") == "12,000 tasks: the first 10,000 are kept."


OPERATE = (Path(__file__).parents[2] / "docs/operate.md").read_text("utf-8")
STATED = OPERATE.split("## Limits of client data\n")[1].split("\n## ")[0]
NUMBERS = {name: value for name, value in vars(limits).items() if isinstance(value, int)}


@pytest.mark.parametrize("name", [name for name in NUMBERS if not name.startswith("_")])
def test_every_limit_is_stated(name):
    assert f"{NUMBERS[name]:,}" in STATED

"""The sentence about what an answer left out."""

from console.frame.rounds import sentence_about
from jobs.limits import SENTENCE, TEXT


def test_names_and_reasons_of_clients_fit_a_sentence_that_every_database_takes():
    told = sentence_about("groups are incomplete", {"g\0" * 2_000: "no\0 " * 4_000}, 1)
    assert "\0" not in told
    assert len(told) < SENTENCE + TEXT + 100


def test_parts_with_the_same_reason_are_counted_together():
    told = sentence_about("groups are incomplete", {"a": "no answer.", "b": "no answer"}, 9)
    assert told == "2 of 9 groups are incomplete: no answer (a, b)."

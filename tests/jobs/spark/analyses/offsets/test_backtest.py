"""What the kind `backtest` takes and refuses, and its verdict in a sentence."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.analyses.offsets.backtest import verdict

KIND = ANALYSES["backtest"]


def test_a_flow_alone_is_asked_for_a_week():
    found = checked_arguments(KIND, {"flow": "east to west"})
    assert (found["days"], found["beside"], found["most_records"]) == (7, None, 1_000_000)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "flow"),
        ({"flow": "f", "days": 0}, "days"),
        ({"flow": "f", "days": 91}, "days"),
        ({"flow": "f", "most_records": 999}, "most_records"),
        ({"flow": "f", "hours": 3}, "hours"),
    ],
    ids=["no flow", "no day", "too many days", "too few records", "what it does not have"],
)
def test_what_is_wrong_is_refused_at_its_field(given, field):
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(KIND, given)
    assert list(refused.value.errors) == [field]


VERDICTS = {
    "nothing asked": ((0, 0, 0), "There are no checkpoints and no offset syncs"),
    "nothing checkable": ((0, 10, 0), "No verdict: none of 10 answers can be checked"),
    "nothing left out": ((0, 10, 4), "No answer would have skipped a record: 4 of 10"),
    "something left out": (
        (1, 10, 10),
        "1 of 10 checked answers would have skipped records",
    ),
}


@pytest.mark.parametrize(("counts", "text"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict_is_a_sentence_that_never_promises_what_was_not_checked(counts, text):
    assert verdict(*counts, days=7).startswith(text)

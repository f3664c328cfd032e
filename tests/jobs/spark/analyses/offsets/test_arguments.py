"""What the kinds `translate` and `refine` refuse before anything runs."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES

FLOW = {"flow": "one"}
TOPIC = {"cluster": "east", "topic": "mm2-offset-syncs.west.internal"}


def errors_of(kind, given):
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(ANALYSES[kind], given)
    return list(refused.value.errors)


@pytest.mark.parametrize(
    ("kind", "given", "field"),
    [
        ("translate", {}, "flow"),
        ("translate", {**FLOW, **TOPIC}, "cluster"),
        ("translate", {"cluster": "east"}, "topic"),
        ("translate", TOPIC, "offsets"),
        ("translate", {**FLOW, "direction": "back"}, "direction"),
        ("refine", {"offsets": "list.csv"}, "flow"),
        ("refine", {**FLOW, "most_records": 0}, "most_records"),
    ],
    ids=["neither", "both", "no topic", "no list", "no direction", "no flow", "no records"],
)
def test_a_question_without_an_answer_is_refused_at_its_field(kind, given, field):
    assert errors_of(kind, given) == [field]


@pytest.mark.parametrize("given", [FLOW, {**TOPIC, "offsets": "list.csv"}], ids=["flow", "topic"])
def test_groups_of_a_flow_or_a_list_for_any_topic_can_be_asked(given):
    assert checked_arguments(ANALYSES["translate"], given)["direction"] == "forward"

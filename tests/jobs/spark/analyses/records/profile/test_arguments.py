"""What the kind `topic-profile` takes and refuses, and that its charts and tables fit."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES

KIND = ANALYSES["topic-profile"]
NEEDED = {"cluster": "east", "topics": "orders"}


def test_a_cluster_and_topics_are_enough():
    found = checked_arguments(KIND, NEEDED)
    assert (found["bucket"], found["isolation"], found["log"]) == ("hour", "read_committed", None)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        pytest.param({"cluster": ""}, "cluster", id="no cluster"),
        pytest.param({"topics": ""}, "topics", id="no topics"),
        pytest.param({"bucket": "week"}, "bucket", id="an unknown bucket"),
        pytest.param({"from": 5, "to": 5}, "to", id="an empty range"),
        pytest.param(
            {"from_offset": 9, "to_offset": 2}, "to_offset", id="a range that is reversed"
        ),
    ],
)
def test_what_is_wrong_is_refused_at_its_field(given, field):
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(KIND, NEEDED | given)
    assert list(refused.value.errors) == [field]


def test_charts_and_tables_name_what_there_is():
    columns = {table.name: [one.name for one in table.columns] for table in KIND.tables}
    assert all(len(set(names)) == len(names) for names in columns.values())
    for chart in KIND.charts:
        assert {chart.x, chart.value, chart.y or chart.x} <= set(columns[chart.table]), chart.title

"""What the kinds about a metadata log take, what they refuse, and that what they say of themselves fits."""

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES

KINDS = (
    "before-a-moment",
    "quorum-history",
    "time-without-controller",
    "partition-availability",
    "isr-churn",
    "slowest-shrinks",
    "unclean-elections",
    "config-changes",
)
WINDOWED = [kind for kind in KINDS if kind != "before-a-moment"]
AT = "2026-03-31T12:00:00Z"


def errors_of(kind, **given):
    with pytest.raises(InvalidFields) as refused:
        checked_arguments(ANALYSES[kind], given)
    return sorted(refused.value.errors)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_needs_a_log(kind):
    assert "log" in errors_of(kind, at=AT) or "log" in errors_of(kind)


@pytest.mark.parametrize("kind", WINDOWED)
def test_without_times_the_whole_log_is_asked(kind):
    found = checked_arguments(ANALYSES[kind], {"log": "east"})
    assert (found["from"], found["to"]) == (None, None)


@pytest.mark.parametrize("kind", WINDOWED)
def test_a_window_that_ends_before_it_begins_is_refused_at_its_end(kind):
    assert errors_of(kind, log="east", **{"from": AT, "to": AT}) == ["to"]


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("before-a-moment", {"at": AT, "minutes": 0}),
        ("before-a-moment", {"at": AT, "minutes": 1_441}),
        ("before-a-moment", {}),
        ("quorum-history", {"at": "yesterday"}),
        ("time-without-controller", {"per": "year"}),
        ("partition-availability", {"default_min_isr": 0}),
        ("isr-churn", {"by": "color"}),
        ("slowest-shrinks", {"limit": 1_001}),
        ("unclean-elections", {"topic": "orders"}),
        ("config-changes", {"resource_type": "topic"}),
        ("config-changes", {"minutes": "ten"}),
        ("config-changes", {"name": "a\nb"}),
    ],
)
def test_what_is_wrong_is_said_at_its_field(kind, given):
    wrong = list(given)[-1:] or ["at"]
    assert errors_of(kind, log="east", **given) == wrong


@pytest.mark.parametrize("kind", KINDS)
def test_charts_and_tables_name_what_there_is(kind):
    analysis = ANALYSES[kind]
    columns = {table.name: [one.name for one in table.columns] for table in analysis.tables}
    assert len(columns) == len(analysis.tables)
    assert all(len(set(names)) == len(names) for names in columns.values())
    for chart in analysis.charts:
        axes = {chart.x, chart.value, chart.y, chart.x_end} - {""}
        assert axes <= set(columns[chart.table]), chart.title


def test_every_kind_says_what_it_counts():
    assert [kind for kind in KINDS if not ANALYSES[kind].definition.endswith(".")] == []
    assert [kind for kind in KINDS if not ANALYSES[kind].question.endswith("?")] == []

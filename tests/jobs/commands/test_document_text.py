"""A result document as text."""

import pytest

from jobs.commands.analysis import lines_of, text_of
from jobs.spark.analyses.analysis import ColumnType

DOCUMENT = {
    "question": "Who voted?",
    "facts": {"records": 1234, "is_whole": False, "first": None, "name": "east"},
    "notes": ["It begins in the middle."],
    "seconds": 0.5,
    "tables": [
        {
            "title": "Votes",
            "rows": 3,
            "columns": [
                {"name": "voter", "title": "Voter", "type": "text"},
                {"name": "votes", "title": "Votes", "type": "integer"},
            ],
            "preview": [{"voter": "one", "votes": 12345}, {"voter": "another", "votes": None}],
        }
    ],
}


def test_facts_and_notes_come_before_aligned_tables_and_what_is_left_out_is_said():
    assert list(lines_of(DOCUMENT)) == [
        "Who voted?",
        "records: 1,234",
        "is whole: no",
        "first: -",
        "name: east",
        "Note: It begins in the middle.",
        "",
        "Votes (3)",
        "  Voter     Votes",
        "  one      12,345",
        "  another       -",
        "  and 1 more: --output FOLDER keeps all of them.",
        "",
        "Answered in 0.5 s.",
    ]


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (1234567, ColumnType.OFFSET, "1234567"),
        (1234, ColumnType.DURATION_MS, "1,234 ms"),
        (0.256, ColumnType.RATIO, "25.6%"),
        (True, ColumnType.BOOLEAN, "yes"),
        ([1, 2], ColumnType.LIST, "[1,2]"),
        ("2026-03-31T12:00:00.000Z", ColumnType.MOMENT, "2026-03-31T12:00:00.000Z"),
    ],
)
def test_values_are_written_by_their_type(value, type_, text):
    assert text_of(value, type_) == text

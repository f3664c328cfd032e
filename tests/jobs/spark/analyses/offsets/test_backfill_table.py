"""The result of a backfill has a row for each range and each gap."""

from jobs.spark.analyses.document import arrow_table
from jobs.spark.analyses.offsets.backfill import ANALYSIS

RANGE = {"what": "range", "from_offset": None, "to_offset": 40, "syncs": 7, "detail": None}
GAP = {"what": "gap", "from_offset": 9, "to_offset": 12, "syncs": None, "detail": "lost: retention"}


def test_kinds_are_words_and_offsets_are_numbers():
    rows = [RANGE | {"seen_ms": None}, GAP | {"seen_ms": 5}]
    assert arrow_table(ANALYSIS.table("ranges"), rows).to_pylist() == rows

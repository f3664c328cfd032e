"""Summaries that can be merged: their errors are as small as is said."""

import numpy as np
import pytest

from jobs.spark.analyses.records.profile.counting import count_records
from jobs.spark.analyses.records.profile.tallies import Tallies, distinct
from jobs.spark.analyses.records.ranges import Work
from tests.jobs.spark.analyses.records.given_records import reader_of, record

EXTRA = {"planned_ms": 10**15, "policy": "delete", "are_begun": [False], "are_ended": [False]}


def tallies_of(*batches) -> Tallies:
    reader = reader_of(*batches)
    found = Tallies()
    found.add(count_records([reader], Work((reader.span,), EXTRA), {"width_ms": 10**12})["buckets"])
    return found


@pytest.mark.parametrize("count", [0, 1, 100, 5_000, 20_000, 28_000, 30_000, 60_000])
@pytest.mark.parametrize("form", ["%d", "order-%08d"])
def test_distinct_keys_are_counted_within_a_few_standard_errors(count, form):
    batch = [record(n, form.encode() % n) for n in range(count)] or [record(0, None)]
    found = distinct(tallies_of(batch).total().registers[0])
    assert found == pytest.approx(count, rel=0.047)


def test_keys_that_come_again_in_other_parts_are_counted_once():
    first = tallies_of([record(n, b"%d" % n) for n in range(3_000)])
    second = tallies_of([record(n, b"%d" % n) for n in range(1_000, 4_000)])
    first.add(second.to_table())
    assert distinct(first.total().registers[0]) == pytest.approx(4_000, rel=0.047)
    assert distinct(np.zeros(1 << 13, np.uint8)) == 0

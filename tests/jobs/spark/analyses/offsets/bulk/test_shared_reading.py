"""Spans that lie near each other are read once, and nothing else is answered for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.errors import Refused, TimedOut
from jobs.cluster.record_fingerprints import RecordFingerprint
from jobs.spark.analyses.offsets.bulk.shared_reading import NEAR, SharedReading, joined

MOST = 5_000


class Records:
    """A partition with a record at every third offset, up to 9,000; it counts its requests."""

    def __init__(self, fault=None, first=0):
        self.asked, self.fault, self.first = [], fault, first

    def __call__(self, start, end):
        self.asked.append((start, end))
        if self.fault is not None and start < self.first:
            raise self.fault
        end = 9_000 if end is None else end
        return [RecordFingerprint(at, b"%d" % at) for at in range(start + -start % 3, end, 3)]


@st.composite
def spans(draw):
    start = draw(st.integers(0, 8_000))
    return start, draw(st.none() | st.integers(start, 9_000))


@given(st.lists(spans(), min_size=1, max_size=12))
def test_a_shared_reading_says_what_a_reading_of_each_says(wanted):
    shared, alone = SharedReading(Records(), wanted, MOST), Records()
    for span in sorted(wanted, key=lambda one: one[0]):
        assert shared(*span) == alone(*span), span
        assert shared.records == len(alone(*span))


def test_spans_of_neighbouring_syncs_are_one_reading():
    records = Records()
    wanted = [(at + 1, at + 100) for at in range(0, 2_000, 100)]
    shared = SharedReading(records, wanted, MOST)
    for span in wanted:
        shared(*span)
    assert records.asked == [(1, 2_000)]


@pytest.mark.parametrize(
    ("wanted", "blocks"),
    [
        ([(0, 10), (10 + NEAR + 1, 2_000)], 2),
        ([(0, 10), (10 + NEAR, 2_000)], 1),
        ([(0, 4_000), (4_000, 6_000)], 2),
        ([(0, 10), (5, None)], 2),
    ],
    ids=["far", "near", "too many", "open end"],
)
def test_what_is_read_together_is_near_and_not_too_much(wanted, blocks):
    assert len(joined(wanted, MOST)) == blocks


def test_where_the_beginning_is_gone_from_the_log_the_rest_is_read_alone():
    records = Records(Refused("Offset out of range", cluster="east"), first=50)
    shared = SharedReading(records, [(1, 60), (60, 90)], MOST)
    for _ in range(2):
        with pytest.raises(Refused):
            shared(1, 60)
    assert [one.offset for one in shared(60, 90)] == list(range(60, 90, 3))
    assert records.asked == [(1, 90), (1, 60), (60, 90)]


def test_a_cluster_that_may_answer_later_is_asked_again():
    records = Records(TimedOut("too slow", cluster="east"), first=50)
    shared = SharedReading(records, [(1, 60)], MOST)
    for _ in range(2):
        with pytest.raises(TimedOut):
            shared(1, 60)
    assert records.asked == [(1, 60), (1, 60)]

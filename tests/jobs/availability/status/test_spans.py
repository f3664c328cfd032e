"""From moments to spans: they follow each other, and tell what held when."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.status.partition_seen import Membership
from jobs.availability.status.severity import Severity
from jobs.availability.status.spans import (
    leader_spans,
    leaderless,
    membership_spans,
)
from tests.jobs.availability.status.moments import REPLICAS, at, histories, seen, severity_spans


def value_at(spans, time):
    """What held at a time; where several begin at once, the last."""
    held = [one for one in spans if one.start <= time and (one.end is None or time < one.end)]
    return held[-1].value if held else None


OF_ONE = [
    severity_spans,
    leader_spans,
    *(lambda moments, broker=broker: membership_spans(moments, broker) for broker in REPLICAS),
]


def test_a_follower_that_left_and_came_back():
    moments = [seen(0, 1, 2, 3), seen(10, 1, 2), seen(40, 1, 2, 3)]
    told = [(span.value, span.start, span.end) for span in severity_spans(moments)]
    assert told == [
        (Severity.OK, at(0), at(10)),
        (Severity.AT_MIN_ISR, at(10), at(40)),
        (Severity.OK, at(40), None),
    ]


def test_a_change_that_leaves_the_value_as_it_is_begins_no_span():
    moments = [seen(0, 1, 2, 3), seen(10, 2, 1, 3)]
    assert [span.value for span in leader_spans(moments)] == [1, 2]
    assert len(severity_spans(moments)) == 1


def test_a_deleted_partition_ends_its_last_span():
    (span,) = severity_spans([seen(0, 1, 2, 3)], gone_at=at(5))
    assert (span.end, span.lasted(at(100))) == (at(5), timedelta(seconds=5))


def test_a_clock_that_goes_back_never_makes_a_span_end_before_it_starts():
    moments = [seen(10, 1, 2, 3), seen(4, 1, 2), seen(12, 1)]
    assert [(s.start, s.end) for s in severity_spans(moments)] == [
        (at(10), at(10)), (at(10), at(12)), (at(12), None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "broker", "membership"),
    [
        pytest.param(seen(0, 1, 2, 3), 1, Membership.LEADER, id="it leads"),
        pytest.param(seen(0, 1, 2, 3), 2, Membership.IN_SYNC, id="it follows"),
        pytest.param(seen(0, 1, 2), 3, Membership.OUT_OF_SYNC, id="it is behind"),
        pytest.param(seen(0, 1, elr=(3,)), 3, Membership.ELIGIBLE, id="it may still lead"),
        pytest.param(seen(0, 1, 2, observers=(3,)), 3, Membership.OBSERVER, id="it observes"),
        pytest.param(seen(0, 1, 3, observers=(3,)), 3, Membership.OBSERVER_IN_SYNC, id="promoted"),
        pytest.param(seen(0, 1, 2, adding=(3,)), 3, Membership.ADDING, id="it is being added"),
        pytest.param(seen(0, 1, 2, 3), 4, None, id="it has no replica"),
    ],
)
def test_what_a_broker_is_to_a_partition(moment, broker, membership):
    assert moment.membership(broker) is membership


def test_leaderless_time_is_cut_to_the_time_that_is_asked_for():
    spans = leader_spans([seen(0, 1), seen(10), seen(30, 1), seen(50)])
    assert leaderless(spans, at(20), at(60)) == timedelta(seconds=20)
    assert leaderless(spans, at(31), at(49)) == timedelta()


def test_time_of_which_nobody_knows_is_not_called_leaderless():
    spans = leader_spans([seen(0, 1), seen(10), seen(40, 1)])
    unknown = [(at(5), at(12)), (at(20), at(25)), (at(39), at(90))]
    assert leaderless(spans, at(0), at(100), unknown) == timedelta(seconds=22)
    assert leaderless(spans, at(22), at(30), unknown) == timedelta(seconds=5)


@pytest.mark.parametrize("spans_of", OF_ONE, ids=["severity", "leader", "1", "2", "3"])
@given(moments=histories())
def test_spans_partition_the_time(spans_of, moments):
    spans = spans_of(moments)
    assert (spans[0].start, spans[-1].end) == (moments[0].at, None)
    assert all(a.end == b.start and a.value != b.value for a, b in pairwise(spans))
    assert all(span.end is None or span.start <= span.end for span in spans)


@given(moments=histories(), every=st.integers(1, 50))
def test_polling_a_followed_history_tells_the_same_at_the_polled_moments(moments, every):
    """A poll sees the newest state: its spans hold at each poll what the full history holds."""
    followed = severity_spans(moments)
    times = [at(s) for s in range(0, 600, every)]
    polled, before = [], None
    for time in times:
        polled += [
            seen(
                (time - at(0)).total_seconds(), *one.isr, not_before=before,
                min_insync_replicas=one.min_insync_replicas, observers=one.observers,
            )
            for one in [one for one in moments if one.at <= time][-1:]
        ]  # fmt: skip
        before = time
    told = severity_spans(polled)
    assert [value_at(told, time) for time in times] == [value_at(followed, time) for time in times]
    # Each change really happened after the poll before, and not later than it was seen.
    for span in told[1:]:
        assert any(span.first.not_before < one.at <= span.start for one in moments)

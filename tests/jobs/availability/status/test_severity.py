"""The ladder of partition states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.status.severity import (
    Counted,
    Moves,
    Severity,
    judge_partition,
    partition_severity,
)


@pytest.mark.parametrize(
    ("leader", "replicas", "isr", "min_isr", "expected"),
    [
        pytest.param(1, 3, 3, 2, "ok", id="all in sync"),
        pytest.param(1, 3, 2, 1, "under_replicated", id="one lost, one to spare"),
        pytest.param(1, 3, 2, 2, "at_min_isr", id="one lost, none to spare"),
        pytest.param(1, 3, 1, 2, "under_min_isr", id="two lost"),
        pytest.param(None, 3, 1, 2, "offline", id="no leader"),
        pytest.param(None, 3, 3, 1, "offline", id="no leader although all are in sync"),
        pytest.param(1, 1, 1, 1, "ok", id="a single replica that is there"),
        pytest.param(1, 2, 2, 2, "ok", id="complete without one to spare"),
        pytest.param(1, 1, 1, 2, "ok", id="min ISR above the replicas asks for all of them"),
        pytest.param(1, 3, 2, None, "under_replicated", id="min ISR unknown, one lost"),
        pytest.param(1, 3, 1, None, "under_replicated", id="min ISR unknown, two lost"),
        pytest.param(1, 3, 3, None, "ok", id="min ISR unknown, all in sync"),
    ],
)
def test_severity(leader, replicas, isr, min_isr, expected):
    severity = partition_severity(
        leader=leader, replicas=replicas, isr=isr, min_insync_replicas=min_isr
    )
    assert severity.word == expected


def test_the_ladder_is_ordered_from_well_to_worst():
    words = [severity.word for severity in sorted(Severity)]
    assert words == ["ok", "under_replicated", "at_min_isr", "under_min_isr", "offline"]


@pytest.mark.parametrize(
    ("leader", "replicas", "isr", "least", "adding", "expected"),
    [
        pytest.param(1, (1, 2, 3), (1, 2, 3), 2, (), "", id="all in sync"),
        pytest.param(1, (1, 2, 3), (1, 2), 1, (), "under_replicated", id="one lost, one to spare"),
        pytest.param(1, (1, 2, 3), (1, 2), 2, (), "at_min_isr broker_at_min_isr under_replicated",
                     id="at min ISR is under-replicated, too"),
        pytest.param(1, (1, 2, 3), (1,), 2, (), "broker_under_min_isr under_min_isr under_replicated",
                     id="under min ISR is under-replicated, too"),
        pytest.param(None, (1, 2, 3), (3,), 2, (), "offline under_min_isr under_replicated",
                     id="without a leader all three"),
        pytest.param(1, (1,), (1,), 1, (), "at_min_isr broker_at_min_isr", id="complete, with one replica"),
        pytest.param(1, (1,), (1,), 2, (), "broker_at_min_isr under_min_isr",
                     id="one replica, min ISR 2: under it by the tool, at it by the broker"),
        pytest.param(1, (1, 2, 3), (1, 2), 4, (), "broker_under_min_isr under_min_isr under_replicated",
                     id="min ISR above the replicas, one of them lost"),
        pytest.param(1, (1, 2, 3), (1, 2), 3, (3,), "broker_under_min_isr under_min_isr",
                     id="brokers count the replica that is being added, too"),
        pytest.param(1, (1, 2, 3), (1, 2), None, (), "under_replicated", id="min ISR not known"),
        pytest.param(1, (1, 2, 3), (1, 2), 1, (3,), "", id="a reassignment adds the third"),
    ],
)  # fmt: skip
def test_counts_overlap_as_kafka_lists_them(leader, replicas, isr, least, adding, expected):
    found = judge_partition(
        leader=leader,
        replicas=replicas,
        isr=isr,
        min_insync_replicas=least,
        moves=Moves(adding),
        is_limited=True,
    )
    assert sorted(found.counted_as) == expected.split()


def test_kafka_counts_an_observer_outside_of_the_isr_as_a_missing_replica():
    found = judged((1, 2), 1, observers=(3, 4))
    assert (found.severity, list(found.counted_as)) == (Severity.OK, ["under_replicated"])


def judged(isr, least, **fields):
    values = {"leader": isr[0] if isr else None, "replicas": (1, 2, 3, 4)} | fields
    return judge_partition(isr=isr, min_insync_replicas=least, **values)


@pytest.mark.parametrize(
    ("isr", "least", "fields", "severity", "missing"),
    [
        pytest.param((1, 2), 2, {"observers": (3, 4)}, Severity.OK, (), id="observers stay outside"),
        pytest.param((1,), 1, {"observers": (3, 4)}, Severity.AT_MIN_ISR, (2,), id="a sync one lost"),
        pytest.param((1, 3), 2, {"observers": (3, 4)}, Severity.AT_MIN_ISR, (2,),
                     id="a promoted observer counts for min ISR, and the lost one is missing"),
        pytest.param((1, 3, 4), 2, {"observers": (3, 4)}, Severity.UNDER_REPLICATED, (2,),
                     id="two promoted observers give one to spare"),
        pytest.param((1, 2), 3, {"observers": (3, 4)}, Severity.UNDER_MIN_ISR, (),
                     id="min ISR over the sync replicas needs an observer"),
        pytest.param((1, 2, 3), 3, {"moves": Moves((4,))}, Severity.OK, (), id="what is being added"),
        pytest.param((), 2, {}, Severity.OFFLINE, (1, 2, 3, 4), id="no leader"),
        pytest.param((1, 2), None, {}, Severity.UNDER_REPLICATED, (3, 4), id="min ISR not known"),
    ],
)  # fmt: skip
def test_observers_and_replicas_being_added_are_never_missing(
    isr, least, fields, severity, missing
):
    found = judged(isr, least, **fields)
    assert (found.severity, found.missing) == (severity, missing)


@pytest.mark.parametrize(
    ("least", "is_apart"), [(None, False), (1, False), (3, False), (4, True)], ids=str
)
def test_fewer_replicas_than_min_isr_is_told_apart(least, is_apart):
    found = judged((1, 2, 3), least, replicas=(1, 2, 3))
    assert (found.severity, found.is_rf_below_min) == (Severity.OK, is_apart)


@pytest.mark.parametrize(
    ("isr", "least", "spare", "is_writable"),
    [((1, 2, 3, 4), 2, 2, True), ((1, 2), 2, 0, True), ((1,), 2, -1, False), ((), 2, -2, False)],
)
def test_the_spare_is_what_may_still_be_lost(isr, least, spare, is_writable):
    found = judged(isr, least)
    assert (found.spare, found.is_writable) == (spare, is_writable)


@given(
    isr=st.sets(st.integers(1, 5)),
    size=st.integers(1, 5),
    least=st.none() | st.integers(1, 6),
    is_led=st.booleans(),
)
def test_both_ways_to_judge_agree_where_there_are_no_observers(isr, size, least, is_led):
    replicas = tuple(range(1, size + 1))
    inside = tuple(one for one in replicas if one in isr)
    leader = inside[0] if inside and is_led else None
    found = judge_partition(leader=leader, replicas=replicas, isr=inside, min_insync_replicas=least)
    assert found.severity == partition_severity(
        leader=leader, replicas=size, isr=len(inside), min_insync_replicas=least
    )


@pytest.mark.parametrize(
    ("isr", "moves", "severity", "missing", "is_counted"),
    [
        pytest.param((1, 2, 3), Moves((4,), (3,)), "ok", (), False, id="the new one is on its way"),
        pytest.param((1, 2, 4), Moves((4,), (3,)), "ok", (), False, id="it makes up for the old one"),
        pytest.param((1, 2), Moves((4,), (3,)), "at_min_isr", (3,), True, id="the old one is lost before"),
        pytest.param((1, 3), Moves((4,), (3,)), "at_min_isr", (2,), True, id="one that stays is lost"),
        pytest.param((1, 4), Moves((4,), (3,)), "at_min_isr", (2,), True,
                     id="of two the one that stays is missing"),
        pytest.param((1, 2, 3), Moves(None), "ok", (), False, id="not known"),
        pytest.param((1,), Moves(None), "under_min_isr", (), False, id="min ISR is known all the same"),
    ],
)  # fmt: skip
def test_kafka_counts_against_the_replicas_before_a_reassignment(
    isr, moves, severity, missing, is_counted
):
    found = judged(isr, 2, moves=moves)
    assert (found.severity.word, found.missing) == (severity, missing)
    assert ("under_replicated" in found.counted_as) == is_counted
    assert found.is_unsure == (moves.adding is None and severity == "ok")


@pytest.mark.parametrize(
    ("is_limited", "isr", "told"),
    [
        pytest.param(True, (1, 2), ("ok", False, 0, True), id="Kafka 3.7 and later take writes"),
        pytest.param(False, (1, 2), ("under_min_isr", False, -1, False), id="Kafka before refuses them"),
        pytest.param(None, (1, 2), ("ok", True, None, False), id="not known which Kafka"),
        pytest.param(True, (1,), ("under_min_isr", False, -1, False), id="one is missing, since 3.7"),
        pytest.param(False, (1,), ("under_min_isr", False, -2, False), id="one is missing, before"),
        pytest.param(None, (1,), ("under_min_isr", False, None, False), id="one is missing, whichever"),
    ],
)  # fmt: skip
def test_more_min_isr_than_replicas_is_judged_by_what_leaders_ask_for(is_limited, isr, told):
    found = judge_partition(
        leader=1, replicas=(1, 2), isr=isr, min_insync_replicas=3, is_limited=is_limited
    )
    is_at = Counted.BROKER_AT_MIN_ISR in found.counted_as
    assert (found.severity.word, found.is_unsure, found.spare, is_at) == told
    assert found.is_rf_below_min


@pytest.mark.parametrize("is_limited", [True, False, None])
def test_the_release_makes_no_difference_where_there_are_enough_replicas(is_limited):
    found = judge_partition(
        leader=1, replicas=(1, 2), isr=(1, 2), min_insync_replicas=2, is_limited=is_limited
    )
    assert (found.severity.word, found.is_unsure, found.spare) == ("ok", False, 0)

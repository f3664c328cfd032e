"""Roll-ups add up, however partitions move."""

from hypothesis import given
from hypothesis import strategies as st

from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import COUNTED, WHOLE, Counts, Placed, ScopeKind, Tally
from tests.jobs.availability.status.moments import histories, seen

RACKS = {1: "dc-a", 2: "dc-a", 3: "dc-b"}


def placed(topic: str, moment) -> Placed:
    return Placed(topic, moment.replicas, moment.leader, moment.standing)


def test_a_partition_counts_once_for_cluster_and_topic_and_for_each_place_of_a_replica():
    tally = Tally(RACKS)
    tally.move(None, placed("orders", seen(0, 1)))
    counted = {"under_replicated": 1, "under_min_isr": 1, "state_under_min_isr": 1}
    counted["broker_under_min_isr"] = 1
    assert tally.counts[WHOLE] == Counts(partitions=1, out_of_sync=2, leaders=1, **counted)
    assert tally.counts[ScopeKind.TOPIC, "orders"] == tally.counts[WHOLE]
    assert tally.counts[ScopeKind.BROKER, "2"] == Counts(partitions=1, out_of_sync=1, **counted)
    assert tally.counts[ScopeKind.RACK, "dc-a"] == Counts(
        partitions=1, out_of_sync=1, leaders=1, **counted
    )


def test_brokers_without_a_rack_are_in_none():
    tally = Tally({})
    tally.move(None, placed("orders", seen(0, 1)))
    assert not [scope for scope in tally.counts if scope[0] is ScopeKind.RACK]


def test_the_worst_step_and_what_is_well():
    counts = Counts(partitions=9, under_replicated=3, state_under_replicated=2, offline=1)
    assert (counts.worst, counts.ok) == (Severity.OFFLINE, 6)
    assert Counts(partitions=3).worst is Severity.OK


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), histories(), min_size=1))
def test_roll_ups_add_up_after_any_history(partitions):
    tally, last = Tally(RACKS), {}
    for topic, moments in partitions.items():
        for moment in moments:
            now = placed(topic, moment)
            tally.move(last.get(topic), now)
            last[topic] = now
    fresh = Tally(RACKS)
    for now in last.values():
        fresh.move(None, now)
    assert tally.counts == fresh.counts
    whole = tally.counts[WHOLE]
    assert whole.ok == sum(one.standing.severity is Severity.OK for one in last.values())
    for name in COUNTED:
        of_topics = [
            getattr(counts, name) for (kind, _), counts in tally.counts.items() if kind == "topic"
        ]
        assert sum(of_topics) == getattr(whole, name)
    for kind in ("broker", "rack"):
        for name in ("out_of_sync", "leaders"):
            parts = [getattr(c, name) for (k, _), c in tally.counts.items() if k == kind]
            assert sum(parts) == getattr(whole, name)


@given(histories())
def test_a_partition_that_goes_leaves_nothing_behind(moments):
    tally, before = Tally(RACKS), None
    for moment in moments:
        now = placed("orders", moment)
        tally.move(before, now)
        before = now
    tally.move(before, None)
    assert set(map(repr, tally.counts.values())) == {repr(Counts())}

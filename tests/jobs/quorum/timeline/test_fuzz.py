"""Whatever a log has, its timeline is read to the end, and what it says holds together."""

import json

from hypothesis import given
from hypothesis import strategies as st

from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.rules import QuorumSnapshot, evaluate_quorum
from jobs.quorum.timeline.voter_timeline import read_voter_timeline
from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.metadata.log import Gap, LogRecord
from tests.jobs.quorum.voter_sets import Log, minus, plus, renewed, voters

TYPES = [
    "LEADER_CHANGE", "KRAFT_VERSION", "KRAFT_VOTERS", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER",
    "UNDECODABLE", "NO_OP_RECORD",
]  # fmt: skip
junk = st.recursive(
    st.none() | st.integers(-(1 << 40), 1 << 40) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
fields = st.dictionaries(
    st.sampled_from(
        [
            "voters",
            "kRaftVersion",
            "leaderId",
            "grantingVoters",
            "lastContainedLogTimestamp",
            "problem",
        ]
    ),
    junk | st.lists(st.fixed_dictionaries({"voterId": st.integers(0, 5)}), max_size=4),
)
records = st.builds(
    LogRecord,
    offset=st.integers(-1, 30),
    epoch=st.integers(0, 5),
    timestamp_ms=st.integers(-(1 << 62), 1 << 62),
    batch_offset=st.integers(-1, 30),
    position=st.integers(0, 100),
    is_control=st.booleans(),
    type=st.sampled_from(TYPES),
    version=st.integers(-1, 2),
    data=fields,
)
damages = st.builds(
    LogDamage,
    st.integers(0, 99),
    st.none() | st.integers(0, 99),
    st.just(DamageKind.WRONG_CRC),
    st.text(),
)
gaps = st.builds(Gap, st.integers(0, 30), st.integers(0, 30))


@given(st.lists(records | damages | gaps, max_size=30))
def test_no_record_ends_the_reading(items):
    timeline = read_voter_timeline(items)
    parts = (*timeline.entries, *timeline.elections, *timeline.epochs, *timeline.anomalies)
    json.dumps([part.to_mapping() for part in parts])
    evaluate_quorum(QuorumSnapshot(timeline=timeline), 0)
    assert all(start < end for start, end in timeline.unknown)


steps = st.lists(st.tuples(st.sampled_from("+-/"), st.integers(1, 7)), max_size=12)


@given(steps)
def test_single_steps_are_never_flagged_and_each_is_reported(steps):
    set_ = voters(1, 2, 3)
    log = Log(epoch=0).leader(1, [1, 2, 3]).kraft_version(1).voters(set_).together(3)
    told = []
    for what, id_ in steps:
        if what == "+" and set_.node(id_) is None:
            set_ = plus(set_, id_)
        elif what == "-" and set_.node(id_) is not None and len(set_) > 1:
            set_ = minus(set_, id_)
        else:
            continue
        told.append(set_)
        log.noop().voters(set_)
    timeline = read_voter_timeline(log)
    assert timeline.anomalies == ()
    assert [entry.voters for entry in timeline.entries[1:]] == told
    assert [entry.change.steps for entry in timeline.entries[1:]] == [1] * len(told)
    for entry in timeline.entries:
        assert timeline.voters_at(entry.offset) == entry.voters


@given(st.sets(st.integers(1, 7), min_size=2, max_size=5), st.data())
def test_every_change_of_more_than_one_is_found(ids, drawn):
    before = voters(*ids)
    two = drawn.draw(st.lists(st.sampled_from(sorted(ids)), min_size=2, max_size=2, unique=True))
    after = renewed(before, *two)
    log = Log(epoch=0).leader(min(ids), ids).kraft_version(1).voters(before).together(3)
    timeline = read_voter_timeline(log.noop().voters(after))
    now = log.at_ms
    codes = {one.code for one in evaluate_quorum(QuorumSnapshot(timeline=timeline), now).findings}
    assert codes == {QuorumCode.UNSAFE_CHANGE}
    assert not before.has_overlapping_majority(after)

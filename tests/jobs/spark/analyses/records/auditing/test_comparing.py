"""One partition compared in a task: what each level sees of the same difference."""

import json
from dataclasses import asdict, replace

import pytest

from jobs.spark.analyses.records.auditing.comparing import compare
from jobs.spark.analyses.records.auditing.judging import Edges
from jobs.spark.analyses.records.auditing.rows import answer_of
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.running import Reduced
from jobs.wire.batches.record_batch import Codec
from tests.jobs.spark.analyses.records.given_records import reader_of, record

HEADERS = ((b"h", b"1"), (b"empty", None))


def some(count, first=0):
    return [record(first + n, b"k%d" % n, b"v%d" % n, headers=HEADERS) for n in range(count)]


def answer(level, source, target, edges=None, may_replay=False, **changes):
    extra = {
        "topic": "orders", "partition": 0, "as_of_ms": 0, "of_flow": 1, "has_broker_times": False,
        "edges": asdict(edges or Edges()), "proof": None, **changes,
    }  # fmt: skip
    work = Work((source.span, target.span), extra)
    tables = compare([source, target], work, {"level": level})
    reduced = Reduced(work, tables, (source.outcome, target.outcome))
    json.dumps(work.to_mapping())
    return answer_of(reduced, level, may_replay=may_replay)


def readers(level, source, target, **fields):
    given = {"only_headers": level == "L0"}
    return reader_of(*source, **given), reader_of(*target, fields=fields, **given)


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_whole_batches_that_were_passed_are_equal(level):
    batches = [some(5), some(5, 5)]
    found = answer(level, *readers(level, batches, batches))
    assert (found.row["verdict"], found.row["compared"], found.findings) == ("equal", 10, [])


@pytest.mark.parametrize(
    ("level", "wanted"), [("L0", "unknown"), ("L1", "equal"), ("L2", "equal"), ("L3", "equal")]
)
def test_records_that_were_packed_again_are_equal_but_by_their_batches(level, wanted):
    moved = [record(40 + n.offset, n.key, n.value, n.timestamp, headers=HEADERS) for n in some(9)]
    source, target = [some(9)[:4], some(9)[4:]], [moved[:2], moved[2:]]
    found = answer(level, *readers(level, source, target, codec=Codec.LZ4))
    assert found.row["verdict"] == wanted


@pytest.mark.parametrize("level", ["L2", "L3"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"value": b"other"}, id="value"),
        pytest.param({"timestamp": 7}, id="time"),
        pytest.param({"headers": ((b"h", b"2"),)}, id="headers"),
        pytest.param({"value": None}, id="null for a value"),
    ],
)
def test_a_record_that_was_altered_is_found(level, change):
    target = [replace(one, **change) if one.offset == 3 else one for one in some(9)]
    found = answer(level, *readers(level, [some(9)], [target]))
    assert found.row["verdict"] == "differs"
    (one,) = found.findings
    assert (one["what"], one["source_offset"], one["target_offset"]) == ("altered", 3, 3)


def test_times_that_the_targets_broker_set_are_no_difference():
    target = [replace(one, timestamp=5) for one in some(9)]
    source, _ = readers("L2", [some(9)], [target])
    found = answer("L2", source, reader_of(target), has_broker_times=True)
    assert found.row["verdict"] == "equal"


def test_an_hour_that_differs_is_counted_but_not_the_last_one_that_may_be_half_copied():
    hour = 3_600_000
    given = [record(n, b"k", b"v%d" % n, n * hour // 3) for n in range(12)]
    target = [one for one in given[:11] if one.offset != 4]
    found = answer("L1", *readers("L1", [given], [target]))
    assert (found.row["verdict"], found.row["missing"]) == ("differs", 1)
    (one,) = found.findings
    assert (one["source_offset"], one["source_to"]) == (3, 6)


@pytest.mark.parametrize(("may_replay", "wanted"), [(False, "differs"), (True, "equal")])
def test_what_was_copied_twice_is_a_replay_of_a_flow_that_may_replay(may_replay, wanted):
    given = some(9)
    twice = [replace(one, offset=one.offset + 5) for one in given[4:]]
    found = answer("L2", *readers("L2", [given], [given, [*twice]]), may_replay=may_replay)
    assert found.row["duplicated"] == 5
    assert found.row["verdict"] == wanted


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_a_first_record_that_was_lost_is_missing(level):
    given = [record(n, b"k", b"v%d" % n, n * 1_200_000) for n in range(12)]
    found = answer(level, *readers(level, [given], [given[1:]]))
    assert (found.row["verdict"], found.row["missing"]) == ("differs", 1)


def test_an_empty_target_leaves_the_verdict_open():
    found = answer("L2", *readers("L2", [some(9)], []))
    assert (found.row["verdict"], found.row["not_copied_yet"]) == ("unknown", 9)
    assert found.row["reason"] == "Nothing was copied: the target is empty."


def test_more_first_records_than_the_target_deleted_leave_the_verdict_open():
    moved = [replace(one, offset=one.offset - 2) for one in some(9)[4:]]
    found = answer("L2", *readers("L2", [some(9)], [moved]), edges=Edges(removed=(0, 2)))
    assert (found.row["verdict"], found.row["deleted_on_target"]) == ("unknown", 4)


@pytest.mark.parametrize(
    ("transactions", "is_watched", "wanted", "aborted"),
    [
        pytest.param({"aborted": [(3, 4)]}, True, "equal", 2, id="aborted"),
        pytest.param({"aborted": [(3, 3)]}, True, "differs", 1, id="only one is of an aborted one"),
        pytest.param({"undecided": {7: [(3, 4)]}}, True, "unknown", 0, id="its end was not read"),
        pytest.param({"aborted": [(3, 4)]}, False, "differs", 0, id="crosslog copies"),
    ],
)
def test_only_mirror_maker_may_leave_out_aborted_records(transactions, is_watched, wanted, aborted):
    given = some(9)
    source, target = readers("L2", [given], [given[:3] + given[5:]])
    for name, ranges in transactions.items():
        setattr(source, name, ranges)
    found = answer("L2", source, target, Edges(is_watched=is_watched))
    assert (found.row["verdict"], found.row["aborted"]) == (wanted, aborted)


def test_hours_leave_the_verdict_of_mirror_maker_open_where_transactions_were_aborted():
    given = [record(n, b"k", b"v%d" % n, n * 1_200_000) for n in range(12)]
    source, target = readers("L1", [given], [[one for one in given if one.offset != 4]])
    source.aborted = [(4, 4)]
    found = answer("L1", source, target, Edges(is_watched=True))
    assert (found.row["verdict"], found.row["missing"]) == ("unknown", 0)


def test_replays_leave_the_verdict_of_hours_open():
    given = [record(n, b"k", b"v%d" % n, n * 1_200_000) for n in range(12)]
    twice = [replace(one, offset=n) for n, one in enumerate([*given[:5], *given[4:]])]
    found = answer("L1", *readers("L1", [given], [twice]), may_replay=True)
    assert found.row["verdict"] == "unknown"


def test_a_batch_that_cannot_be_read_leaves_the_verdict_open():
    source, target = readers("L2", [some(9)], [some(5)])
    target.outcome.unreadable_count, target.outcome.unreadable = 1, [(5, "is damaged")]
    found = answer("L2", source, target)
    assert (found.row["verdict"], found.row["missing"], found.proof) == ("unknown", 0, None)
    assert "cannot be read, at offset 5" in found.row["reason"]


def test_what_was_proven_counts_and_the_next_audit_begins_behind_the_last_match():
    found = answer("L2", *readers("L2", [some(9)], [some(6)]))
    assert (found.proof.next, found.proof.compared, found.proof.counts) == ((6, 6), 6, {})
    source, target = readers("L2", [some(9, 6)], [some(9, 6)])
    again = answer(
        "L2",
        source,
        target,
        Edges(is_proven=True),
        proof=json.loads(json.dumps(asdict(found.proof))),
    )
    assert (again.row["compared"], again.proven_before, again.proof.next) == (15, 6, (15, 15))


def test_a_difference_that_was_found_once_remains_one():
    target = [one for one in some(9) if one.offset != 3]
    found = answer("L2", *readers("L2", [some(9)], [target]))
    source, target = readers("L2", [some(2, 9)], [some(2, 9)])
    again = answer("L2", source, target, Edges(is_proven=True), proof=asdict(found.proof))
    assert (again.row["verdict"], again.row["missing"]) == ("differs", 1)
    assert again.findings == found.findings

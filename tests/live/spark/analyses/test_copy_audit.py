"""Copies with planted faults on real clusters: each is found by its kind and its offsets."""

import time
import uuid

import pytest
from confluent_kafka import Producer

from jobs.replication.flow.spec import CopiedBy, SyncsLocation
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.records import copy_audit
from jobs.spark.analyses.task import AnalysisTask
from tests.live.copiers import BatchCopying, flow_between
from tests.live.records import Record, produce, read_all, write
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import delete_before, delete_topic, make_topic, new_topic

pytestmark = pytest.mark.timeout(600)
NOW_MS = 1_790_000_000_000


@pytest.fixture
def audit(spark, tmp_path):
    """Audit a flow, or a topic and its copy; what was proven is kept between audits of a test."""

    def ask(*, flow=None, pair=None, **arguments):
        resources, given = {}, dict(arguments)
        if flow is not None:
            resources["flow"] = {"flow": flow.to_mapping(), "archive": None}
            given["flow"] = flow.name
        else:
            for name, (cluster, topic) in zip(("source", "target"), pair, strict=True):
                resources[name] = {"connection": cluster.connection.to_mapping()}
                given |= {name: cluster.connection.alias, f"{name}_topic": topic}
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        task = AnalysisTask(spark, folder, folder / "tables", tmp_path / "histories", resources)
        checked = checked_arguments(copy_audit.ANALYSIS, given)
        answer = copy_audit.run(task, checked)
        document_of(copy_audit.ANALYSIS, checked, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in copy_audit.ANALYSIS.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


def record(n, value=None, key=None):
    content = b"v%d" % n if value is None else value
    return Record(0, key or b"k%d" % n, content, None, NOW_MS + n)


def findings(found):
    return {(one["what"], one["source_offset"], one["target_offset"]) for one in found["findings"]}


def pair_of(east, west, originals, copies, **configs):
    source, target = new_topic(east, **configs), new_topic(west, **configs)
    write(east, source, originals)
    write(west, target, copies)
    return (east, source), (west, target)


def test_each_planted_fault_is_found_and_the_next_audit_reads_only_what_is_new(east, west, audit):
    originals = [record(n) for n in range(100)]
    copies = [
        *originals[:30],
        record(30, b"altered"),
        *originals[31:40],
        originals[39],
        *originals[40:50],
        originals[51],
        originals[50],
        *originals[52:60],
        *originals[61:90],
    ]
    pair = pair_of(east, west, originals, copies)
    delete_before(west, pair[1][1], 0, 3)
    found = audit(pair=pair)
    facts = found.facts
    assert facts["verdict"] == "differs"
    counted = ("missing", "extra", "duplicated", "reordered", "altered", "deleted_on_target")
    assert [facts[name] for name in counted] == [1, 0, 1, 1, 1, 3]
    assert facts["not_copied_yet"] == 10
    moved = {one for one in findings(found) if one[0] == "reordered"}
    assert moved <= {("reordered", 50, 52), ("reordered", 51, 51)}
    assert findings(found) - moved == {
        ("altered", 30, 30), ("duplicated", 39, 40), ("missing", 60, None), ("deleted_on_target", 0, None),
    }  # fmt: skip

    write(west, pair[1][1], originals[90:])
    again = audit(pair=pair)
    assert again.facts["proven_before"] == facts["records_compared"]
    assert again.facts["records_compared"] == facts["records_compared"] + 10
    assert findings(again) == findings(found)
    assert audit(pair=pair, again="yes").facts["proven_before"] == 0


def test_a_real_flow_over_aborted_transactions_is_equal_record_by_record(east, west, audit):
    topic = new_topic(east)
    flow = flow_between(east, west, topic, offset_syncs=SyncsLocation.NONE)
    produce(east, topic, 50)
    transaction(east, topic, 5, is_aborted=True)
    transaction(east, topic, 7, is_aborted=False)
    with BatchCopying(flow) as copying:
        copying.wait_for_position(50 + 6 + 8)
    for level in ("L1", "L2", "L3"):
        facts = audit(flow=flow, level=level).facts
        assert (facts["verdict"], facts["records_compared"]) == ("equal", 57), level
        assert (facts["topics"], facts["partitions_unknown"]) == (1, 0)


def test_whole_batches_that_a_real_flow_passed_are_equal_by_their_headers(east, west, audit):
    topic = new_topic(east)
    flow = flow_between(east, west, topic, offset_syncs=SyncsLocation.NONE)
    # Each batch is large enough to be passed as it is.
    write(east, topic, [record(n, b"%d" % n * 40_000) for n in range(9)])
    with BatchCopying(flow) as copying:
        copying.wait_for_position(9)
    facts = audit(flow=flow, level="L0").facts
    assert (facts["verdict"], facts["records_compared"]) == ("equal", 9)


def transaction(cluster, topic, count, *, is_aborted):
    producer = Producer(
        {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": uuid.uuid4().hex}
    )
    producer.init_transactions()
    producer.begin_transaction()
    for n in range(count):
        producer.produce(topic, f"tx-{n}", partition=0)
    producer.flush()
    (producer.abort_transaction if is_aborted else producer.commit_transaction)()


def test_aborted_records_that_were_copied_are_extra_but_not_of_a_watched_flow(east, west, audit):
    topic = new_topic(east)
    flow = flow_between(east, west, topic, copied_by=CopiedBy.MIRROR_MAKER)
    write(east, topic, [record(0), record(1)])
    transaction(east, topic, 1, is_aborted=True)
    write(east, topic, [record(3)])
    make_topic(west, f"east.{topic}")
    write(west, f"east.{topic}", read_all(east, topic, isolation="read_uncommitted"))
    assert audit(flow=flow).facts["verdict"] == "equal"
    found = audit(pair=((east, topic), (west, f"east.{topic}")))
    assert (found.facts["verdict"], findings(found)) == ("differs", {("extra", None, 2)})


def test_aborted_records_that_a_watched_flow_left_out_are_no_difference(east, west, audit):
    topic = new_topic(east)
    flow = flow_between(east, west, topic, copied_by=CopiedBy.MIRROR_MAKER)
    write(east, topic, [record(0), record(1)])
    transaction(east, topic, 2, is_aborted=True)
    write(east, topic, [record(3)])
    make_topic(west, f"east.{topic}")
    write(west, f"east.{topic}", read_all(east, topic))
    facts = audit(flow=flow).facts
    assert (facts["verdict"], facts["records_compared"], facts["aborted"]) == ("equal", 3, 2)


def test_a_first_record_that_was_lost_is_missing(east, west, audit):
    originals = [record(n) for n in range(5)]
    found = audit(pair=pair_of(east, west, originals, originals[2:]))
    assert (found.facts["verdict"], findings(found)) == ("differs", {("missing", 0, None)})
    found = audit(pair=pair_of(east, west, originals, []))
    assert (found.facts["verdict"], found.facts["not_copied_yet"]) == ("unknown", 5)


def test_a_tombstone_that_was_compacted_with_its_values_is_no_difference(east, west, audit):
    originals = [record(0, key=b"a"), record(1), record(2, key=b"a"), record(3)]
    originals[2] = originals[2]._replace(value=None)
    copies = [originals[1], originals[3]]
    pair = pair_of(east, west, originals, copies, cleanup_policy="compact")
    facts = audit(pair=pair).facts
    assert (facts["verdict"], facts["superseded"]) == ("equal", 2)
    left = pair_of(east, west, originals, [originals[0], *copies], cleanup_policy="compact")
    found = audit(pair=left)
    assert findings(found) == {("missing", 2, None)}


def test_a_topic_that_was_created_again_is_read_from_its_beginning(east, west, audit):
    originals = [record(n) for n in range(10)]
    pair = pair_of(east, west, originals, originals)
    assert audit(pair=pair).facts["verdict"] == "equal"
    target = pair[1][1]
    delete_topic(west, target)
    make_topic(west, target)
    write(west, target, originals[:4])
    found = audit(pair=pair)
    assert (found.facts["records_compared"], found.facts["not_copied_yet"]) == (4, 6)
    assert any("of the target was re-created" in note for note in found.notes)
    delete_topic(west, target)
    found = audit(pair=pair)
    assert (found.facts["verdict"], found["partitions"][0]["verdict"]) == ("unknown", "unknown")
    assert f"The target has no topic {target}." in found["partitions"][0]["reason"]


def test_partitions_that_only_one_side_has_are_unknown(east, west, audit):
    source, target = new_topic(east, 2), new_topic(west, 1)
    write(east, source, [record(0)])
    write(west, target, [record(0)])
    found = audit(pair=((east, source), (west, target)))
    assert (found.facts["verdict"], found.facts["partitions_unknown"]) == ("unknown", 1)
    assert "The target does not have this partition." in found["partitions"][0]["reason"]

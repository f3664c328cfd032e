"""Offset translation on Spark: lists with good and bad rows, and clusters that do not answer."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jobs.replication.offset_syncs.archive_manifest import Gap, GapKind
from jobs.spark.contract import Outcome
from tests.jobs.spark.analyses.offsets.archives import flow, make_archive
from tests.live.spark.analyses.asking_offsets import found_by, result_of

SYNCS = {("orders", 0): [(100, 90), (200, 180)], ("orders", 1): [(0, 0), (1_000, 900)]}
LIST = "topic,partition,offset\norders,0,100\norders,0,-1\norders,0,x\nother,0,7\norders,1,1000\n"


@pytest.fixture
def told(tmp_path):
    """What a flow whose clusters do not answer stands for, and a list."""
    gap = Gap(GapKind.LOST, 3, 9, 0, 1_780_000_000_000, "Kafka deleted them.")
    folder = make_archive(tmp_path / "archive", SYNCS, gap)
    (tmp_path / "list").write_text(LIST)
    return {
        "flow": {"flow": flow().to_mapping(), "archive": str(folder)},
        "offsets": {"path": str(tmp_path / "list")},
    }


def test_a_list_is_answered_in_its_order_and_each_bad_row_is_named(spark, tmp_path, told):
    found = found_by(spark, "translate", tmp_path, told)
    assert [(row["line"], row["to_topic"], row["lo"], row["hi"]) for row in found["answers"]] == [
        (2, "east.orders", 90, 90),
        (5, "east.other", None, None),
        (6, "east.orders", 900, 900),
    ]
    assert [(row["line"], row["text"]) for row in found["refused"]] == [
        (3, "orders,0,-1"),
        (4, "orders,0,x"),
    ]
    assert found.facts == {
        "questions": 3,
        "answered": 2,
        "exact": 2,
        "exact_share": 1.0,
        "unknown_partitions": 1,
        "not_there": 0,
        "refused": 2,
        "known_until": "2026-09-21T14:13:20.000Z",
        "syncs": 4,
        "gaps": 1,
    }
    gap, ends = found.notes
    assert "from offset 3 to offset 9 of mm2-offset-syncs" in gap
    assert "beyond the end of their log was not checked: east: " in ends


def test_groups_of_a_cluster_that_does_not_answer_end_it_and_leave_nothing(spark, tmp_path, told):
    del told["offsets"]
    result = result_of(spark, "translate", tmp_path, told)
    assert result.outcome is Outcome.FAILED
    assert result.error.startswith("east: ")
    assert not list(tmp_path.glob("tables*"))


def test_of_a_list_nothing_is_left_when_the_clusters_with_the_records_are_away(
    spark, tmp_path, told
):
    (tmp_path / "list").write_text("orders,0,150\norders,1,500\n")
    result = result_of(spark, "refine", tmp_path, told)
    assert result.outcome is Outcome.FAILED
    assert result.error.startswith("east: ")
    assert not list(tmp_path.glob("tables*"))


def test_a_file_that_is_no_list_is_told_at_its_argument(spark, tmp_path, told):
    pq.write_table(pa.table({"topic": ["orders"], "partition": [0]}), tmp_path / "list")
    result = result_of(spark, "translate", tmp_path, told)
    assert result.outcome is Outcome.FAILED
    assert result.error.startswith("offsets: It has no column offset")


def test_parts_are_answered_by_tasks_of_their_own_and_stand_in_the_order_of_the_file(
    spark, tmp_path, told
):
    offsets = np.arange(1_700_000) % 1_001
    table = pa.table({"topic": ["orders"] * len(offsets), "partition": offsets * 0 + 1})
    pq.write_table(
        table.append_column("offset", pa.array(offsets)), tmp_path / "list", row_group_size=60_000
    )
    result = result_of(spark, "translate", tmp_path, told)
    assert not result.error
    written = sorted((tmp_path / "tables" / "answers").glob("*"))
    assert len(written) == 3
    found = pa.concat_tables(pq.read_table(one) for one in written)
    assert found["line"].equals(pa.chunked_array([range(1, 1_700_001)], pa.int64()))
    assert found["offset"].equals(pa.chunked_array([offsets]))
    assert result.summary["facts"]["answered"] == 1_700_000

"""A topic with tiered storage on a real broker, beside one without, and the groups that read them."""

import time

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import document_of
from jobs.spark.analyses.task import AnalysisTask
from jobs.spark.analyses.tracing import tiered_reach
from tests.live.groups import commit
from tests.live.records import Record, write
from tests.live.spark.analyses.conftest import Found, read
from tests.live.topics import new_topic
from tests.waiting import eventually

MIB = 1 << 20
RECORDS = 6_000


@pytest.fixture
def reach(tmp_path):
    """Ask about topics of a cluster; Spark takes no part in it."""

    def ask(cluster, topics):
        folder = tmp_path / f"{time.monotonic_ns()}"
        folder.mkdir()
        resources = {"cluster": {"connection": cluster.connection.to_mapping()}}
        task = AnalysisTask(None, folder, folder / "tables", folder / "histories", resources)
        kind = tiered_reach.ANALYSIS
        checked = checked_arguments(kind, {"cluster": "tier", "topics": topics})
        answer = tiered_reach.run(task, checked)
        document_of(kind, checked, answer, task.tables, 0.0)
        tables = {table.name: read(table, task) for table in kind.tables}
        return Found(dict(answer.facts), answer.notes, tables)

    return ask


def written(cluster, **settings):
    """Return a topic with records of 1,000 bytes; its segments have 1 MiB."""
    topic = new_topic(cluster, segment_bytes=str(MIB), **settings)
    write(cluster, topic, [Record(0, None, b"v" * 1_000) for _ in range(RECORDS)])
    return topic


def test_what_is_remote_and_who_reads_it_is_found(small_lab, reach):
    cluster = small_lab("tier", tiered=True).cluster("tier")
    tiered = written(cluster, remote_storage_enable="true", local_retention_bytes=str(2 * MIB))
    plain = written(cluster)
    place = TopicPartition(tiered, 0)
    commit(cluster, "cold", {place: 100})
    commit(cluster, "at-the-tail", {place: RECORDS})
    commit(cluster, "far-behind", {TopicPartition(plain, 0): 10})

    def moved():
        found = reach(cluster, f"{tiered},{plain}")
        row = {one["topic"]: one for one in found["partitions"]}[tiered]
        # Three segments of about 1,016 records are more than 2 MiB, so the older ones are deleted.
        is_done = (row["local_start"] or 0) >= RECORDS - 4 * 1_040
        return found if is_done else None

    found = eventually(moved, 60, every=0.5)
    rows = {one["topic"]: one for one in found["partitions"]}
    row = rows[tiered]
    assert (row["log_start"], row["end"]) == (0, RECORDS)
    assert row["local_start"] <= row["highest_tiered"] + 1 < RECORDS
    assert row["copy_lag"] == RECORDS - row["highest_tiered"] - 1
    assert row["first_ms"] is not None
    per_record = row["local_bytes"] / (RECORDS - row["local_start"])
    assert 1_000 < per_record < 1_100
    assert row["replay_bytes"] == round(per_record * row["local_start"])
    assert (rows[plain]["tiered"], rows[plain]["remote_bytes"], rows[plain]["local_start"]) == (
        "no", 0, 0,
    )  # fmt: skip
    readers = {one["group"]: (one["reads"], one["topic"]) for one in found["readers"]}
    assert readers == {"cold": ("remote", tiered), "far-behind": ("far_behind", plain)}
    assert (found.facts["readers_tail"], found.facts["topics_tiered"]) == (1, 1)

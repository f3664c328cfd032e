"""What is printed for Kafka's own tool is what Kafka's own tool does."""

import shlex
from pathlib import Path

import pytest

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.failover.commands import apply_commands, planned_undo, undo_commands
from jobs.replication.failover.model import GroupPlan, PlanItem
from tests.live.groups import committed, consume, new_group
from tests.live.records import produce
from tests.live.topics import new_topic

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.fixture
def run(kafka, tmp_path):
    """Run a printed line in a folder that holds its file; return what it says."""
    quiet = tmp_path / "log4j2.properties"
    quiet.write_text("rootLogger.level = off\n")

    def run(line: str) -> str:
        words = [str(_file(tmp_path, word)) for word in shlex.split(line)[1:]]
        # Five seconds, its default, are short for a JVM that has just started on a busy machine.
        tool = kafka.start_tool(TOOL, [*words, "--timeout", "60000"], logging=quiet)
        said = tool.communicate(timeout=180)[0]
        assert tool.returncode == 0, said
        return said

    return run


def _file(folder: Path, word: str) -> Path | str:
    return folder / word if word.endswith(".csv") else word


def group_plan(group: str, topic: str, targets: dict[int, int], before: dict[int, int | None]):
    items = tuple(
        PlanItem(
            TopicPartition("t", p),
            0,
            TopicPartition(topic, p),
            "forward",
            target=to,
            before=before[p],
        )
        for p, to in targets.items()
    )
    return GroupPlan(group, items=items)


@pytest.mark.parametrize("count", [1, 2], ids=["one group", "two groups"])
def test_the_printed_commands_apply_and_undo(west, run, tmp_path, count):
    topic = new_topic(west, 2)
    produce(west, topic, 50, 0), produce(west, topic, 50, 1)
    groups = [new_group() for _ in range(count)]
    consume(west, groups[0], topic, 100)
    there = {0: 50, 1: 50}
    plans = [
        group_plan(name, topic, {0: 7, 1: 9}, there if name == groups[0] else {0: None, 1: None})
        for name in groups
    ]
    kept = planned_undo(plans)
    assert kept[groups[0]][TopicPartition(topic, 0)] == CommittedOffset(50)
    applied = apply_commands(west.bootstrap_servers, plans)
    (tmp_path / applied.file_name).write_text(applied.csv)
    run(applied.lines[0])
    assert committed(west, groups[0]) == {f"{topic}-0": 50, f"{topic}-1": 50}
    run(applied.lines[1])
    assert all(committed(west, name) == {f"{topic}-0": 7, f"{topic}-1": 9} for name in groups)
    undone = undo_commands(west.bootstrap_servers, kept)
    (tmp_path / undone.file_name).write_text(undone.csv)
    for line in undone.lines:
        run(line)
    wanted = [{f"{topic}-0": 50, f"{topic}-1": 50}, {}]
    assert [committed(west, name) for name in groups] == wanted[:count]

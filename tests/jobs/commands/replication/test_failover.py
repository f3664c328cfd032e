import json
from dataclasses import replace

import pytest

from jobs.cli import main
from jobs.cluster.descriptions import CommittedOffset
from jobs.commands.replication import failover_text as words
from jobs.commands.replication.failover_file import BadUndoFile, UndoFile
from jobs.replication.failover.applying import apply_group
from jobs.replication.failover.session import left_out
from tests.jobs.replication.failover.making import (
    GROUP,
    REMOTE,
    PaperDoor,
    failover_evidence,
    flow,
    plan_of,
)


@pytest.fixture
def flow_file(tmp_path):
    path = tmp_path / "flow.yaml"
    path.write_text(json.dumps(flow().to_mapping()))
    return path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param([], "group: Name at least one group", id="no group"),
        pytest.param(
            ["--group", "a", "--reverse-flow", "{flow}"], "A flow from west to east is required",
            id="the same flow as its own reverse",
        ),
        pytest.param(["--undo", "{flow}"], "not written by --apply", id="another file to undo"),
        pytest.param(["--undo", "/nowhere"], "No such file", id="no file to undo"),
    ],
)  # fmt: skip
def test_bad_input_is_said_before_any_cluster_is_asked(flow_file, capsys, arguments, says):
    told = [one.format(flow=flow_file) for one in arguments]
    assert main(["failover", str(flow_file), *told]) == 2
    assert says in capsys.readouterr().err


def test_a_plan_in_words_says_where_groups_resume_and_how_by_kafkas_tool():
    text = "\n".join(words.plan(plan_of(), "west.example:9092", is_dry=True))
    assert (
        "orders-0 at 150 -> east.orders-0: no commit -> 41 (41 to 140; at most 99 reprocessed)"
        in text
    )
    assert "Nothing was changed." in text
    assert "--from-file apply.csv --execute" in text


def test_what_blocks_is_in_the_words_with_what_to_do():
    text = "\n".join(
        words.plan(plan_of(failover_evidence(west={"topics": {}})), "w:1", is_dry=True)
    )
    assert "FAILED  east.orders is not on west." in text
    assert "-> Start the flow" in text


def test_a_plan_without_groups_says_so():
    text = "\n".join(words.plan(plan_of(failover_evidence(committed=None)), "w:1", is_dry=True))
    assert "No group with a committed offset" in text


def test_previous_offsets_are_on_the_disk_before_anything_is_set(tmp_path):
    path, plan = tmp_path / "before.json", plan_of(failover_evidence(before=7))
    saved = UndoFile(plan, "west", {}, {})
    there = []

    class Watching(PaperDoor):
        def alter(self, group, offsets):
            there.append(path.exists())
            return super().alter(group, offsets)

    apply_group(Watching({REMOTE: 7}), plan.group(GROUP), None, saved.storing(path, plan.groups[0]))
    found = UndoFile.read(path)
    assert there == [True]
    assert found.before == {GROUP: {REMOTE: CommittedOffset(7)}}
    assert found.written == {GROUP: {REMOTE: CommittedOffset(41)}}
    assert found.plan == replace(plan)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', "\x00"])
def test_a_file_that_apply_did_not_write_is_refused(tmp_path, text):
    path = tmp_path / "before.json"
    path.write_text(text)
    with pytest.raises(BadUndoFile):
        UndoFile.read(path)


def test_groups_that_were_left_out_are_in_the_words_with_why():
    told = list(words.outcomes([], left_out(plan_of(failover_evidence(west={"topics": {}})))))
    assert told == ["billing: left out. east.orders is not on west."]

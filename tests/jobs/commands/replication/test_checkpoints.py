"""`crosslog checkpoints`: what it prints, and what its exit code says."""

import pytest

from jobs.cli import main
from jobs.cluster.connection import Connection
from jobs.commands.replication.checkpoints import exit_code, lines
from jobs.replication.checkpoints.group_sync import GroupSyncReport
from jobs.replication.checkpoints.rounds import CheckpointReport
from jobs.replication.flow.spec import FlowSpec

FLOW = FlowSpec("east to west", *(Connection(alias, "127.0.0.1:1") for alias in ("east", "west")))
YAML = """
name: east to west
source: {alias: east, bootstrap_servers: "127.0.0.1:1"}
target: {alias: west, bootstrap_servers: "127.0.0.1:1"}
"""


def said(**values) -> str:
    return "\n".join(lines(CheckpointReport(**values), FLOW))


def test_a_round_is_told_in_a_line_with_what_has_no_checkpoint():
    text = said(at_ms=1, groups=3, told=7, exact=6, written=2, without={"no_sync": 4})
    assert "3 groups, 7 current checkpoints, 6 of them exact; 2 written" in text
    assert "without a checkpoint: 4 (no_sync)" in text


def test_wrong_checkpoints_that_were_replaced_are_told():
    assert "783 wrong checkpoints of other writers were replaced" in said(at_ms=1, corrected=783)
    assert "wrong" not in said(at_ms=1)


def test_groups_that_were_set_are_told_with_what_went_wrong():
    sync = GroupSyncReport(
        3, 1, 5, 0, {"billing": "It has members."}, {"stock": "Group stock is ahead."}
    )
    text = said(at_ms=1, synced_at_ms=1, sync=sync)
    for words in ("5 offsets written, 1 active groups", "billing: It has members.", "Group stock"):
        assert words in text


def test_a_round_that_failed_says_why_and_nothing_else():
    assert said(fault="west: No broker answers.") == "east to west: west: No broker answers."


@pytest.mark.parametrize(
    ("values", "code"),
    [
        pytest.param({}, 0, id="well"),
        pytest.param(
            {"without": {"no_sync": 4}, "stale_groups": 2}, 0, id="nothing to tell of some"
        ),
        pytest.param({"fault": "no"}, 1, id="a round that failed"),
        pytest.param({"errors": {"g": "no"}}, 1, id="a group that could not be read"),
        pytest.param({"sync": GroupSyncReport(errors={"g": "no"})}, 1, id="a group not set"),
        pytest.param(
            {"sync": GroupSyncReport(ahead={"g": "Group g is ahead."})},
            1,
            id="a group that is ahead",
        ),
    ],
)
def test_the_exit_code_says_whether_everything_could_be_told(values, code):
    assert exit_code(CheckpointReport(**values)) == code


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        pytest.param("emit_checkpoints_interval_s: 0", "emit_checkpoints_interval_s", id="never"),
        pytest.param("offset_syncs: none", "offset_syncs", id="no offset syncs"),
        pytest.param("sync_group_offsets: 7", "sync_group_offsets", id="a bad value"),
    ],
)
def test_a_flow_that_has_no_checkpoints_is_bad_input_at_its_field(tmp_path, capsys, setting, field):
    path = tmp_path / "flow.yaml"
    path.write_text(f"{YAML}{setting}\n", encoding="utf-8")
    assert main(["checkpoints", str(path), "--once"]) == 2
    assert field in capsys.readouterr().err


def test_clusters_that_do_not_answer_are_a_finding_with_what_to_do(tmp_path, capsys):
    path = tmp_path / "flow.yaml"
    path.write_text(YAML, encoding="utf-8")
    assert main(["checkpoints", str(path), "--once"]) == 1
    assert "firewall" in capsys.readouterr().out

"""`crosslog standby` without a cluster: bad input, the stop switch, plans and outcomes as text."""

import json

import pytest

from jobs.availability.acting.plans import Outcome, Plan, PlannedRequest
from jobs.availability.acting.standby.folder_store import FolderStore
from jobs.availability.acting.standby.promotions import HeldPromotion
from jobs.availability.promotion.actors.catalogue import ActorKind
from jobs.cli import main
from jobs.commands.standby.output import outcome_lines, plan_lines


@pytest.fixture
def cluster(tmp_path):
    path = tmp_path / "east.yaml"
    path.write_text("alias: east\nbootstrap_servers: 127.0.0.1:9\n")
    return path


def run(*words):
    return main(["standby", *(str(word) for word in words)])


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["promote", "X", "--broker", "four"], id="no number"),
        pytest.param(["promote", "X"], id="no broker"),
        pytest.param(["reassign", "X", "--partition", "orders", "--to", "3"], id="no partition"),
        pytest.param(["dance", "X"], id="no order"),
        pytest.param(["lift", "X", "--topic", "t", "--broker", "1", "--undo", "{"], id="no JSON"),
        pytest.param(["lift", "X", "--topic", "t", "--broker", "1", "--undo", "[]"], id="no undo"),
    ],
)
def test_what_cannot_be_meant_is_bad_input(words):
    with pytest.raises(SystemExit) as told:
        run(*words)
    assert told.value.code == 2


def test_a_connection_with_an_error_names_the_field(tmp_path, capsys):
    path = tmp_path / "c.yaml"
    path.write_text("alias: east\n")
    assert run("status", path) == 2
    assert "bootstrap_servers" in capsys.readouterr().err


def test_a_cluster_that_does_not_answer_is_a_fault_with_a_hint(cluster, tmp_path, capsys):
    assert run("relax", cluster, "--topic", "t", "--to", "1", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["fault"]["code"] == "unreachable"
    assert told["fault"]["hint"]


def test_the_stop_switch_is_turned_in_the_store(cluster, tmp_path, capsys):
    store = tmp_path / "store"
    assert run("stop", cluster, "--store", store) == 0
    assert FolderStore(store).read().is_stopped
    assert run("resume", cluster, "--store", store, "--json") == 0
    assert not FolderStore(store).read().is_stopped
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"is_stopped": False}


def test_who_is_not_promoted_is_not_demoted(cluster, tmp_path, capsys):
    assert run("demote", cluster, "--broker", "4", "--store", tmp_path / "s", "--yes") == 1
    assert "not promoted" in capsys.readouterr().out


def test_a_demotion_is_a_dry_run_first(cluster, tmp_path, capsys):
    store = FolderStore(tmp_path / "s")
    store.begin(HeldPromotion("p", 4))
    assert run("demote", cluster, "--broker", "4", "--store", store.folder) == 0
    assert "would be fenced" in capsys.readouterr().out
    assert store.read().promotions == (HeldPromotion("p", 4),)


def test_taking_back_is_a_dry_run_first(cluster, capsys):
    undo = '{"replicas": {}}'
    words = ["--partition", "orders-0", "--to", "3", "--undo", undo, "--json"]
    assert run("reassign", cluster, *words) == 0
    assert json.loads(capsys.readouterr().out)["undo"] == {"replicas": {}}


def test_a_store_that_cannot_be_used_is_said(cluster, tmp_path, capsys):
    (tmp_path / "s").write_text("")
    assert run("demote", cluster, "--broker", "4", "--store", tmp_path / "s") == 1
    assert "cannot be used" in capsys.readouterr().err


def test_no_loop_runs_while_crosslog_is_read_only(cluster, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CROSSLOG_READ_ONLY", "1")
    assert run("run", cluster, "--store", tmp_path / "s") == 1
    assert "read-only" in capsys.readouterr().err


PLAN = Plan(
    ActorKind.RELAX_MIN_ISR,
    "east",
    "topic orders",
    (PlannedRequest("IncrementalAlterConfigs", "any broker", "Set it.", {}, "kafka-configs.sh x"),),
    "It works.",
    expected_ms=1_000,
    warnings=("It costs.",),
    revert="kafka-configs.sh y",
)


def test_a_dry_run_tells_requests_cost_and_the_way_back():
    text = "\n".join(plan_lines(PLAN))
    for words in ("$ kafka-configs.sh x", "any broker", "1.0 s", "! It costs.", "back:", "--yes"):
        assert words in text


def test_a_refused_dry_run_invites_nobody():
    refused = Plan(ActorKind.RELAX_MIN_ISR, "east", "topic orders", (), "", refusals=("No.",))
    text = "\n".join(plan_lines(refused))
    assert "refused: No." in text
    assert "--yes" not in text


def test_an_outcome_tells_what_takes_it_back():
    done = Outcome(
        ActorKind.RELAX_MIN_ISR, "topic orders", True, "Done.", ("Sent.",), 1_234, {"a": 1}
    )
    assert list(outcome_lines(done)) == ["Sent.", "done after 1.23 s: Done.", 'undo: {"a": 1}']

import argparse
import json

import pytest

from jobs.lab import cli
from jobs.lab.plan import standard_plans


def run(*arguments):
    parser = argparse.ArgumentParser()
    cli.lab(parser.add_subparsers().add_parser("lab"))
    chosen = parser.parse_args(["lab", *map(str, arguments)])
    return chosen.run(chosen)


def write_lab(folder):
    folder.mkdir()
    values = {"clusters": [plan.to_mapping() for plan in standard_plans()]}
    (folder / "lab.json").write_text(json.dumps(values))


def test_a_lab_that_is_not_running_is_a_finding(tmp_path, capsys):
    assert run("status", "--dir", tmp_path, "--json") == 1
    assert json.loads(capsys.readouterr().out) == {
        "dir": str(tmp_path),
        "is_running": False,
        "clusters": [],
    }


def test_stopping_a_stopped_lab_is_fine(tmp_path):
    write_lab(tmp_path / "lab")
    assert run("stop", "--dir", tmp_path / "lab") == 0


def test_an_order_without_a_keeper_says_that_no_lab_is_running(tmp_path, capsys):
    assert run("kill", "east-1", "--dir", tmp_path) == 1
    assert f"No lab is running in {tmp_path}" in capsys.readouterr().err


def test_a_folder_that_is_no_lab_is_not_deleted(tmp_path, capsys):
    (tmp_path / "precious").touch()
    assert run("wipe", "--dir", tmp_path) == 2
    assert "nothing was deleted" in capsys.readouterr().err
    assert (tmp_path / "precious").exists()


def test_wiping_deletes_the_lab(tmp_path):
    write_lab(tmp_path / "lab")
    assert run("wipe", "--dir", tmp_path / "lab") == 0
    assert not (tmp_path / "lab").exists()


def test_an_error_with_json_is_one_json_document(tmp_path, capsys):
    run("wipe", "--dir", tmp_path, "--json")
    assert "nothing was deleted" in json.loads(capsys.readouterr().out)["error"]


def test_labs_of_other_names_stand_in_other_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CROSSLOG_HOME", str(tmp_path))
    chosen = argparse.Namespace(dir=None, name="drill")
    assert cli.folder(chosen) == tmp_path / "labs" / "drill"


@pytest.mark.parametrize(
    ("state", "is_whole"),
    [
        pytest.param("serving", True, id="serving"),
        pytest.param("starting", False, id="starting"),
        pytest.param("paused", False, id="paused"),
        pytest.param("stopped", False, id="stopped"),
    ],
)
def test_a_lab_is_whole_when_every_node_serves(state, is_whole):
    answer = {"is_running": True, "clusters": [{"nodes": [{"state": "serving"}, {"state": state}]}]}
    assert cli.is_whole(answer) is is_whole


def plans_for(folder, *options):
    parser = argparse.ArgumentParser()
    cli.lab(parser.add_subparsers().add_parser("lab"))
    return cli.wanted_plans(parser.parse_args(["lab", "start", *options]), folder)


@pytest.mark.parametrize(
    ("options", "east", "west"),
    [
        pytest.param((), ("4.3.1", False), ("4.3.1", False), id="newest"),
        pytest.param(("--kafka", "3.9.1"), ("3.9.1", False), ("3.9.1", False), id="both"),
        pytest.param(("--kafka", "east=2.8.2"), ("2.8.2", True), ("4.3.1", False), id="one"),
        pytest.param(
            ("--kafka", "3.6.2", "--zookeeper", "west"),
            ("3.6.2", False),
            ("3.6.2", True),
            id="zookeeper",
        ),
    ],
)
def test_each_cluster_may_have_its_version(tmp_path, options, east, west):
    found = [(plan.kafka, plan.has_zookeeper) for plan in plans_for(tmp_path, *options)]
    assert found == [east, west]


def test_tiered_storage_is_of_the_clusters_that_are_named(tmp_path):
    assert [plan.tiered for plan in plans_for(tmp_path, "--tiered", "west")] == [False, True]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        pytest.param("3.5.0", "'3.5.0' is none of 2.8.2, ", id="version"),
        pytest.param("north=3.9.1", "there is no cluster north: east, west", id="cluster"),
    ],
)
def test_a_version_that_cannot_run_is_refused_at_its_option(tmp_path, capsys, option, words):
    with pytest.raises(SystemExit):
        plans_for(tmp_path, "--kafka", option)
    assert words in capsys.readouterr().err

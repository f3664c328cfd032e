"""`crosslog KIND` with files of flows and clusters and with lists: each is read before Spark begins."""

import argparse

import pytest

from jobs.cli import main
from jobs.cluster.errors import InvalidFields
from jobs.commands import analysis as command
from jobs.commands import arguments
from jobs.spark.analyses.kinds import ANALYSES
from tests.console.runs.analyses.asking import ASKING, KIND

CLUSTER = 'alias: east\nbootstrap_servers: "127.0.0.1:1"\n'
FLOW = """
name: east to west
source: {alias: east, bootstrap_servers: "127.0.0.1:1"}
target: {alias: west, bootstrap_servers: "127.0.0.1:1"}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {"FLOW.yaml": FLOW, "CLUSTER.yaml": CLUSTER, "LIST.csv": "t,0,1\n", "EMPTY": ""}
    for name, text in (files | {"half.yaml": "name: f", "broken.yaml": "["}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    ANALYSES[KIND] = ASKING
    yield tmp_path
    del ANALYSES[KIND]


def resources(*words):
    """Return what the job would get for a command line."""
    parser = argparse.ArgumentParser()
    arguments.analysis(parser, ASKING)
    given = parser.parse_args(words)
    return command.resources_of(given.analysis, command.given_of(given.analysis, given), given)


def test_a_kind_has_the_name_of_its_command(folder):
    found = resources("FLOW.yaml", "--archive", "filled", "--beside", "FLOW.yaml")
    assert found["flow"]["flow"]["name"] == "east to west"
    assert found["flow"]["archive"] == str(folder / "filled")
    assert found["beside"]["archive"] is None


def test_a_flow_may_be_named_by_its_option_and_needs_no_archive():
    found = resources("--flow", "FLOW.yaml")
    assert (found["flow"]["flow"]["name"], found["flow"]["archive"]) == ("east to west", None)


def test_a_cluster_and_a_list_stand_for_connection_and_path(folder):
    found = resources("--cluster", "CLUSTER.yaml", "--offsets", "LIST.csv")
    assert found["cluster"]["connection"]["alias"] == "east"
    assert found["offsets"] == {"path": str(folder / "LIST.csv")}


@pytest.mark.parametrize(
    ("words", "argument", "text"),
    [
        pytest.param(["half.yaml"], "flow", "half.yaml: source: A mapping", id="half a flow"),
        pytest.param(["broken.yaml"], "flow", "broken.yaml: file: Line 1", id="no YAML"),
        pytest.param(["nowhere.yaml"], "flow", "cannot be read", id="no such flow"),
        pytest.param(["--beside", "half.yaml"], "beside", "half.yaml: source", id="other flow"),
        pytest.param(["--cluster", "half.yaml"], "cluster", "half.yaml: alias", id="no cluster"),
        pytest.param(["--offsets", "nowhere"], "offsets", "nowhere: It cannot", id="no such list"),
        pytest.param(["--offsets", "."], "offsets", "Is a directory", id="folder for a list"),
        pytest.param(["--offsets", "EMPTY"], "offsets", "EMPTY: It is empty", id="empty list"),
    ],
)
def test_a_file_that_is_wrong_is_named_by_its_argument(words, argument, text):
    with pytest.raises(InvalidFields) as wrong:
        resources(*words)
    assert list(wrong.value.errors) == [argument]
    assert text in wrong.value.errors[argument]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["FLOW.yaml"], "--archive: --archive DIR is required.", id="no archive"),
        pytest.param([], "--flow: It is required.", id="no flow"),
        pytest.param(["half.yaml", "--archive", "new"], "half.yaml: source:", id="half a flow"),
    ],
)
def test_a_backfill_needs_a_flow_and_the_folder_of_its_archive(words, said, folder, capsys):
    assert main(["backfill", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (folder / "new").exists()

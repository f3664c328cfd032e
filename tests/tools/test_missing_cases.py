"""Cases beside the project that the project lacks are named, and never fail the check."""

import json

import pytest

from tools.missing_cases import main


@pytest.fixture
def compared(tmp_path, capsys):
    """Write files beside the project and in it; return the lines that are printed."""

    def compared(theirs, ours):
        for side, files in (("theirs", theirs), ("ours", ours)):
            for name, content in files.items():
                path = tmp_path / side / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
        assert main(tmp_path / "theirs", tmp_path / "ours") == 0
        return capsys.readouterr().out.splitlines()

    return compared


def cases(*keys):
    return json.dumps({"cases": [{"kind": kind, "id": id_} for kind, id_ in keys]})


OURS = {"policy/cases.json": cases(("call", "a")), "log/node.log": "1", "log/README.md": "1"}


def test_without_the_folder_nothing_is_printed(compared):
    assert compared({}, OURS) == []


def test_a_case_is_known_by_its_kind_and_its_id_in_any_subject(compared):
    theirs = {"old_name.json": cases(("call", "a"), ("rule", "a"), ("call", "b"))}
    assert compared(theirs, OURS) == [
        "../shared/conformance holds 2 cases that tests/conformance lacks:",
        "  old_name.json: call b",
        "  old_name.json: rule a",
    ]


def test_a_file_is_known_by_its_path(compared):
    assert compared({"log/node.log": "1", "log/other.log": "1"}, OURS) == [
        "../shared/conformance holds 1 case that tests/conformance lacks:",
        "  log/other.log",
    ]


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({"policy.json": cases(("call", "a"))}, id="cases"),
        pytest.param({"README.md": "all"}, id="the README at the top"),
        pytest.param({"log/node": "1"}, id="another suffix"),
        pytest.param({"log/story.md": "1"}, id="a document that is the README here"),
        pytest.param({}, id="an empty folder"),
    ],
)
def test_where_nothing_is_missing_one_line_says_so(compared, tmp_path, theirs):
    (tmp_path / "theirs").mkdir()
    assert compared(theirs, OURS) == ["tests/conformance has every case of ../shared/conformance."]


@pytest.mark.parametrize("content", ["{", "[]", "1", '{"cases": [1]}', '{"cases": [{"id": "a"}]}'])
def test_a_file_that_is_no_json_of_cases_is_one_line_beside_the_list(compared, content):
    broken, *listed = compared({"bad.json": content, "log/new": "1"}, OURS)
    assert broken.startswith("../shared/conformance/bad.json has no cases: ")
    assert listed[1:] == ["  log/new"]
